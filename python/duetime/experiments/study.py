"""The runs that an experiment asks for at one scale, and rows made of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from duetime import decide
from duetime.contract.rows import Cell as Value
from duetime.contract.rows import Row as Row
from duetime.engine.points import Kept, Point, run_points
from duetime.errors import Mistaken
from duetime.experiments.experiment import Axis, Experiment, Labels, Size, Variant, at, regimes
from duetime.experiments.texts import filled
from duetime.language import catalog
from duetime.statistics import of_figure, seeds_needed, seeds_of_share

if TYPE_CHECKING:
    from duetime.contract import runs

# A row of a result has labels, and metrics with their 95 % intervals in ``_low`` and ``_high``. Where too few
# misses back an interval it has none, and ``_seeds`` is about how many seeds would do.
Metrics: TypeAlias = Mapping[str, float | None]
#: What one run says: further labels and metrics, as many as it likes.
Sampler: TypeAlias = Callable[["Run"], Iterable[tuple[Labels, Metrics]]]

#: The name of the omniscient bound where transports are named.
BOUND = "bound"
#: Runs that an experiment may ask for; the largest of the shipped ones asks for a hundredth.
MAX_RUNS = 1_000_000


@dataclass(frozen=True)
class Cell:
    """A place in the grid: its labels, and the changes that lead there."""

    labels: Labels
    set: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A finished run, and its place in the grid."""

    labels: Labels
    seed: int
    result: runs.Run[int, float]
    kept: Kept
    #: Cell and seed: runs of several transports at the same place have the same arrivals.
    place: tuple[int, int] = (0, 0)


@dataclass
class Study:
    """An experiment at one scale; measures make its runs through this."""

    experiment: Experiment
    size: Size
    seeds: list[int]
    scenario: Path
    transports: list[str]
    #: What regime, experiment and scale change, in this order.
    changes: tuple[str, ...]
    #: Where finished runs are kept, and how many are made at a time.
    store: Path
    jobs: int | None
    #: The different runs that the rows rest on, and the errors of others.
    made: set[Point] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    #: The reader's changes; they are applied last, so that they hold in every cell and for every transport.
    given: tuple[str, ...] = ()
    #: How long each run lasts instead, at the first and the last place of the grid alone: it shows that an
    #: experiment starts, and nothing else.
    cut: str = ""
    #: Whether a bar may show how far the runs are.
    progress: bool = True
    #: Runs of the whole grid, by the tables that were asked for.
    known: dict[tuple[str, ...], list[Run]] = field(default_factory=dict, init=False)

    def without(self, seed: int) -> Study:
        """Return the same study without one of its seeds; the results of its runs are shared."""
        study = replace(self, seeds=[each for each in self.seeds if each != seed])
        study.known = self.known
        return study

    def check_size(self, seeds: int) -> None:
        """Refuse a grid that is too large to wait for, before it takes all memory."""
        axes = [sum(1 for _ in self._along(axis)) for axis in self.experiment.axes]
        runs = math.prod(axes) * len(self.transports) * seeds
        if runs > MAX_RUNS:
            where = self.experiment.path
            raise Mistaken(f"{where}: asks for {runs:,} runs; an experiment has at most {MAX_RUNS:,}")

    def cells(self) -> list[Cell]:
        """The whole grid, the last axis fastest; its ends alone where runs are cut."""
        axes = [list(self._along(axis)) for axis in self.experiment.axes]
        grid = [
            Cell(
                {column: value for each in choice for column, value in each[0].items()},
                tuple(itertools.chain(*(each[1] for each in choice))),
            )
            for choice in itertools.product(*axes)
        ]
        return [grid[0], grid[-1]] if self.cut and len(grid) > 1 else grid

    def point(self, cell: Cell, transport: str, seed: int) -> Point:
        """Return one run of the grid."""
        variant = self.variant(transport)
        changes = (*self.changes, *variant.set, *cell.set, *self._last())
        return Point(self.scenario, changes, variant.transport, seed)

    def deciding(self, cell: Cell, transports: Sequence[str]) -> decide.Runs:
        """Return the input of a search for the limit of a cell."""
        variants = [self.variant(transport) for transport in transports]
        if len(variants) > 1 and any(variant.set for variant in variants):
            raise Mistaken("transports with settings of their own are searched one by one")
        names = tuple(variant.transport for variant in variants)
        changes = known_to(names, (*self.changes, *variants[0].set, *cell.set, *self._last()))
        return decide.Runs(
            self.scenario, changes, names, tuple(self.seeds), self.store, self.jobs, progress=self.progress
        )

    def variant(self, transport: str) -> Variant:
        """Return the transport of a name."""
        return self.experiment.variants.get(transport, Variant(transport))

    def runs(self, tables: tuple[str, ...] = ()) -> list[Run]:
        """Return every cell under every transport with every seed."""
        if tables not in self.known:
            self.known[tables] = self._runs(tables)
        return [run for run in self.known[tables] if run.seed in self.seeds]

    def _runs(self, tables: tuple[str, ...]) -> list[Run]:
        grid = [
            (number, cell, transport, seed)
            for number, cell in enumerate(self.cells())
            for transport in self.transports
            for seed in self.seeds
        ]
        kept = self.make([self.point(cell, transport, seed) for _, cell, transport, seed in grid], tables)
        return [
            Run({**cell.labels, "transport": transport}, seed, one.run, one, (number, seed))
            for (number, cell, transport, seed), one in zip(grid, kept, strict=True)
            if one.error is None
        ]

    def make(self, points: Sequence[Point], tables: tuple[str, ...] = ()) -> list[Kept]:
        """Make runs; one that failed is reported and does not stop the others."""
        kept = run_points(points, store=self.store, jobs=self.jobs, tables=tables, progress=self.progress)
        self.made.update(points)
        for point, one in zip(points, kept, strict=True):
            if one.error is None:
                _check_bound(point, one.run)
            else:
                self.failed.append(
                    f"{point.transport}, seed {point.seed}, {list(point.overrides)}: {one.error}"
                )
        return kept

    def rows(self, sampler: Sampler, tables: tuple[str, ...] = ()) -> list[Row]:
        """Run the grid; give a row for each group of samples with equal labels, over the seeds."""
        runs = self.runs(tables)
        return over_seeds(
            ({**run.labels, **labels}, metrics) for run in runs for labels, metrics in sampler(run)
        )

    def _last(self) -> tuple[str, ...]:
        """The changes that hold in every cell and for every transport, whatever those change."""
        if not self.cut:
            return self.given
        short = (f"run.duration={self.cut}", "run.warm_up=0 s", f"run.cool_down={self.cut}")
        return (*self.given, *short, *self.experiment.cut)

    def _along(self, axis: Axis) -> Iterator[tuple[Labels, list[str]]]:
        cases = dict(axis.cases)
        if axis.changes:
            written = regimes(self.experiment.root)["changes"]
            cases |= {name: each["set"] for name, each in written.items()}
        fewer = self.experiment.robust if self.cut else {}
        chosen = (self.size.axes | fewer).get(axis.column, [*cases, *axis.values])
        where = f"{self.experiment.path}: axis {axis.column!r}"
        for value in chosen:
            changes = cases.get(value) if isinstance(value, str) else None
            yield (
                _label(axis, value),
                changes if changes is not None else [filled(each, {"": value}, where) for each in axis.set],
            )


def known_to(transports: Sequence[str], changes: Iterable[str]) -> tuple[str, ...]:
    """The changes without parameters that other transports have and none of these.

    A regime sets its keys for all transports; a search refuses changes without effect.
    """
    keys = _keys()
    own = set[str]().union(*(keys.get(name, set()) for name in transports))
    others = set[str]().union(*keys.values()) - own
    foreign = {f"transport.{key}" for key in others}
    return tuple(change for change in changes if change.partition("=")[0].strip() not in foreign)


@cache
def _keys() -> dict[str, set[str]]:
    """The parameters of each transport."""
    return {each["name"]: {key["name"] for key in each["keys"]} for each in catalog()["transports"]}


def _label(axis: Axis, value: Value) -> Labels:
    return {} if axis.replicates else {axis.column: value}


def over_seeds(samples: Iterable[tuple[Labels, Metrics]], differences: Collection[str] = ()) -> list[Row]:
    """Put samples with equal labels into one row: means, and 95 % intervals where there are two or more.

    `differences` names metrics that are differences of two runs with the same seed.
    """
    groups: dict[tuple[tuple[str, Value], ...], list[Metrics]] = {}
    for labels, metrics in samples:
        groups.setdefault(tuple(labels.items()), []).append(metrics)
    return [_row(dict(labels), group, differences) for labels, group in groups.items()]


def figure_of(result: Mapping[str, object], path: str | Mapping[str, float]) -> float | None:
    """A figure of a run's JSON, or a sum of some with their weights; none where it has none."""
    if isinstance(path, Mapping):
        parts = [(figure_of(result, each), weight) for each, weight in path.items()]
        found = [value * weight for value, weight in parts if value is not None]
        return sum(found) if len(found) == len(parts) else None
    try:
        value = at(result, path)
    except KeyError:
        return None
    if value is not None and not isinstance(value, int | float):
        raise Mistaken(f"[metrics]: {path} is no number")
    return value


def _check_bound(point: Point, result: runs.Run[int, float]) -> None:
    """No schedule can miss fewer than the bound; one that does is a bug of ours."""
    bound = result["bound"]
    if bound is None:
        return
    parts = [
        (result["summary"], bound),
        *((result["classes"][name], of) for name, of in bound["classes"].items()),
    ]
    for part, least in parts:
        if least and part["missed"] < least["missed"]:
            raise RuntimeError(f"{point}: missed {part['missed']}, less than the bound {least['missed']}")


def _row(labels: Labels, samples: Sequence[Metrics], differences: Collection[str]) -> Row:
    row: Row = {**labels, "runs": len(samples)}
    # Where seeds change nothing, more seeds would not either.
    differ = any(sample != samples[0] for sample in samples)
    for name in dict.fromkeys(name for sample in samples for name in sample):
        values = [sample.get(name) for sample in samples]
        found = of_figure(name, values, always=True)
        row[name] = None if found is None else found["mean"]
        low, high = (None, None) if found is None else found["ci95"]
        if found is not None and len(values) > 1 and len(set(values)) == 1:
            # Claims are judged by these: where all seeds agree the interval has no width.
            low, high = found["mean"], found["mean"]
        present = [value for value in values if value is not None]
        seeds = seeds_needed(present) if name in differences else seeds_of_share(name, values)
        if differ and seeds is not None:
            low, high = None, None
            row[f"{name}_seeds"] = seeds
        row[f"{name}_low"], row[f"{name}_high"] = low, high
    return row
