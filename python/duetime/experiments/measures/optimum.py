"""The best place of a grid by a rule with two goals, and how much hangs on the rule.

The rule is xDCTCP's: the least delay among the places whose throughput is not hit significantly. The source
does not define a significant hit, so that every ``loss_percent`` is tried. Keys of ``[options.optimum]``:

- ``grid``: the columns of the place.
- ``own``: the place that the others are compared with.
- ``repeats``: the column whose values make a run a repetition (empty without one).
- ``repetition``: the name of such a repetition.
- ``mix``: the column that says which flows there are.
- ``flows``, for each value of ``mix``: how many of each class the delay is a mean over, and the throughput.

The column ``part`` of a row is one of:

- ``place``: the means of a place over the repetitions.
- ``pick``: the choice of the rule, on the means (``repetition`` is "mean") and in each repetition.
- ``average``: for each value of a column of the grid the mean over all others.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from duetime.contract.rows import Cell, number
from duetime.errors import Mistaken
from duetime.experiments.experiment import Labels
from duetime.experiments.study import Row, Run, Study, over_seeds
from duetime.experiments.texts import filled

Place: TypeAlias = tuple[float, ...]
#: Delay and throughput of every place.
Grid: TypeAlias = Mapping[Place, tuple[float, float]]

MEAN = "mean"


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.optimum]``, which are described above."""

    grid: list[str]
    own: dict[str, float]
    repeats: str
    repetition: str
    mix: str
    #: Value of `mix` -> ``delay`` and ``throughput``, each how many flows of each class.
    flows: dict[str, dict[str, dict[str, int]]]
    loss_percent: list[float]


def rows(study: Study) -> list[Row]:
    """The places, the picks and the averages of each mix."""
    options = study.experiment.options.of("optimum", Options)
    columns = options.grid
    own = tuple(float(options.own[column]) for column in columns)
    samples = [sample(run, options) for run in study.runs()]
    found = over_seeds((_without(labels, options.repeats), metrics) for labels, metrics in samples)
    grids: dict[tuple[Cell, str], dict[Place, tuple[float, float]]] = defaultdict(dict)
    for labels, metrics in samples:
        here = {"": labels.get(options.repeats)}
        repetition = filled(options.repetition, here, "options.optimum.repetition")
        place = tuple(float(number(labels, column)) for column in columns)
        grids[labels[options.mix], repetition][place] = metrics["delay_us"], metrics["mbps"]
    for row in found:
        place = tuple(float(number(row, column)) for column in columns)
        grids[row[options.mix], MEAN][place] = number(row, "delay_us"), number(row, "mbps")
    return [
        *found,
        *(
            {
                options.mix: mix,
                "transport": "xdctcp",
                "part": "pick",
                "repetition": repetition,
                "loss_percent": loss,
                **pick(columns, grid, own, loss),
            }
            for (mix, repetition), grid in grids.items()
            if own in grid
            for loss in options.loss_percent
        ),
        *averages(found, [options.mix], columns),
    ]


def sample(run: Run, options: Options) -> tuple[Labels, dict[str, float]]:
    """The labels and the figures of one run: means over flows, in us and Mbit/s."""
    flows = options.flows[str(run.labels[options.mix])]
    delays, rates = flows["delay"], flows["throughput"]
    delay_of: dict[str, float] = {}
    rate_of: dict[str, float] = {}
    for name in {*delays, *rates, "query", "short"}:
        own = run.result["classes"][name]
        if own["bottleneck_delay_us"] is None or own["bottleneck_mbps"] is None:
            raise Mistaken(
                f"[options.optimum]: nothing was measured of the class {name}: the run is too short"
            )
        delay_of[name], rate_of[name] = own["bottleneck_delay_us"], own["bottleneck_mbps"]
    # The delay of a class is a mean over its flows already, its throughput a sum.
    delay = sum(many * delay_of[name] for name, many in delays.items())
    rate = sum(rate_of[name] for name in rates)
    return {**run.labels, "part": "place"}, {
        "delay_us": delay / sum(delays.values()),
        "mbps": rate / sum(rates.values()),
        "query_us": delay_of["query"],
        "short_us": delay_of["short"],
    }


def pick(columns: Sequence[str], grid: Grid, own: Place, loss_percent: float) -> Row:
    """Return the rule's choice: the least delay among places that lose little of `own`'s throughput."""
    delay, rate = grid[own]
    kept = [place for place, (_, mbps) in grid.items() if mbps >= (1 - loss_percent / 100) * rate]
    best = min(kept, key=lambda place: (grid[place][0], place))
    return {
        **dict(zip(columns, best, strict=True)),
        "place": "(" + ", ".join(f"{value:g}" for value in best) + ")",
        "places": len(grid),
        "kept": len(kept),
        "delay_us": grid[best][0],
        "mbps": grid[best][1],
        "lower_percent": 100 * (1 - grid[best][0] / delay),
        "lost_percent": 100 * (1 - grid[best][1] / rate),
    }


def averages(places: Sequence[Row], kept: Sequence[str], columns: Sequence[str]) -> Iterable[Row]:
    """The means of all places with one value of one column."""
    for column in columns:
        groups: dict[tuple[Cell, ...], list[Row]] = defaultdict(list)
        for row in places:
            groups[*(row[each] for each in kept), row[column]].append(row)
        for (*labels, value), group in groups.items():
            yield {
                **dict(zip(kept, labels, strict=True)),
                "transport": "xdctcp",
                "part": "average",
                "parameter": column,
                "value": value,
                "places": len(group),
                **{
                    name: float(np.mean([number(row, name) for row in group]))
                    for name in ("delay_us", "query_us", "short_us", "mbps")
                },
            }


def _without(labels: Labels, column: str) -> Labels:
    return {name: value for name, value in labels.items() if name != column}
