"""Sweeps: one scenario at many points, under several transports and seeds."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duetime import _core, errors, files, manifest, scenario
from duetime import transports as selection
from duetime.contract import reading
from duetime.engine.points import Kept, Point, run_points
from duetime.quantities import counted
from duetime.statistics import paired
from duetime.tabular import OF_BOUND, flat

if TYPE_CHECKING:
    import polars as pl

    from duetime.contract import comparisons
    from duetime.contract.rows import Cell, Row
    from duetime.contract.runs import Limit, Run
    from duetime.plots import Picture


@dataclass(frozen=True)
class Sweep:
    """A sweep's file that was read."""

    title: str
    #: The scenario that it starts from.
    scenario: Path
    #: None means the scenario's own.
    transports: tuple[str | None, ...]
    seeds: tuple[int, ...]
    #: Changes that all points share.
    shared: tuple[str, ...]
    #: The keys that differ, and for each point their values and the same as changes.
    axes: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]
    changes: tuple[tuple[str, ...], ...]
    #: What the other transports are compared with; None: the first.
    against: str | None = None

    @cached_property
    def names(self) -> tuple[str | None, ...]:
        """The transports' names in tables."""
        return tuple(None if each is None else selection.label(each) for each in self.transports)

    @property
    def points(self) -> list[Point]:
        """All runs: point by point, in it by transport, in it by seed."""
        return [
            Point(self.scenario, (*self.shared, *changes), transport, seed)
            for changes in self.changes
            for transport in self.transports
            for seed in self.seeds
        ]


@dataclass(frozen=True, slots=True)
class Place:
    """The point of a run, the values of the axes there, and its transport and seed."""

    point: int
    axes: Row
    transport: str | None
    seed: int

    @property
    def row(self) -> Row:
        """The beginning of the rows of its run."""
        return {"point": self.point, **self.axes, "transport": self.transport, "seed": self.seed}


@dataclass(frozen=True, repr=False)
class Swept:
    """The result of a sweep."""

    sweep: Sweep
    kept: list[Kept]

    def __repr__(self) -> str:
        """Give the size of the sweep; the tables are in `runs`, `classes` and `differences`."""
        plan, failed = self.sweep, len(self.failures)
        named = [name for name in plan.names if name is not None]
        parts = [
            f"{counted(len(plan.values), 'point')} of {', '.join(plan.axes)}",
            *([", ".join(named)] if named else []),
        ]
        parts += [counted(len(plan.seeds), "seed"), f"{counted(len(self.kept), 'run')}, {failed} failed"]
        return f"<Swept {plan.title!r}: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        """Show the table of ``duetime sweep`` in a notebook."""
        # Loaded late: it takes time to load, and only a notebook shows it.
        from duetime.display import grid, sweeps

        return grid.html(*sweeps.table(self))

    def plot(self) -> Picture:
        """Draw misses, completion times and goodput over the axes; `Missing` without matplotlib."""
        from duetime.plots import picture

        def save(folder: Path) -> Path:
            folder.mkdir()
            self.write(folder)
            return folder

        return picture(save)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The column of each axis: its key, with a ``$`` where another column is called so."""
        done = [kept.run for kept in self.kept if kept.error is None]
        taken = {name for run in done for name in (*_figures(run), *_of_classes(run))}
        return tuple(f"${axis}" if axis in taken | TELLING else axis for axis in self.sweep.axes)

    @property
    def failures(self) -> list[Row]:
        """The runs that failed: number, axes, transport, seed and reason."""
        return [{**where.row, "error": kept.error} for where, kept in self._rows() if kept.error is not None]

    def runs(self) -> pl.DataFrame:
        """One row per finished run: the axes, transport, seed, and every figure of the whole run."""
        return _frame(self.rows())

    def to_pandas(self) -> Any:
        """Return `runs` as a data frame of pandas; `errors.Missing` without pandas."""
        from duetime.frames import to_pandas

        return to_pandas(self.runs())

    def rows(self) -> list[Row]:
        """Return the rows of `runs`."""
        return [{**where.row, **_figures(kept.run)} for where, kept in self._rows() if kept.error is None]

    def classes(self) -> pl.DataFrame:
        """One row per finished run and traffic class."""
        rows = []
        for where, kept in self._rows():
            classes = kept.run["classes"] if kept.error is None else {}
            for name, figures in classes.items():
                rows.append({**where.row, "class": name, **flat(figures), **_bound(kept.run, name)})
        return _frame(rows)

    @property
    def against(self) -> str | None:
        """The transport that the others are compared with; none where there is only one."""
        names = self.sweep.names
        return self.sweep.against or names[0] if len(names) > 1 else None

    def differences(self) -> pl.DataFrame:
        """One row per point and transport other than `against`: what it has more or less, seed by seed.

        Each figure of the run as a whole has a column, with the ends of its 95 % interval in ``_low`` and
        ``_high``; ``seeds`` says over how many pairs.
        """
        against, rows = self.against, []
        by_run = {
            (where.point, where.transport, where.seed): (where, _figures(kept.run))
            for where, kept in self._rows()
            if kept.error is None
        }
        for point in range(len(self.sweep.values)):
            for transport in self.sweep.names:
                runs = [
                    (by_run.get((point, transport, seed)), by_run.get((point, against, seed)))
                    for seed in self.sweep.seeds
                ]
                pairs = [(one, other[1]) for one, other in runs if one is not None and other is not None]
                if transport != against and pairs:
                    where = {key: value for key, value in pairs[0][0][0].row.items() if key != "seed"}
                    found = paired([one for (_, one), _ in pairs], [other for _, other in pairs])
                    rows.append({**where, "against": against, "seeds": len(pairs), **flat(found)})
        return _frame(rows)

    def record(self) -> comparisons.Sweep:
        """Return the object of ``sweep.json``: the source of the figures, and the failures."""
        sweep = self.sweep
        return {
            "version": _core.version(),
            "title": sweep.title,
            "scenario": sweep.scenario.name,
            "shared": list(sweep.shared),
            "axes": list(self.columns),
            "keys": list(sweep.axes),
            "points": [list(values) for values in sweep.values],
            "changes": [list(changes) for changes in sweep.changes],
            "transports": [each for each in sweep.transports if each is not None],
            "against": self.against,
            "seeds": list(sweep.seeds),
            "runs": len(self.kept),
            "failures": self.failures,
            "results": [kept.key for kept in self.kept],
        }

    def write(self, folder: Path) -> None:
        """Write ``sweep.json`` and the tables, each as Parquet, into a folder that exists.

        ``differences.parquet`` is there with two transports or more.
        """
        tables = {"sweep.parquet": self.runs(), "classes.parquet": self.classes()}
        if self.against is not None:
            tables["differences.parquet"] = self.differences()
        record = json.dumps(self.record(), indent=2, ensure_ascii=False) + "\n"
        with files.sealing(folder, PARTS - {RUNS, "report.html"}):
            for name, table in tables.items():
                files.write(folder / name, files.table(table))
            files.write(folder / "sweep.json", record.encode())

    def _rows(self) -> Iterator[tuple[Place, Kept]]:
        """Yield each run with its axis values, transport and seed."""
        sweep = self.sweep
        each = len(sweep.transports) * len(sweep.seeds)
        for number, kept in enumerate(self.kept):
            values = sweep.values[number // each]
            axes = {column: _plain(value) for column, value in zip(self.columns, values, strict=True)}
            transport = kept.point.name or (kept.run["transport"] if kept.error is None else None)
            yield Place(number // each, axes, transport, kept.point.seed), kept


#: Parts of a run's JSON that are no figures of the run as a whole, or that each row has anyway.
APART = {"title", "transport", "seed", "summary", "classes", "bound"}
#: Columns, besides the axes, that identify a row.
TELLING = {"point", "transport", "seed", "class", "error"}


def read(file: Path, against: str | None = None) -> Sweep:
    """Read a sweep's file; its other transports are compared with `against`, by default the first.

    Raises `ScenarioError` with the place of a mistake, and `errors.Unreadable`.
    """
    return _read(scenario.read_file(file, "sweep"), file.parent, against)


def _described(sections: Mapping[str, object], out: Path, against: str | None) -> Sweep:
    """Read a sweep from a dictionary."""
    sections, inside = dict(sections), sections.get("scenario")
    if isinstance(inside, Mapping):
        files.check_growing(out, PARTS)
        out.mkdir(parents=True, exist_ok=True)
        manifest.unseal(out)
        files.write(out / SCENARIO, scenario.toml(inside).encode())
        sections["scenario"] = os.fspath((out / SCENARIO).resolve())
    text = scenario.toml(sections, "sweep")
    return _read(scenario.Scenario(text, "sweep", os.curdir), Path(), against)


def _read(text: scenario.Scenario, folder: Path, against: str | None) -> Sweep:
    try:
        found = reading.plan(_core.sweep(text.text, text.name, text.folder))
    except _core.ScenarioError:
        _starts_from_scenario(text, folder)
        raise
    names = selection.named(found["transports"] or [])
    if against is not None:
        against = selection.chosen(against, names, "the sweep's transports")
    return Sweep(
        found["title"],
        folder / found["scenario"],
        tuple(found["transports"] or [None]),
        tuple(found["seeds"]),
        tuple(found["set"]),
        tuple(found["axes"]),
        tuple(tuple(values) for values in found["points"]),
        tuple(tuple(changes) for changes in found["changes"]),
        against,
    )


def _starts_from_scenario(text: scenario.Scenario, folder: Path) -> None:
    """Raise `Unreadable` if what a sweep starts from is a sweep: itself, or another."""
    try:
        base = tomllib.loads(text.text).get("scenario")
    except tomllib.TOMLDecodeError:
        return
    if not isinstance(base, str):
        return
    if (folder / base).resolve() == Path(text.name).resolve():
        raise errors.Unreadable(
            f"{text.name}: `scenario` names this sweep itself; expected the scenario that it starts from"
        )
    if (folder / base).is_file():
        scenario.read_file(folder / base)


def sweep(
    source: str | os.PathLike[str] | Mapping[str, object],
    *,
    out: str | os.PathLike[str],
    against: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Swept:
    """Run the sweep that a file or a dictionary describes and write its tables into `out`.

    A dictionary has the keys of a file; its ``scenario`` is a path, from the current folder, or a dictionary
    too, which is written to ``out/scenario.toml``.

    Finished runs are kept in ``out/runs`` and not made again. So a sweep that was stopped resumes, and one
    that was changed runs only its new points. `jobs` and `cluster` are the same as for `points.run_points`,
    `progress` as for `compare`; errors are the same as for both and for `read`, and `errors.Refused`.
    """
    folder = Path(out)
    plan = _described(source, folder, against) if isinstance(source, Mapping) else read(Path(source), against)
    return carry_out(plan, folder, jobs=jobs, cluster=cluster, progress=progress)


def carry_out(
    sweep: Sweep, out: Path, *, jobs: int | None, cluster: str | None, progress: bool | None
) -> Swept:
    """Run a sweep that was read."""
    files.check_growing(out, PARTS)
    kept = run_points(sweep.points, store=out / RUNS, jobs=jobs, cluster=cluster, progress=progress)
    swept = Swept(sweep, kept)
    swept.write(out)
    return swept


RUNS, SCENARIO = "runs", "scenario.toml"
#: What a folder of ours holds.
PARTS = {
    RUNS,
    SCENARIO,
    "sweep.json",
    "sweep.parquet",
    "classes.parquet",
    "differences.parquet",
    "report.html",
}


def _figures(result: Run[int, float]) -> Row:
    """Return every figure of the run as a whole, each under the name of its column."""
    # A figure that a run lacks (requests for rates, say) has columns of its own where another run has it.
    apart = {name: value for name, value in result.items() if name not in APART and value is not None}
    return {**flat(apart), **flat(result["summary"]), **_bound(result)}


def _of_classes(result: Run[int, float]) -> Iterator[str]:
    return (name for part in result["classes"].values() for name in flat(part))


def _bound(result: Run[int, float], of_class: str | None = None) -> Row:
    """Return the deadlines that no schedule could meet, in the run or in one of its classes."""
    whole = result["bound"]
    bound: Limit[int, float] | None = whole
    if of_class is not None:
        bound = whole["classes"].get(of_class) if whole else None
    return {f"bound_{name}": bound[name] if bound else None for name in OF_BOUND}


def _plain(value: object) -> Cell:
    """Return a value for a column: tables and lists as they are written."""
    return value if isinstance(value, bool | int | float | str) else json.dumps(value, ensure_ascii=False)


def _frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Put rows together; a column that holds texts and numbers holds texts."""
    from duetime.frames import pl

    columns: dict[str, list[object]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [
                value if value is None or isinstance(value, str) else json.dumps(value) for value in values
            ]
        elif kinds == {int, float}:
            values = [float(value) if isinstance(value, int | float) else None for value in values]
        columns[name] = values
    return pl.DataFrame(columns)
