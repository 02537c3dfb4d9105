"""Many runs, each made once: finished runs are kept by the hash of everything that determines them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import _core, errors, scenario, transports
from duetime.contract.nothing import Nothing
from duetime.engine import Progress
from duetime.engine import progress as bars
from duetime.engine.parallel import in_threads
from duetime.engine.store import Store
from duetime.engine.work import TABLES, Answer, Bundle, Task, build, do
from duetime.quantities import counted

if TYPE_CHECKING:
    import polars as pl

    from duetime.contract.runs import Run
    from duetime.contract.scenarios import Resolved


#: The key of ``[transport]`` that names a module.
PLUGIN = "plugin"


@dataclass(frozen=True)
class Point:
    """One run: a scenario, its changes, its transport and its seed."""

    #: Its file, or a scenario that was read.
    scenario: Path | scenario.Scenario
    #: Changes as ``--set`` takes them, applied in turn.
    overrides: tuple[str, ...] = ()
    #: Replaces the name in ``[transport]``, as in `transports`; keys that only others know are dropped.
    transport: str | None = None
    seed: int = 1

    @property
    def name(self) -> str | None:
        """The transport's name in tables; none for the scenario's own."""
        return None if self.transport is None else transports.label(self.transport)


@dataclass(frozen=True)
class Kept:
    """The result of a point."""

    point: Point
    #: The hash that it is kept under; empty if its scenario cannot be read.
    key: str
    #: What ``duetime run --json`` prints, without wall-clock times; empty after a failure.
    result: Run[int, float] | Nothing = field(repr=False)
    #: Why it failed.
    error: str | None = None
    #: The scenario with every default filled in.
    scenario: Resolved | Nothing = field(default_factory=Nothing, repr=False)
    #: What the reader should know of the scenario: dropped keys and the like.
    notes: tuple[str, ...] = ()
    store: Store | None = None

    @property
    def run(self) -> Run[int, float]:
        """The result of a run that did not fail; `ValueError` of another."""
        if "summary" not in self.result:
            raise ValueError(f"the run failed and has no figures: {self.error}")
        return self.result

    def table(self, name: str) -> pl.DataFrame:
        """Return one of `work.TABLES`; `FileNotFoundError` if it was not kept."""
        if self.store is None or self.error is not None:
            raise FileNotFoundError(f"the run failed and has no table `{name}`")
        return self.store.table(self.key, name)


def key(point: Point) -> str:
    """Hash everything that decides a point's result.

    That is the scenario with every default filled in, overrides, transport and seed applied; the content of
    the files that it names; and the engine that simulates. Raises what `duetime.check` raises.
    """
    return _Reader().prepared(point).key


def run_points(
    points: Sequence[Point],
    *,
    store: Path,
    jobs: int | None = None,
    cluster: str | None = None,
    tables: Sequence[str] = (),
    progress: bool | None = True,
    until: float | None = None,
) -> list[Kept]:
    """Run points, `jobs` at a time (default: one for each core), or on the Dask scheduler at `cluster`.

    The answer is in the order of the points. Runs in the store are not run again, equal points run once, and
    a point that fails gives its reason in `error` and does not stop the rest. `tables` names the tables to
    keep for each run. After Ctrl-C, which is raised, the store has the finished runs, and the same call
    resumes.

    Raises `errors.Refused` for a store that cannot be written, and `errors.Unusable` for a cluster that
    cannot do it. Raises `errors.TimeUp` where runs are missing at the time `until` of `time.monotonic`, which
    a cluster ignores.
    """
    for name in tables:
        if name not in TABLES:
            raise ValueError(f"there is no table {name!r}, the tables are {', '.join(TABLES)}")
    _refuse_classes(points)
    kept = Store(store)
    batch = _Batch(points, kept, tuple(tables))
    with bars.points(len(batch.prepared), progress) as shown:
        shown.found(len(batch.prepared) - len(batch.missing))
        try:
            if batch.run(jobs, cluster, shown, until):
                if until is not None and time.monotonic() >= until:
                    kept.seal()
                    raise errors.TimeUp(batch.said())
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise KeyboardInterrupt(batch.said()) from None
        except errors.TimeUp:
            raise
        except Exception:
            kept.undo()
            raise
    kept.seal()
    return batch.answers(points)


def finished(points: Sequence[Point], *, store: Path, tables: Sequence[str] = ()) -> dict[int, Kept]:
    """Return the results in the store of these points, by their place in the list; nothing is run."""
    batch = _Batch(points, Store(store), tuple(tables))
    missing = {each.key for each in batch.missing}
    return {
        number: batch.answer(point)
        for number, point in enumerate(points)
        if point in batch.by_point and batch.by_point[point].key not in missing
    }


@dataclass(frozen=True)
class _Prepared:
    key: str
    bundle: Bundle
    notes: tuple[str, ...]
    point: Point


class _Batch:
    """The different runs among some points."""

    def __init__(self, points: Sequence[Point], store: Store, tables: tuple[str, ...]) -> None:
        self.store = store
        self.tables = tables
        self.errors: dict[str, str] = {}
        self.unreadable: dict[Point, str] = {}
        self.by_point: dict[Point, _Prepared] = {}
        reader = _Reader()
        for point in dict.fromkeys(points):
            try:
                self.by_point[point] = reader.prepared(point)
            except (errors.Unreadable, _core.ScenarioError) as error:
                self.unreadable[point] = str(error)
        self.prepared = {each.key: each for each in self.by_point.values()}
        self.missing = [each for each in self.prepared.values() if store.record(each.key, tables) is None]

    def run(self, jobs: int | None, cluster: str | None, shown: bars.Points, until: float | None) -> bool:
        """Run the missing points; return True if Ctrl-C interrupted, or if the time was up."""

        def finished(number: int, answer: Answer) -> None:
            hashed = self.missing[number].key
            if answer.error is None:
                self.store.keep(hashed, answer.record, answer.tables)
            else:
                self.errors[hashed] = answer.error
            shown.finished(number, failed=answer.error is not None)

        def one(number: int, progress: Progress) -> Answer:
            return do(self._task(number), self.missing[number].bundle, progress)

        if not self.missing:
            return False
        if cluster is None:
            return in_threads(
                len(self.missing), one, jobs=jobs, follow=shown.follow, finished=finished, until=until
            )
        # Loaded late: few calls ask for a cluster.
        from duetime.engine.cluster import on_cluster

        work = [(self._task(number), each.key, each.bundle) for number, each in enumerate(self.missing)]
        return on_cluster(cluster, work, finished)

    def answers(self, points: Sequence[Point]) -> list[Kept]:
        """Return the result of each point."""
        return [self.answer(point) for point in points]

    def said(self) -> str:
        """Say how many runs are kept after Ctrl-C."""
        finished = sum(self.store.record(key, self.tables) is not None for key in self.prepared)
        return f"{finished} of {counted(len(self.prepared), 'run')} finished and kept in {self.store.folder}"

    def answer(self, point: Point) -> Kept:
        """Return the result of one point."""
        if point in self.unreadable:
            return Kept(point, "", Nothing(), self.unreadable[point])
        prepared = self.by_point[point]
        if prepared.key in self.errors:
            return Kept(point, prepared.key, Nothing(), self.errors[prepared.key], notes=prepared.notes)
        record = self.store.record(prepared.key, self.tables)
        if record is None:
            raise FileNotFoundError(f"{self.store.folder}: a run that was just kept is no longer there")
        return Kept(
            point, prepared.key, record["result"], None, record["scenario"], prepared.notes, self.store
        )

    def _task(self, number: int) -> Task:
        point = self.missing[number].point
        return Task(point.overrides, point.transport, point.seed, self.tables, build())


def _refuse_classes(points: Sequence[Point]) -> None:
    """Raise `Unreadable` for a Python class: its code is in no hash, and no worker has it."""
    named = next(
        (point.name for point in points if (point.transport or "").startswith(transports.PYTHON)), None
    )
    if named is not None:
        raise errors.Unreadable(
            f"the controller {named} is a Python class: it runs in duetime.run and, without a store, in "
            "duetime.compare. For sweeps, searches and clusters make it a plug-in: duetime init --plugin"
        )


class _Reader:
    """Reads scenarios and the files that they name, each once."""

    def __init__(self) -> None:
        self.scenarios: dict[Path | scenario.Scenario, scenario.Scenario] = {}
        self.files: dict[Path, tuple[bytes, str]] = {}
        self.bundles: dict[tuple[scenario.Scenario, tuple[str, ...]], Bundle] = {}

    def prepared(self, point: Point) -> _Prepared:
        """Check a point; raises the errors in it."""
        if point.scenario not in self.scenarios:
            given = point.scenario
            self.scenarios[given] = scenario.read_file(given) if isinstance(given, Path) else given
        read = self.scenarios[point.scenario]
        if not 0 <= point.seed <= scenario.LAST_SEED:
            raise errors.Unreadable(f"a seed is 0 to {scenario.LAST_SEED}, not {point.seed}")
        resolved, notes, paths = _core.check(
            read.text,
            read.name,
            read.folder,
            set=scenario.changes(point.overrides),
            seed=point.seed,
            transport=point.transport,
        )
        if f'"{PLUGIN}":"{transports.PYTHON}' in resolved:
            raise errors.Unreadable(
                f"{read.name}: a Python class as `{PLUGIN}` cannot be kept: its code is in no hash"
            )
        contents = {path: self._file(read.folder, path) for path in paths}
        hashes = {path: hashed for path, (_, hashed) in contents.items()}
        decisive = json.dumps([resolved, hashes, build().engine])
        hashed = hashlib.sha256(decisive.encode()).hexdigest()
        bundle = self._bundle(read, {path: content for path, (content, _) in contents.items()})
        return _Prepared(hashed, bundle, tuple(notes), point)

    def _file(self, folder: str | None, path: str) -> tuple[bytes, str]:
        full = Path(folder or "") / path
        if full not in self.files:
            try:
                content = full.read_bytes()
            except OSError as error:
                raise errors.Unreadable(f"{full}: {error.strerror}") from None
            self.files[full] = content, hashlib.sha256(content).hexdigest()
        return self.files[full]

    def _bundle(self, read: scenario.Scenario, files: Mapping[str, bytes]) -> Bundle:
        """Return the same object for the same contents, so that they are sent to a cluster once."""
        name = (read, tuple(files))
        return self.bundles.setdefault(name, Bundle(read.text, read.name, dict(files)))
