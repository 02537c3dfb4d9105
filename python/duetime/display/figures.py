"""Figures as tables write them: chosen from results, in units, with intervals over seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from duetime.contract.figures import at, bound_at
from duetime.statistics import BOUNDS

if TYPE_CHECKING:
    from duetime.contract.runs import Figure as Value
    from duetime.contract.runs import OfTransport, Requests, Seeds, Summary

    #: The figures of a part of a run, without or with seeds.
    Part: TypeAlias = Summary[int, float] | Summary[Seeds, Seeds]

#: Title, where the figure is in a summary, and how it is written.
Figure: TypeAlias = "tuple[str, Callable[[Part], Value], Callable[[float], str]]"

#: Where a part of a run's JSON is: its key, and in it the name of a class or set.
Place: TypeAlias = tuple[Literal["summary", "classes", "sets"], str]

MISSED, BOUND = "missed %", "bound"
ALL = "all"
#: Below this a difference is a rounding error of floats.
LEAST = 1e-9


@dataclass(frozen=True)
class Time:
    """Writes times in one unit."""

    #: In us.
    unit: float
    name: str
    digits: int

    def __call__(self, us: float) -> str:
        """Format a time in this unit."""
        return f"{us / self.unit:,.{self.digits}f} {self.name}"


#: The units, the largest first.
TIMES = (Time(1e6, "s", 3), Time(1e3, "ms", 2), Time(1.0, "us", 1))
MICROSECONDS = TIMES[-1]
#: So many of a smaller unit are written in the next one.
LONG = 100


def figures_of(runs: Sequence[OfTransport]) -> list[Figure]:
    """Choose the figures that any of the runs has something to say on."""
    parts = [part for run in runs for part in _named_parts(run)]
    figures: list[Figure] = [
        *_of_requests(parts),
        ("messages", lambda part: part["messages"], as_count),
        ("unfinished", lambda part: part["unfinished"], as_count),
        (MISSED, lambda part: part["missed_percent"], as_plain),
        ("queries complete %", lambda part: part.get("complete_queries_percent"), as_plain),
        ("FCT p50", lambda part: known(part["fct_us"], "p50"), MICROSECONDS),
        ("FCT p99", lambda part: known(part["fct_us"], "p99"), MICROSECONDS),
        ("FCT p99.9", lambda part: known(part["fct_us"], "p999"), MICROSECONDS),
        ("slowdown mean", lambda part: known(part["slowdown"], "mean"), as_plain),
        ("slowdown p99", lambda part: known(part["slowdown"], "p99"), as_plain),
        ("goodput Mbps", lambda part: part["goodput_mbps"], as_plain),
        ("in time Mbps", lambda part: part["goodput_in_time_mbps"], as_plain),
    ]
    return [figure for figure in figures if any(figure[1](part) is not None for part in parts)]


def _named_parts(run: OfTransport) -> Iterator[Part]:
    """Yield the figures of every class and set."""
    yield from run["classes"].values()
    yield from run.get("sets", {}).values()


def _of_requests(parts: Iterable[Part]) -> list[Figure]:
    """Return the figures of requests of stages: the attainment of each goal, and times."""
    requests = [part["requests"] for part in parts if "requests" in part]
    goals = list(dict.fromkeys(goal for each in requests for goal in each["goals"]))

    def of(find: Callable[[Requests[int, float] | Requests[Seeds, Seeds]], Value]) -> Callable[[Part], Value]:
        return lambda part: find(part["requests"]) if "requests" in part else None

    def attained(goal: str) -> Callable[[Part], Value]:
        return of(lambda each: each["goals"][goal]["attainment_percent"] if goal in each["goals"] else None)

    figures: list[Figure] = [("requests", of(lambda each: each["number"]), as_count)]
    figures += [(f"{goal} met %", attained(goal), as_plain) for goal in goals]
    if len(goals) > 1:
        figures.append(("all goals met %", of(lambda each: each["all_goals_percent"]), as_plain))
    return [
        *figures,
        ("request p50", of(lambda each: known(each["time_us"], "p50")), MICROSECONDS),
        ("request p99", of(lambda each: known(each["time_us"], "p99")), MICROSECONDS),
        ("in time per s", of(lambda each: each["goodput_per_s"]), as_plain),
    ]


def known(part: Mapping[str, object], name: str) -> Value:
    """Return a figure of an object, or where it is not known its lower bound as over seeds."""
    found, bound = at(part, (name,)), bound_at(part, (name,))
    if found is not None or bound is None:
        return found
    return {"mean": None, "ci95": [None, None], "values": [], BOUNDS: bound}


def parts_of(
    data: OfTransport, figures: Sequence[Figure], runs: Sequence[OfTransport] = ()
) -> list[tuple[str, Place, Part]]:
    """Return every class, every set of classes and all together: its name, its place, its figures.

    All together are left out if they repeat one of the others in all `runs`.
    """
    parts: list[tuple[str, Place, Part]] = [
        (f"class {name}" if name == ALL else name, ("classes", name), part)
        for name, part in data["classes"].items()
    ]
    parts += [(f"set {name}", ("sets", name), part) for name, part in data.get("sets", {}).items()]
    if any(_says_more(run, figures) for run in runs or [data]):
        parts.append((ALL, ("summary", ""), data["summary"]))
    return parts


def _says_more(run: OfTransport, figures: Sequence[Figure]) -> bool:
    """Return whether no single part of a run has the same figures as the whole run."""
    together = [find(run["summary"]) for _, find, _ in figures]

    def says_it(part: Part) -> bool:
        own = (find(part) for _, find, _ in figures)
        return all(value is None or value == other for value, other in zip(together, own, strict=True))

    return not any(says_it(part) for part in _named_parts(run))


def in_one_unit(values: Iterable[Value], write: Callable[[float], str]) -> Callable[[float], str]:
    """Return a formatter for a row or column: times in one unit, chosen by the least and the most."""
    if not isinstance(write, Time):
        return write
    present = [mean_of(value) for value in values]
    sizes = sorted(abs(value) for value in present if value is not None and abs(value) > LEAST)
    if not sizes:
        return MICROSECONDS
    return next(
        (time for time in TIMES if sizes[0] >= time.unit or sizes[-1] >= LONG * time.unit), MICROSECONDS
    )


def mean_of(value: Value) -> float | None:
    """Return a figure, its mean over seeds, or the lower bound of one that is not known."""
    if not isinstance(value, dict):
        return None if value is None else float(value)
    return value.get(BOUNDS) if value["mean"] is None else value["mean"]


def values_of(value: Value) -> list[float | None] | None:
    """Return the value of each seed; none where the mean is not known."""
    return value["values"] if isinstance(value, dict) and value["mean"] is not None else None


def written(value: Value, write: Callable[[float], str]) -> str:
    """Write a figure; over seeds with its interval: ± where that is even, else its ends."""
    if value is None:
        return "-"
    if not isinstance(value, dict):
        return write(value)
    if value["mean"] is None:
        return f">= {write(value[BOUNDS])}" if BOUNDS in value else "-"
    mean, (low, high) = value["mean"], value["ci95"]
    if low is None or high is None:
        return write(mean)
    if isinstance(write, Time):
        parts = (_seen(part / write.unit, _hundredths) for part in (mean, (high - low) / 2))
        return f"{' ± '.join(parts)} {write.name}"
    if max(high - mean, mean - low) > 1.2 * min(high - mean, mean - low):
        return f"{_seen(mean, write)} ({write(low)} to {_seen(high, write)})"
    return f"{_seen(mean, write)} ± {_seen((high - low) / 2, write)}"


def _seen(value: float, write: Callable[[float], str]) -> str:
    """Write a value that is not nothing so that it does not look like nothing."""
    text = write(value)
    return f"{value:.1g}" if abs(value) > LEAST and not re.search("[1-9]", text) else text


def signed(value: Value, write: Callable[[float], str]) -> str:
    """Write a difference, with its sign."""
    text = written(value, write)
    mean = value["mean"] if isinstance(value, dict) else value
    return f"+{text}" if mean is not None and mean > LEAST else text


def as_count(value: float) -> str:
    """Write a count; the mean of several with one decimal."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _hundredths(value: float) -> str:
    return f"{value:,.2f}"


def as_plain(value: float) -> str:
    """Write a number without a unit: with two decimals below 100, with none above."""
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return "0.00" if text == "-0.00" else text
