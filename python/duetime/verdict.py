"""The better transport, by how much, and whether the seeds can tell: in one sentence each.

Transports of a comparison see the same traffic, so they are judged by their differences, seed by seed. Where
several are compared with one, the chance that any of them is called better by accident stays below 5 %
(Bonferroni). So a sentence that sees one of several ahead rests on a wider interval than the table shows.

Of completion times that are not all known, and of misses that messages without a verdict could turn, nothing
is said. That two transports are the same is never said either: only how large a difference was not excluded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from duetime.contract.figures import at, bound_at
from duetime.statistics import FEW_SEEDS, interval, max_unseen, seeds_needed, trials

if TYPE_CHECKING:
    from duetime.contract.comparisons import Judgement, OfPair, Verdict
    from duetime.contract.runs import Figure as Value
    from duetime.contract.runs import Summary


class Figure(NamedTuple):
    """A criterion: its path in a summary, its better direction, and its wording."""

    path: tuple[str, ...]
    lower_is_better: bool
    name: str
    less: str
    more: str
    unit: str
    #: What a difference is due to.
    events: str


#: The headline of a comparison uses the first of these that it has.
FIGURES = (
    Figure(
        ("requests", "all_goals_percent"),
        False,
        "requests in time",
        "has fewer requests in time",
        "has more requests in time",
        "points",
        "late requests",
    ),
    Figure(("missed_percent",), True, "missed deadlines", "misses fewer", "misses more", "points", "misses"),
    Figure(
        ("requests", "time_us", "p99"),
        True,
        "p99 time of requests",
        "is faster",
        "is slower",
        "us",
        "differences",
    ),
    Figure(("fct_us", "p99"), True, "p99 completion time", "is faster", "is slower", "us", "differences"),
    Figure(("goodput_mbps",), False, "goodput", "carries less", "carries more", "Mbps", "differences"),
)


def verdicts(
    against: str,
    summaries: Mapping[str, Sequence[Summary[int, float]]],
    differences: Mapping[str, OfPair],
    *,
    seeds_differ: bool,
    seed: int | None = None,
) -> list[Verdict]:
    """Judge each transport of `differences` against one: the object of each, with its sentence.

    `summaries` has one summary for each seed, by transport; `seed` is the first.
    """
    figure = _figure([each for of_one in summaries.values() for each in of_one])
    if figure is None:
        return []
    found: list[Verdict] = []
    for transport, difference in differences.items():
        part = at(difference["summary"], figure.path)
        compared = _Compared(
            figure,
            transport,
            against,
            summaries[transport],
            summaries[against],
            len(differences),
            seeds_differ,
            "one seed" if seed is None else f"seed {seed}",
        )
        found.append(
            {
                "transport": transport,
                "against": against,
                "figure": ".".join(figure.path),
                "difference": part,
                **compared.judged(_values(part)),
            }
        )
    return found


class _Compared(NamedTuple):
    """A transport and the one that it is compared with."""

    figure: Figure
    transport: str
    against: str
    #: One for each seed.
    ours: Sequence[Summary[int, float]]
    theirs: Sequence[Summary[int, float]]
    #: How many are compared with that one.
    several: int
    seeds_differ: bool
    #: What a single seed is called.
    first: str

    def judged(self, values: list[float]) -> Judgement:
        """Return the better transport, if the seeds can tell, and the reason."""
        figure, transport, against = self.figure, self.transport, self.against
        refused = self._censored() or self._undecided()
        if refused:
            return {"better": None, "sentence": refused}
        if not values:
            return {"better": None, "sentence": f"{transport} and {against}: no {figure.name} to compare."}
        mean = sum(values) / len(values)
        ahead = f"{transport} {figure.more if mean > 0 else figure.less} than {against}"
        by = f"by {_amount(abs(mean), figure)}"
        if all(value == 0 for value in values):
            return {"better": None, "sentence": self._nothing_seen(values)}
        if len(values) == 1:
            told = f"{ahead}, {by}"
            if figure.path == ("missed_percent",):
                told = f"{transport} misses {by[3:]} {'more' if mean > 0 else 'fewer'} than {against}"
            words = f"With {self.first}, {told}. Confirm with --seeds 5."
            return {"better": None, "sentence": words}
        if not self.seeds_differ:
            words = f"{ahead}, {by}, with every seed: nothing in the scenario is random."
            return {"better": self._better(mean), "sentence": words}
        needed = seeds_needed(values)
        if needed is not None:
            apart = sum(value != 0 for value in values)
            words = (
                f"Too few {figure.events} to compare {transport} with {against}: they differ in {apart} of "
                f"{len(values)} seeds, by {_signed(mean)} {figure.unit} on average; use --seeds {needed}."
            )
            return {"better": None, "sentence": words}
        own, together = interval(values), interval(values, 1 - 0.05 / self.several)
        if own is None or together is None:
            words = f"{ahead}, {by} with each of {len(values)} seeds."
            return {"better": self._better(mean), "sentence": words}
        few = " Fewer than five seeds: run more before relying on this." if len(values) < FEW_SEEDS else ""
        sign = 1 if mean > 0 else -1
        told = f"{_between(abs(mean), sorted(sign * end for end in own), figure)} {_paired(values)}"
        if _excludes_zero(together):
            return {"better": self._better(mean), "sentence": f"{ahead}, by {told}.{few}"}
        if _excludes_zero(own):
            words = f"{ahead}, by {told}; not significant across {self.several} comparisons."
            return {"better": None, "sentence": words + few}
        words = (
            f"{transport} and {against} are indistinguishable in {figure.name}: "
            f"{_between(mean, own, figure)} {_paired(values)}; a difference of up to "
            f"{_amount(max(map(abs, own)), figure)} is not excluded."
        )
        return {"better": None, "sentence": words + few}

    def _nothing_seen(self, values: list[float]) -> str:
        """Return the sentence for figures that are the same with each seed, with what that leaves open."""
        one, figure = f"{self.transport} and {self.against}", self.figure
        seeds = f"{len(values)} seeds" if len(values) > 1 else self.first
        words = f"No difference between {one} in {figure.name} with {seeds}"
        if len(values) > 1 and not self.seeds_differ:
            return f"{words}: nothing in the scenario is random."
        of_requests = figure.path[0] == "requests"
        parts = [each["requests"] if of_requests else each for each in self.ours]
        queries = sum(trials(figure.path[-1], parts))
        if not queries:
            return f"{words}; other seeds may differ."
        most = _amount(100 * max_unseen(queries), figure)
        what = "requests" if of_requests else "queries"
        return f"{words}; up to {most} is not excluded (assuming independent {what})."

    def _censored(self) -> str:
        """Return why completion times cannot be compared; nothing where they are all known."""
        path = self.figure.path
        if all(bound_at(each, path) is None for each in (*self.ours, *self.theirs)):
            return ""
        of_requests = path[0] == "requests"
        ours, theirs = (
            sum((each["requests"] if of_requests else each).get("censored", 0) for each in side)
            for side in (self.ours, self.theirs)
        )
        these = "requests had not ended" if of_requests else "messages had not arrived"
        return (
            f"{self.transport} and {self.against} are not compared in {self.figure.name}: "
            f"{ours:,} and {theirs:,} {these} when the run ended "
            "(a longer `cool_down` includes them)."
        )

    def _undecided(self) -> str:
        """Return why misses cannot be compared: the undecided could turn the order; nothing if not."""
        counted = {("missed_percent",): "messages", ("requests", "all_goals_percent"): "requests"}
        what = counted.get(self.figure.path)
        if what is None:
            return ""
        of_requests = what == "requests"
        left = sum(
            (each["requests"] if of_requests else each).get("undecided", 0)
            for each in (*self.ours, *self.theirs)
        )
        if not left:
            return ""
        ours, theirs = ([_ends(each, of_requests) for each in side] for side in (self.ours, self.theirs))
        least = sum(a[0] - b[1] for a, b in zip(ours, theirs, strict=True))
        most = sum(a[1] - b[0] for a, b in zip(ours, theirs, strict=True))
        if least > 0 or most < 0:
            return ""
        return (
            f"{self.transport} and {self.against} are not compared in {self.figure.name}: {left:,} {what} "
            "were undecided when the run ended, enough to reverse the order "
            "(a longer `cool_down` includes them)."
        )

    def _better(self, mean: float) -> str:
        return self.transport if (mean < 0) == self.figure.lower_is_better else self.against


def _ends(summary: Summary[int, float], of_requests: bool) -> tuple[float, float]:
    """Return the share missed if all that is undecided were met, and if it were missed."""
    if of_requests:
        requests = summary["requests"]
        missed, undecided, many = requests["missed"], requests["undecided"], requests["with_goals"]
    else:
        missed, undecided, many = summary["missed"], summary["undecided"], summary["with_deadline"]
    return 100 * missed / max(1, many), 100 * (missed + undecided) / max(1, many)


def _excludes_zero(ends: Sequence[float]) -> bool:
    return ends[0] > 0 or ends[1] < 0


def _between(mean: float, ends: Sequence[float], figure: Figure) -> str:
    """Write a difference with its interval: ± where that is even, else its ends."""
    below, above = mean - ends[0], ends[1] - mean
    if max(below, above) <= 1.2 * min(below, above):
        return f"{_amount(mean, figure)} ± {_number((ends[1] - ends[0]) / 2)}"
    return f"{_amount(mean, figure)}, {_number(ends[0])} to {_number(ends[1])}"


def _paired(values: list[float]) -> str:
    return f"(paired, {len(values)} seeds)"


def _figure(summaries: list[Summary[int, float]]) -> Figure | None:
    """Return the first figure that is there, known or not."""

    def is_there(figure: Figure) -> bool:
        known = any(at(each, figure.path) is not None for each in summaries)
        return known or any(bound_at(each, figure.path) is not None for each in summaries)

    return next(filter(is_there, FIGURES), None)


def _values(part: Value) -> list[float]:
    values = part["values"] if isinstance(part, dict) else [part]
    return [value for value in values if value is not None]


def _amount(value: float, figure: Figure) -> str:
    return f"{_number(value)} {figure.unit}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{_number(value)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
