"""The table of a comparison: transports side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from duetime.display.bounds import Least
from duetime.display.figures import (
    BOUND,
    MISSED,
    Place,
    as_count,
    figures_of,
    in_one_unit,
    parts_of,
    signed,
    written,
)
from duetime.display.grid import Column, Grid, Shown
from duetime.display.notes import left_open, pauses, timers
from duetime.quantities import counted
from duetime.statistics import FEW_SEEDS

if TYPE_CHECKING:
    from duetime.comparison import AnyComparison
    from duetime.contract.comparisons import OfPair
    from duetime.contract.runs import Figure as Value
    from duetime.contract.runs import OfTransport
    from duetime.display.figures import Part

COUNTED: Final = ("drops", "trims", "marks", "timeouts", "retransmits")
#: The words where differences are left out.
NARROW = "the differences, figure by figure, need more room; --json has them"


def table(compared: AnyComparison) -> Shown:
    """Transports side by side: a column for each, the figures of each class below one another."""
    data = compared.data
    runs = data["runs"]
    first = next(iter(runs.values()))
    figures = figures_of(list(runs.values()))
    least = Least(data["bound"])
    title = str(first["title"])
    if compared.seeds is not None:
        title += f": mean ± 95 % interval over {counted(len(first['seeds']), 'seed')}"
    # Many columns do not fit a screen; the sentences below give the main results, and --json all of them.
    differences = data["differences"] if compared.seeds is not None and len(runs) <= 4 else {}
    names = [*runs, *([BOUND] if least else []), *(f"{each} - {compared.against}" for each in differences)]
    grid = Grid(
        ["class", ""],
        [Column(name) for name in names],
        title,
        once=True,
        extras=len(differences),
        without_extras=NARROW,
    )
    for parts in zip(*(parts_of(run, figures, [*runs.values()]) for run in runs.values()), strict=True):
        name, place, _ = parts[0]
        for what, find, write in figures:
            values = [find(part) for *_, part in parts]
            others = [find(_part(each, place)) for each in differences.values()]
            if any(value is not None for value in values):
                write = in_one_unit(values, write)
                beside = [least.at(place) if what == MISSED else ""] if least else []
                beside += [signed(other, write) for other in others]
                grid.add([name, what], [*(written(value, write) for value in values), *beside])
        grid.line()
    trimmed = any("trims" in run for run in runs.values())
    for total in (each for each in COUNTED if each != "trims" or trimmed):
        beside = [""] if least else []
        beside += [signed(_total(each, total), as_count) for each in differences.values()]
        grid.add(["", total], [*(written(_total(run, total), as_count) for run in runs.values()), *beside])
    lines = [least.sentence()] if least else []
    lines += [*_of_seeds(compared), *left_open(list(runs.values()))]
    lines += [line for name, run in runs.items() for line in timers(run, f" of {name}")]
    lines += [line for name, run in runs.items() for line in pauses(run, f" of {name}")]
    return grid, [*lines, *(each["sentence"] for each in compared.verdicts)]


def _total(counted: OfTransport | OfPair, total: str) -> Value:
    """Find a total of a run or of differences; 0 trims where there is no word of them."""
    return cast("Value", {"trims": 0, **counted}[total])


def _part(differences: OfPair, place: Place) -> Part:
    """Find the differences of one of `parts_of`."""
    kind, name = place
    if kind == "summary":
        return differences["summary"]
    return differences["classes"][name] if kind == "classes" else (differences["sets"] or {})[name]


def _of_seeds(compared: AnyComparison) -> list[str]:
    """Say what the intervals rest on, where that is less than a reader may think."""
    if compared.seeds is None:
        return []
    runs = list(compared.data["runs"].values())
    count = len(runs[0]["seeds"])
    if count > 1 and not any(run["seeds_differ"] for run in runs):
        return [f"the {count} seeds change nothing: every run is the same, and there is no interval"]
    if 1 < count < FEW_SEEDS:
        return [f"{count} seeds are few: intervals over fewer than {FEW_SEEDS} are wide, and rough"]
    return ["one seed has no interval"] if count == 1 else []
