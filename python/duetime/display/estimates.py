"""The table of an estimate, and sentences on its ranges, its cost and its check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duetime.display.grid import Column, Grid, Shown
from duetime.quantities import counted

if TYPE_CHECKING:
    from duetime.contract import estimates as contract
    from duetime.estimates.estimate import Estimate


def table(found: Estimate) -> Shown:
    """Return a row for each class and group of sizes, and lines on ranges, cost and the check."""
    data, check, ranges = found.data, found.data["check"], found.data["ranges"]
    columns = ["messages", "missed %", "slowdown p50", "slowdown p99"]
    grid = Grid([""], [Column(name) for name in columns], data["title"])
    for name, part in data["classes"].items():
        grid.add([name], _cells(part, ranges and ranges["classes"].get(name)))
    if len(data["classes"]) > 1:
        grid.add(["all"], _cells(data["summary"], ranges and ranges["summary"]))
    grid.line()
    for part in data["sizes"]:
        grid.add([f"up to {part['up_to']:,} B"], _cells(part, None))
    links = data["links"]
    lines = _run_instead(data["cost"]) if links is None else _by_links(links, data["cost"])
    if ranges is not None:
        lines.append("In brackets: ranges that held for nine of ten networks drawn at random.")
    if "cpu_s" in data:
        lines.append(f"CPU time: {data['cpu_s']:.1f} s.")
    if check is not None:
        lines.append(_error(check))
    return grid, lines


def _run_instead(cost: contract.Cost) -> list[str]:
    return [
        "This is a full run, whose figures have no error of an estimate: it was expected to take "
        f"{cost['run'] / 1e6:,.1f} million packet-hops, and an estimate as much as "
        f"{(cost['links'] + cost['check']) / 1e6:,.1f} million (--always makes one)."
    ]


def _by_links(links: contract.Links, cost: contract.Cost) -> list[str]:
    clusters = counted(links["clusters"], "cluster")
    lines = [
        f"{links['simulated']:,} of {links['of']:,} links simulated, {clusters}: "
        f"{links['packet_hops'] / 1e6:,.1f} million packet-hops; all of it would take about "
        f"{links['packet_hops_of_all'] / 1e6:,.1f} million."
    ]
    if cost["run"] <= cost["links"] + cost["check"]:
        lines.append("A full run would cost less than this estimate, and have no error: duetime run.")
    return lines


def _cells(part: contract.Figures, ranges: contract.Ranges | None) -> list[str]:
    figures: dict[contract.Name, float | None] = {
        "missed_percent": part["missed_percent"],
        "slowdown_p50": part["slowdown"]["p50"],
        "slowdown_p99": part["slowdown"]["p99"],
    }
    return [
        f"{part['messages']:,}",
        *(_cell(value, ranges[name] if ranges else None) for name, value in figures.items()),
    ]


def _cell(value: float | None, span: Sequence[float] | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if span is None else f"{value:,.2f} [{span[0]:,.2f}, {span[1]:,.2f}]"


def _error(check: contract.Check) -> str:
    """Say how far the sum over links is from a full run."""
    size = f"with {', '.join(check['set'])}" if check["set"] else "of the whole"
    errors = check["errors"]
    slowdowns = {"p50": errors["slowdown_p50_percent"], "p99": errors["slowdown_p99_percent"]}
    parts = [f"slowdown {name} {off:+.1f} %" for name, off in slowdowns.items() if off is not None]
    if errors["missed_points"] is not None:
        parts.append(f"misses {errors['missed_points']:+.2f} points")
    return f"Corrected by a full run {size}, from which the links' sum is off by: {', '.join(parts)}."
