"""The table of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from duetime.display.bounds import Least
from duetime.display.figures import BOUND, MISSED, as_count, figures_of, in_one_unit, parts_of, written
from duetime.display.grid import Column, Grid, Shown
from duetime.display.notes import left_open, nothing_missed, of_requests, pauses, stragglers, timers

if TYPE_CHECKING:
    from duetime.contract.runs import Run
    from duetime.results import Result

TOTALS: Final = ("packets_delivered", "drops", "trims", "marks", "timeouts", "retransmits")


def table(run: Result) -> Shown:
    """One run: a row for each class."""
    data = run.data
    figures = figures_of([data])
    least = Least(data["bound"])
    parts = parts_of(data, figures)
    titles = [
        title
        for name, _, _ in figures
        for title in ([name, f"{BOUND} %"] if name == MISSED and least else [name])
    ]
    grid = Grid(["class"], [Column(title) for title in titles], _title(data), turns=True)
    units = [in_one_unit([find(part) for *_, part in parts], write) for _, find, write in figures]
    for name, place, part in parts:
        cells = []
        for (title, find, _), write in zip(figures, units, strict=True):
            cells.append(written(find(part), write))
            if title == MISSED and least:
                cells.append(least.at(place))
        grid.add([name], cells)
    lines = [least.sentence()] if least else []
    return grid, [
        *lines,
        *of_requests(data["summary"]),
        *stragglers(data),
        *nothing_missed(data["summary"]),
        *left_open([data]),
        _totals(data),
        *timers(data),
        *pauses(data),
    ]


def _title(data: Run[int, float]) -> str:
    text = f"{data['title']}: {data['transport']}, seed {data['seed']}, {data['simulated_s']:.6g} s simulated"
    if data["wall_s"]:
        rate = data["packets_delivered"] / data["wall_s"] / 1e6
        text += f" in {data['wall_s']:.2f} s ({rate:.2f} M packets/s)"
    return text


def _totals(data: Run[int, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {as_count(data[name])}" for name in TOTALS if name in data)
