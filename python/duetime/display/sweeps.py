"""The table of a sweep: a row for each point and transport."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duetime.display.figures import MISSED, Figure, figures_of, in_one_unit, signed, values_of, written
from duetime.display.grid import Column, Grid, Shown
from duetime.display.notes import left_open
from duetime.quantities import counted
from duetime.statistics import difference, merged_runs

if TYPE_CHECKING:
    from duetime.contract.runs import Merged
    from duetime.sweeping import Swept

#: The figures of messages that have a column. Of requests each goal has one, before them.
SHOWN = (MISSED, "FCT p99", "goodput Mbps")


def table(swept: Swept) -> Shown:
    """The points of a sweep: a row for each and each transport, means over its seeds."""
    most = 60
    plan = swept.sweep
    groups = [swept.kept[i : i + len(plan.seeds)] for i in range(0, len(swept.kept), len(plan.seeds))]
    done = [[kept.run for kept in group if kept.error is None] for group in groups]
    merged = [merged_runs(runs) if runs else None for runs in done]
    figures = figures_of([each for each in merged if each is not None])
    figures = [figure for figure in figures if figure[0] in SHOWN or figure[0].endswith(" met %")]
    titles = [title for title, _, _ in figures]
    against = swept.against
    if against is not None and figures:
        titles.append(f"{figures[0][0]} - {against}")
    grid = Grid([*plan.axes, "transport"], [Column(title) for title in titles], plan.title)
    units = [
        in_one_unit([None if run is None else find(run["summary"]) for run in merged[:most]], write)
        for _, find, write in figures
    ]
    for number, (group, run) in enumerate(zip(groups[:most], merged[:most], strict=True)):
        values = plan.values[number // len(plan.transports)]
        name = group[0].point.name or (run["transport"] if run else "")
        cells = ["failed"]
        if run is not None:
            cells = [
                written(find(run["summary"]), write)
                for (_, find, _), write in zip(figures, units, strict=True)
            ]
        if against is not None and figures:
            first = number - number % len(plan.transports)
            other = merged[first + plan.names.index(against)]
            cells.append(_compared(figures[0], run, other) if name != against else "")
        grid.add([str(value) for value in (*values, name)], cells)
    failed = len(swept.failures)
    words = counted(len(groups), "row") + (f", of which {most} are shown" if len(groups) > most else "")
    words += f", {len(plan.seeds)} seeds each" if len(plan.seeds) > 1 else ""
    lines = [f"{words}; {counted(len(swept.kept) - failed, 'run')} went well, {failed} failed"]
    return grid, [*lines, *left_open([run for run in merged if run is not None])]


def _compared(figure: Figure, run: Merged | None, other: Merged | None) -> str:
    """Write the difference of a figure of two merged runs, seed by seed."""
    if run is None or other is None or run["seeds"] != other["seeds"]:
        return "-"
    _, find, write = figure
    ours, theirs = (values_of(find(each["summary"])) for each in (run, other))
    if ours is None or theirs is None:
        return "-"
    pairs = zip(ours, theirs, strict=True)
    return signed(difference([None if a is None or b is None else a - b for a, b in pairs]), write)
