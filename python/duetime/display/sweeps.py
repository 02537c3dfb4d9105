"""The table of a sweep: a row for each point and transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duetime.display.figures import MISSED, Figure, figures_of, in_one_unit, signed, written
from duetime.display.grid import Column, Grid, Shown
from duetime.display.notes import left_open
from duetime.quantities import counted
from duetime.statistics import difference, over_seeds

if TYPE_CHECKING:
    from duetime.sweeping import Swept


def table(swept: Swept) -> Shown:
    """The points of a sweep: a row for each and each transport, means over its seeds."""
    most = 60
    plan = swept.sweep
    groups = [swept.kept[i : i + len(plan.seeds)] for i in range(0, len(swept.kept), len(plan.seeds))]
    done = [[kept.result for kept in group if kept.error is None] for group in groups]
    merged = [over_seeds(runs) if runs else None for runs in done]
    figures = figures_of([each for each in merged if each is not None])
    figures = [figure for figure in figures if figure[0] in (MISSED, "FCT p99", "goodput Mbps")]
    titles = [title for title, _, _ in figures]
    against = swept.against
    if against is not None and figures:
        titles.append(f"{figures[0][0]} - {against}")
    grid = Grid([*plan.axes, "transport"], [Column(title) for title in titles], plan.title)
    units = [
        in_one_unit([run and find(run["summary"]) for run in merged[:most]], write)
        for _, find, write in figures
    ]
    for number, (group, run) in enumerate(zip(groups[:most], merged[:most], strict=True)):
        values = plan.values[number // len(plan.transports)]
        name = group[0].point.transport or (run["transport"] if run else "")
        cells = ["failed"]
        if run is not None:
            cells = [
                written(find(run["summary"]), write)
                for (_, find, _), write in zip(figures, units, strict=True)
            ]
        if against is not None and figures:
            first = number - number % len(plan.transports)
            other = merged[first + plan.transports.index(against)]
            cells.append(_compared(figures[0], run, other) if name != against else "")
        grid.add([str(value) for value in (*values, name)], cells)
    failed = len(swept.failures)
    words = counted(len(groups), "row") + (f", of which {most} are shown" if len(groups) > most else "")
    words += f", {len(plan.seeds)} seeds each" if len(plan.seeds) > 1 else ""
    lines = [f"{words}; {counted(len(swept.kept) - failed, 'run')} went well, {failed} failed"]
    return grid, [*lines, *left_open([run for run in merged if run is not None])]


def _compared(figure: Figure, run: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    """Write the difference of a figure of two merged runs, seed by seed."""
    _, find, write = figure
    parts: list[Any] = [run and find(run["summary"]), other and find(other["summary"])]
    if run is None or other is None or None in parts or run["seeds"] != other["seeds"]:
        return "-"
    if any(part["mean"] is None for part in parts):
        return "-"
    ours, theirs = (part["values"] for part in parts)
    pairs = zip(ours, theirs, strict=True)
    return signed(difference([None if None in pair else pair[0] - pair[1] for pair in pairs]), write)
