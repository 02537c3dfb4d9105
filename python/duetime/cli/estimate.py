"""`duetime estimate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
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
    help="Hold it against a full run of the same network in the largest size that takes at most N million "
    "packet-hops; 0 leaves this out.",
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
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Estimate slowdown by size and missed deadlines of FILE from simulations of single links.

    For networks too large to simulate: each link is simulated alone with the messages that cross it, of
    links whose traffic is alike only some are, and what a message waits at the links of its path is added
    up. The estimate comes with its error against a full run of the same network in a smaller size. Finished
    simulations are kept, so that a command that was stopped resumes.
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
    """Say what is there when the command is stopped between simulations."""
    some = any(runs.glob("*/*.json"))
    return f"finished simulations are kept in {runs}" if some else "nothing was kept"


def table(found: Estimate) -> tuple[Grid, list[str]]:
    """A row for each class and each group of sizes; what was simulated, and how far it is from a full run."""
    from duetime.cli.tables import Column, Grid

    data, check = found.data, found.data["check"]
    columns = ["messages", "missed %", "slowdown p50", "slowdown p99"]
    grid = Grid([""], [Column(name) for name in columns], data["title"])
    for name, part in data["classes"].items():
        grid.add([name], _cells(part))
    if len(data["classes"]) > 1:
        grid.add(["all"], _cells(data["summary"]))
    grid.line()
    for part in data["sizes"]:
        grid.add([f"up to {part['up_to']:,} B"], _cells(part))
    links = data["links"]
    clusters = counted(links["clusters"], "cluster")
    lines = [
        f"{links['simulated']:,} of {links['of']:,} links simulated, {clusters}: "
        f"{links['packet_hops'] / 1e6:,.1f} million packet-hops; all of it would take about "
        f"{links['packet_hops_of_all'] / 1e6:,.1f} million."
    ]
    if "cpu_s" in data:
        held = data["cpu_with_check_s"] - data["cpu_s"]
        lines.append(f"CPU time: {data['cpu_s']:.1f} s, and {held:.1f} s for the check.")
    lines.append("Not held against a full run (--check 0)." if check is None else _error(check))
    return grid, lines


def _cells(part: Mapping[str, Any]) -> list[str]:
    figures = (part["missed_percent"], part["slowdown"]["p50"], part["slowdown"]["p99"])
    return [f"{part['messages']:,}", *("-" if value is None else f"{value:,.2f}" for value in figures)]


def _error(check: Mapping[str, Any]) -> str:
    """Say how far the estimate is from a full run."""
    size = f"with {', '.join(check['set'])}" if check["set"] else "of the whole"
    errors = check["errors"]
    parts = [
        f"slowdown {name} {errors[f'slowdown_{name}_percent']:+.1f} %"
        for name in ("p50", "p99")
        if errors[f"slowdown_{name}_percent"] is not None
    ]
    if errors["missed_points"] is not None:
        parts.append(f"misses {errors['missed_points']:+.2f} points")
    return f"Measured error, against a full run {size}: {', '.join(parts)}."


__all__ = ["estimate", "table"]
