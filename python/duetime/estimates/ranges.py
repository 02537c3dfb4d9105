"""Ranges for an estimate's figures: a full run's were within them in nine of ten networks drawn at random.

The errors of networks that `bench/coverage.py` drew are taken on a scale where they hardly depend on the
figure's size. They are divided by what each network shows before its full run: the error of the check, how
few messages it had, and how much was dropped. A high quantile of these quotients, conformal in that it counts
one network more than there are, times the same divisor is half of a range. `bench/coverage.py fit` prints the
constants; other draws test them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duetime.contract.estimates import AllRanges, Check, Figures, Name, Ranges, Summaries

#: The figures that have a range.
NAMES: tuple[Name, ...] = ("missed_percent", "slowdown_p50", "slowdown_p99")
#: Messages in the check from which a figure of a class has a range: fewer say nothing of it.
LEAST = {"missed_percent": 30, "slowdown_p50": 30, "slowdown_p99": 100}
#: Messages of which one is beyond the figure: the error by chance falls with the root of their number.
TELLING = {"missed_percent": 0.25, "slowdown_p50": 1.0, "slowdown_p99": 100.0}


@dataclass(frozen=True)
class Scale:
    """The divisor of an error: the root of the sum of the squares of its parts, times `times`."""

    #: Without anything known.
    own: float
    #: Per error of the check.
    check: float
    #: Per chance in a check of so many messages.
    chance: float
    #: Per root of the share of packets that were dropped.
    drops: float
    times: float = 1.0

    def half(self, check: float, chance: float, dropped: float) -> float:
        """Half of a range, on the figure's scale."""
        parts = (self.own, self.check * check, self.chance * chance, self.drops * math.sqrt(dropped))
        return self.times * math.hypot(*parts)


#: From the networks of both profiles in `limits.COVERAGE`: what `bench/coverage.py fit` prints.
SCALES = {
    "missed_percent": Scale(own=0.05, check=0.0, chance=1.0, drops=2.0, times=1.86),
    "slowdown_p50": Scale(own=0.05, check=0.25, chance=0.0, drops=0.5, times=3.6),
    "slowdown_p99": Scale(own=0.1, check=0.25, chance=0.0, drops=2.0, times=7.71),
}


def of(figures: Summaries, check: Check) -> AllRanges:
    """Return the ranges of the figures over all and by class; null where the check says too little.

    `figures` are the figures of `summary.figures`, and `check` is the record of the check that corrected
    them.
    """
    estimated, full, dropped = check["estimated"], check["full"], check["dropped"]
    return {
        "summary": _ranges(figures["summary"], estimated["summary"], full["summary"], dropped),
        "classes": {
            name: _ranges(each, estimated["classes"].get(name), full["classes"].get(name), dropped)
            for name, each in figures["classes"].items()
        },
    }


def _ranges(
    part: Figures,
    estimated: Figures | None,
    full: Figures | None,
    dropped: float,
) -> Ranges:
    found: Ranges = dict.fromkeys(NAMES)
    for figure in NAMES:
        parts = known(figure, estimated, full) if estimated and full else None
        if parts is not None:
            found[figure] = _around(figure, part, SCALES[figure].half(*parts, dropped))
    return found


def known(figure: Name, estimated: Figures, full: Figures) -> tuple[float, float] | None:
    """Return the error of a check, and what chance leaves open in it; None where it says too little."""
    one, other = scaled(figure, estimated), scaled(figure, full)
    if one is None or other is None or full["messages"] < LEAST[figure]:
        return None
    return abs(one - other), math.sqrt(TELLING[figure] / full["messages"])


def scaled(figure: Name, part: Figures) -> float | None:
    """A figure on the scale of its errors: slowdowns as logarithms, shares as the arc sine of their root."""
    if figure == "missed_percent":
        value = part["missed_percent"]
        return None if value is None else math.asin(math.sqrt(value / 100.0))
    value = part["slowdown"]["p50" if figure == "slowdown_p50" else "p99"]
    return None if value is None else math.log(value)


def _around(figure: Name, part: Figures, half: float) -> list[float] | None:
    middle = scaled(figure, part)
    if middle is None:
        return None
    if figure == "missed_percent":
        ends = (max(middle - half, 0.0), min(middle + half, math.pi / 2))
        return [100.0 * math.sin(end) ** 2 for end in ends]
    # Nothing is faster than on an empty network.
    return [max(math.exp(middle - half), 1.0), math.exp(middle + half)]
