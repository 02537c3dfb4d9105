"""Which transport does better, by how much, and whether the seeds can tell: in one sentence each.

Transports of a comparison see the same traffic, so they are judged by their differences, seed by seed. Where
several are held against one, the chance that any of them is called better by accident stays below 5 %
(Bonferroni): a sentence that sees one of several ahead rests on a wider interval than the table shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from duetime.statistics import FEW_SEEDS, half_width


class Figure(NamedTuple):
    """What is judged by: where it is in a summary, in which direction it is better, and how it reads."""

    path: tuple[str, ...]
    lower_is_better: bool
    name: str
    less: str
    more: str
    unit: str


#: The first of these that a comparison has is what its headline speaks of.
FIGURES = (
    Figure(("missed_percent",), True, "missed deadlines", "misses fewer", "misses more", "points"),
    Figure(("fct_us", "p99"), True, "p99 completion time", "is faster", "is slower", "us"),
    Figure(("goodput_mbps",), False, "goodput", "carries less", "carries more", "Mbps"),
)


def verdicts(
    against: str,
    summaries: Mapping[str, Sequence[Mapping[str, Any]]],
    differences: Mapping[str, Any],
    *,
    seeds_differ: bool,
) -> list[dict[str, Any]]:
    """Judge each transport of `differences` against one: the object of each, with its sentence.

    `summaries` has one summary for each seed, by transport.
    """
    figure = _figure([each for of_one in summaries.values() for each in of_one])
    if figure is None:
        return []
    found = []
    for transport, difference in differences.items():
        part = _at(difference["summary"], figure.path)
        values = _values(part)
        found.append(
            {
                "transport": transport,
                "against": against,
                "figure": ".".join(figure.path),
                "difference": part,
                **_judged(figure, transport, against, values, len(differences), seeds_differ=seeds_differ),
            }
        )
    return found


def _judged(
    figure: Figure, transport: str, against: str, values: list[float], several: int, *, seeds_differ: bool
) -> dict[str, Any]:
    """Say who is better, if the seeds can tell, and why."""
    if not values:
        return {"better": None, "sentence": f"{transport} and {against}: no {figure.name} to compare."}
    mean = sum(values) / len(values)
    ahead = f"{transport} {figure.more if mean > 0 else figure.less} than {against}"
    by = f"by {_amount(abs(mean), figure)}"
    if all(value == 0 for value in values):
        return {"better": None, "sentence": f"{transport} and {against} do not differ in {figure.name}."}
    if len(values) == 1:
        words = f"With this one seed {ahead}, {by}; whether others agree, only more seeds can tell (--seeds)."
        return {"better": None, "sentence": words}
    if not seeds_differ:
        words = f"{ahead}, {by}, with every seed alike: nothing here is random, so seeds add nothing."
        return {"better": _better(figure, transport, against, mean), "sentence": words}
    own, together = half_width(values), half_width(values, 1 - 0.05 / several)
    if own is None or together is None:
        words = f"{ahead}, {by} with each of {len(values)} seeds."
        return {"better": _better(figure, transport, against, mean), "sentence": words}
    told = f"{_amount(abs(mean), figure)} ± {_number(own)} {_paired(values)}"
    few = " Fewer than five seeds: take more before you rely on it." if len(values) < FEW_SEEDS else ""
    if abs(mean) > together:
        return {
            "better": _better(figure, transport, against, mean),
            "sentence": f"{ahead}, by {told}.{few}",
        }
    if abs(mean) > own:
        words = f"{ahead}, by {told}; among {several} comparisons at once that may be chance."
        return {"better": None, "sentence": words + few}
    signed = f"{_number(mean)} ± {_number(own)} {figure.unit} {_paired(values)}"
    words = f"The seeds cannot tell {transport} from {against} in {figure.name}: {signed}."
    return {"better": None, "sentence": words + few}


def _paired(values: list[float]) -> str:
    return f"(paired, {len(values)} seeds)"


def _better(figure: Figure, transport: str, against: str, mean: float) -> str:
    return transport if (mean < 0) == figure.lower_is_better else against


def _figure(summaries: list[Mapping[str, Any]]) -> Figure | None:
    of_all = (figure for figure in FIGURES if any(_at(each, figure.path) is not None for each in summaries))
    return next(of_all, None)


def _at(part: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        part = part[key] if isinstance(part, Mapping) else None
    return part


def _values(part: Any) -> list[float]:
    values = part["values"] if isinstance(part, Mapping) else [part]
    return [value for value in values if value is not None]


def _amount(value: float, figure: Figure) -> str:
    return f"{_number(value)} {figure.unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
