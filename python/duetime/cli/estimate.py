"""The command `duetime estimate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from duetime.cli import options
from duetime.functions import BUDGET
from duetime.functions import estimate as link_by_link
from duetime.quantities import counted

if TYPE_CHECKING:
    from duetime.cli.tables import Grid
    from duetime.estimates import Estimate


#: More packet-hops than a run can have, in millions.
MOST = 1e12


@click.command(short_help="Estimate a large network link by link.")
@click.argument("file", type=click.Path(path_type=Path))
@options.SEED
@options.SET
@click.option(
    "--check",
    "budget",
    type=options.Number(min=0),
    default=BUDGET / 1e6,
    show_default=True,
    metavar="N",
    help="Correct it by a full run of the same network in the largest size that takes at most N million "
    "packet-hops, and state ranges; 0 leaves this out.",
)
@click.option(
    "--always",
    is_flag=True,
    help="Estimate also where a full run is expected to cost less, which is otherwise made instead.",
)
@options.JOBS
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write estimate.json and messages.parquet here, and keep finished simulations below "
    "(default: NAME-estimate).",
)
@options.JSON
def estimate(
    file: Path,
    seed: int | None,
    changes: tuple[str, ...],
    budget: float,
    always: bool,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Estimate slowdown by size and missed deadlines of FILE from simulations of single links.

    For networks too large to simulate. Each link is simulated alone with the messages that cross it; of
    links with similar traffic only some are simulated. The delays of a message at the links of its path are
    added up. A full run of the same network in a smaller size corrects the estimate. Each figure has a range
    that held in nine of ten networks. Where a full run costs less, it is made instead. Finished simulations
    are kept, so that a command that was stopped resumes.
    """
    options.need_tables()
    folder = out or Path(f"{file.stem}-estimate")
    try:
        found = link_by_link(
            file,
            out=folder,
            set=list(changes),
            seed=seed,
            budget=round(min(budget, MOST) * 1e6),
            always=always,
            jobs=jobs,
            progress=True,
        )
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or _kept(folder / "runs")) from None
    options.tell_notes(found.data["notes"])
    for warning in found.data["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    if as_json:
        sys.stdout.write(json.dumps(found.data, separators=(",", ":"), ensure_ascii=False) + "\n")
    else:
        from duetime.cli import tables

        grid, lines = table(found)
        shown = tables.console()
        tables.show(shown, grid)
        for line in lines:
            tables.say(shown, line)
    print(f"Saved in {folder}", file=sys.stderr)
    return 0


def _kept(runs: Path) -> str:
    """Say whether results remain when the command is stopped between simulations."""
    some = any(runs.glob("*/*.json"))
    return f"finished simulations are kept in {runs}" if some else "nothing was kept"


def table(found: Estimate) -> tuple[Grid, list[str]]:
    """Return a row for each class and group of sizes, and lines on ranges, cost and the check."""
    from duetime.cli.tables import Column, Grid

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
    lines = _run_instead(data["cost"]) if data["method"] == "run" else _by_links(data)
    if ranges is not None:
        lines.append("In brackets: ranges that held for nine of ten networks drawn at random.")
    if "cpu_s" in data:
        lines.append(f"CPU time: {data['cpu_s']:.1f} s.")
    if check is not None:
        lines.append(_error(check))
    return grid, lines


def _run_instead(cost: Mapping[str, int]) -> list[str]:
    return [
        "This is a full run, whose figures have no error of an estimate: it was expected to take "
        f"{cost['run'] / 1e6:,.1f} million packet-hops, and an estimate as much as "
        f"{(cost['links'] + cost['check']) / 1e6:,.1f} million (--always makes one)."
    ]


def _by_links(data: Mapping[str, Any]) -> list[str]:
    links, cost = data["links"], data["cost"]
    clusters = counted(links["clusters"], "cluster")
    lines = [
        f"{links['simulated']:,} of {links['of']:,} links simulated, {clusters}: "
        f"{links['packet_hops'] / 1e6:,.1f} million packet-hops; all of it would take about "
        f"{links['packet_hops_of_all'] / 1e6:,.1f} million."
    ]
    if cost["run"] <= cost["links"] + cost["check"]:
        lines.append("A full run would cost less than this estimate, and have no error: duetime run.")
    return lines


def _cells(part: Mapping[str, Any], ranges: Mapping[str, Any] | None) -> list[str]:
    figures = {
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


def _error(check: Mapping[str, Any]) -> str:
    """Say how far the sum over links is from a full run."""
    size = f"with {', '.join(check['set'])}" if check["set"] else "of the whole"
    errors = check["errors"]
    parts = [
        f"slowdown {name} {errors[f'slowdown_{name}_percent']:+.1f} %"
        for name in ("p50", "p99")
        if errors[f"slowdown_{name}_percent"] is not None
    ]
    if errors["missed_points"] is not None:
        parts.append(f"misses {errors['missed_points']:+.2f} points")
    return f"Corrected by a full run {size}, from which the links' sum is off by: {', '.join(parts)}."


__all__ = ["estimate", "table"]
