"""One run as a piece of work that can be done anywhere: it needs no file of the machine that asks for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from duetime import _core, files, fluid, results
from duetime.engine import Progress
from duetime.errors import Missing, OtherBuild, Unreadable
from duetime.results import Result
from duetime.statistics import WALL_CLOCK

#: The tables of a run that can be kept beside its figures.
TABLES = results.TABLES


class Build(NamedTuple):
    """The versions that determine the bytes of a result, beside the scenario."""

    #: Of duetime.
    version: str
    #: SHA-256 of the extension module that simulates.
    engine: str
    #: Version of polars, which writes the tables.
    polars: str

    def __str__(self) -> str:
        """Short enough for a message."""
        return f"duetime {self.version} (engine {self.engine[:12]}) with polars {self.polars}"


@cache
def build() -> Build:
    """Return the versions that this process simulates with."""
    # Loaded late: it takes as long as a short run, and a run that is not kept needs no versions.
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    assert _core.__file__ is not None
    engine = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    try:
        polars = version_of("polars")
    except PackageNotFoundError:
        polars = "none"
    return Build(_core.version(), engine, polars)


@dataclass(frozen=True)
class Bundle:
    """A scenario's text, its name in messages, and the contents of the files that it names, by their path."""

    text: str
    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A run of a bundle, and the tables to return."""

    overrides: tuple[str, ...]
    transport: str | None
    seed: int
    tables: tuple[str, ...]
    #: The build of the asking process.
    build: Build


@dataclass(frozen=True)
class Answer:
    """The result of a task: the record for the store and each table as Parquet, or the error."""

    record: bytes = b""
    tables: Mapping[str, bytes] = field(default_factory=dict)
    error: str | None = None


def do(task: Task, bundle: Bundle, progress: Progress | None = None) -> Answer:
    """Run it. A run that fails answers with its reason; raises `OtherBuild`, and what `progress` raises."""
    if task.build != build():
        raise OtherBuild(f"it has {build()}, this side has {task.build}")
    try:
        result = _result(task, bundle, progress)
    except (
        _core.ScenarioError,
        _core.PluginError,
        _core.InternalError,
        Unreadable,
        Missing,
        MemoryError,
    ) as error:
        return Answer(error=str(error) or type(error).__name__)
    figures = {name: value for name, value in result.data.items() if name not in WALL_CLOCK}
    record = {"version": task.build.version, "result": figures, "scenario": result.scenario}
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"
    return Answer(text.encode(), {name: _parquet(result, name) for name in task.tables})


def _result(task: Task, bundle: Bundle, progress: Progress | None) -> Result:
    if fluid.asked_for(bundle.text, task.overrides):
        asked = fluid.Task(
            bundle.text, bundle.name, None, tuple(task.overrides), task.seed, task.transport, bundle.files
        )
        if (found := fluid.simulated(asked, progress)) is not None:
            return found
    done = _core.run(
        bundle.text,
        bundle.name,
        None,
        set=task.overrides,
        seed=task.seed,
        transport=task.transport,
        files=bundle.files,
        progress=progress,
        rows=bool(task.tables),
    )
    return Result(done.json, done.resolved, done.notes, done)


def _parquet(result: Result, name: str) -> bytes:
    return files.table(getattr(result, name))
