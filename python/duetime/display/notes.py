"""Sentences below a table of runs: messages that the figures leave out, and timers that expired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from duetime.contract.figures import at
from duetime.display.figures import as_count, mean_of
from duetime.quantities import counted
from duetime.statistics import max_unseen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duetime.contract.runs import Figure, OfTransport, Summary


def left_open(runs: Sequence[OfTransport]) -> list[str]:
    """Say which messages the end of the run left undecided."""

    def many(name: Literal["undecided", "censored"]) -> int:
        return sum(_total(run["summary"][name]) for run in runs)

    lines = []
    if many("undecided"):
        left = counted(many("undecided"), "message")
        lines.append(f"excluded, since undecided when the run ended: {left} (see `cool_down`)")
    if many("censored"):
        left = counted(many("censored"), "message")
        lines.append(
            f"in flight when the run ended: {left}; figures that depend on them are lower bounds, shown "
            "as >= (see `cool_down`)"
        )
    return lines


def of_requests(summary: Summary[int, float]) -> list[str]:
    """Say which requests of stages of one run the figures leave out, and what a share of them rests on."""
    if "requests" not in summary:
        return []
    requests = summary["requests"]
    lines = []
    if requests["undecided"]:
        left = counted(requests["undecided"], "request")
        lines.append(f"excluded, since undecided when the run ended: {left} (see `cool_down`)")
    if requests["abandoned"]:
        lines.append(
            f"abandoned, since they could not be in time: {counted(requests['abandoned'], 'request')}"
        )
    judged = requests["with_goals"] - requests["undecided"]
    if judged and not requests["missed"]:
        most = 100 * max_unseen(judged)
        lines.append(
            f"No misses in {as_count(judged)} requests (95 % upper bound {most:.2g} %, assuming independent "
            "requests)"
        )
    return lines


def stragglers(data: OfTransport, of: str = "") -> list[str]:
    """Name the hosts that most often took longest; nothing without requests, or of several seeds."""
    if "requests" not in data["summary"]:
        return []
    found = data["summary"]["requests"]["stragglers"]
    parts = [f"host {each['host']} ({each['percent']:.3g} % of the requests)" for each in found or ()]
    return [f"longest on the critical path{of}: {', '.join(parts)}"] if parts else []


def _total(count: Figure) -> int:
    """Return a count, over all seeds."""
    values = count["values"] if isinstance(count, dict) else [count]
    return int(sum(value for value in values if value is not None))


def nothing_missed(summary: Summary[int, float]) -> list[str]:
    """Bound the share of missed deadlines where none was missed."""
    decided = summary["with_deadline"] - summary["undecided"]
    if summary["missed"] or not decided:
        return []
    most = 100 * max_unseen(decided)
    return [
        f"No misses in {as_count(decided)} messages (95 % upper bound {most:.2g} %, assuming independent "
        "misses)"
    ]


#: What a timer that expired is called, by its name in the results.
TIMERS = {
    "initial": "the first RTO (rto_initial)",
    "minimum": "the minimum RTO (rto_min)",
    "estimated": "the RTO of the measured round trip",
    "backed_off": "a doubled RTO",
    "own": "a time of the transport's own",
}


def timers(data: OfTransport, of: str = "") -> list[str]:
    """Return the line about the timers of a run's timeouts, or of their means; none without timeouts."""
    timers = data.get("timers")
    # A testbed does not know its timers.
    if not timers or not mean_of(data["timeouts"]):
        return []
    many = {name: mean_of(at(timers, (name,))) or 0.0 for name in timers}
    parts = [f"{as_count(many[name])} by {words}" for name, words in TIMERS.items() if many[name]]
    if many["probes"]:
        parts.append(f"{as_count(many['probes'])} tail-loss probe{'' if many['probes'] == 1 else 's'}")
    mean = ", mean over seeds" if isinstance(data["timeouts"], dict) else ""
    return [f"timeouts{of}{mean}: {', '.join(parts)}"] if parts else []


def pauses(data: OfTransport, of: str = "") -> list[str]:
    """Return the lines about pauses and deadlocks in a lossless network; none in others."""
    if "pauses" not in data:
        return []
    found = data["pauses"]
    frames, links = (mean_of(found[name]) or 0.0 for name in ("frames", "links"))
    mean = ", mean over seeds" if isinstance(found["frames"], dict) else ""
    time = (mean_of(found["paused_s"]) or 0.0) * 1e3
    lines = [f"pauses{of}{mean}: {as_count(frames)} frames, {as_count(links)} links for {time:.4g} ms in all"]
    deadlock = found["deadlock"]
    if deadlock is not None:
        since = (mean_of(deadlock["since_s"]) or 0.0) * 1e3
        cycle = deadlock["cycle"]
        cycles = dict.fromkeys(each for each in (cycle if isinstance(cycle, list) else [cycle]) if each)
        stuck = as_count(mean_of(deadlock["stuck"]) or 0.0)
        lines.append(f"DEADLOCK{of}{mean} since {since:.4g} ms, {stuck} links stuck: {'; '.join(cycles)}")
    return lines
