"""Result folders as the pictures read them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from duetime import manifest
from duetime.contract import reading
from duetime.contract.comparisons import SavedComparison
from duetime.contract.runs import Judged, SavedRun
from duetime.contract.scenarios import Traffic
from duetime.contract.variants import Robustness
from duetime.errors import NoResults, Unreadable
from duetime.frames import pl
from duetime.statistics import seeds_differ
from duetime.transports import in_folder

R = TypeVar("R")
MESSAGES = [
    "class",
    "src",
    "dst",
    "query",
    "bytes",
    "start_us",
    "fct_us",
    "deadline_us",
    "slowdown",
    "missed",
    "counted",
]


@dataclass(frozen=True)
class Run:
    """The folder of one run."""

    directory: Path
    about: SavedRun

    @cached_property
    def messages(self) -> pl.DataFrame:
        """Every message of finite size, warm-up included."""
        return read(self.directory / "flows.parquet").select(MESSAGES).filter(pl.col("bytes").is_not_null())

    @cached_property
    def counted(self) -> pl.DataFrame:
        """The messages that count."""
        return self.messages.filter(pl.col("counted"))

    @cached_property
    def links(self) -> pl.DataFrame:
        """Every link direction with the port that feeds it."""
        return read(self.directory / "links.parquet")

    @cached_property
    def trace(self) -> pl.DataFrame | None:
        """Samples over time, if the run recorded them."""
        path = self.directory / "trace.parquet"
        return read(path) if path.exists() else None

    @cached_property
    def requests(self) -> pl.DataFrame:
        """Every request of stages, warm-up included; empty without such classes."""
        path = self.directory / "requests.parquet"
        return read(path) if path.exists() else pl.DataFrame()

    @cached_property
    def pieces(self) -> pl.DataFrame | None:
        """Every message and work of these requests, if the run kept them."""
        path = self.directory / "pieces.parquet"
        return read(path) if path.exists() else None

    def between(self, source: int, target: int) -> str:
        """The two ends of a connection, as they are called in legends."""
        return f"host {source} to {target}"


@dataclass(frozen=True)
class Arm:
    """One transport of a comparison: a run, or one per seed."""

    name: str
    runs: tuple[Run, ...]

    @cached_property
    def counted(self) -> pl.DataFrame:
        """The messages that count, of all seeds."""
        return pl.concat([run.counted.with_columns(seed=pl.lit(i)) for i, run in enumerate(self.runs)])

    @cached_property
    def seeds_differ(self) -> bool:
        """Several seeds gave different results; true of one seed."""
        return seeds_differ([dict(run.about) | {"scenario": None} for run in self.runs])


@dataclass(frozen=True)
class Results:
    """The content of a result folder: a run is a comparison of one."""

    title: str
    arms: tuple[Arm, ...]
    #: The transport that the others are compared with; none: the first.
    against: str | None = None
    #: The outcome of the conditions of ``--fail-if``, as in the JSON object.
    limits: tuple[Judged, ...] = ()
    #: The request whose timeline is drawn, as CLASS:NUMBER; none: one of median time.
    request: str | None = None

    @property
    def names(self) -> list[str]:
        """The transports, in the order in which they were named."""
        return [arm.name for arm in self.arms]

    @property
    def seeds(self) -> int:
        """The number of seeds that each transport was run with."""
        return max(len(arm.runs) for arm in self.arms)

    @cached_property
    def classes(self) -> list[str]:
        """The traffic classes that have messages that count, in the order of the scenario."""
        frames = [arm.counted.select("class", "seed", "start_us") for arm in self.arms]
        counted = pl.concat(frames)["class"].unique().to_list()
        order = [entry["name"] for entry in self.traffic if entry["name"] in counted]
        return order + sorted(set(counted) - set(order))

    @property
    def traffic(self) -> list[Traffic]:
        """The `[[traffic]]` tables of the scenario."""
        scenario = self.arms[0].runs[0].about.get("scenario")
        tables = scenario.get("traffic", []) if isinstance(scenario, dict) else []
        return [table for table in tables if isinstance(table, dict) and "name" in table]

    def thresholds(self, figure: str) -> dict[str, tuple[str | None, float]]:
        """Return the conditions on a figure: each condition, its class (none: all) and its threshold."""
        return {
            limit["condition"]: (limit["class"], limit["threshold"])
            for limit in self.limits
            if limit["figure"] == figure
        }

    @property
    def conditions(self) -> str:
        """How it was run, for the line below a title."""
        about = self.arms[0].runs[0].about
        parts = [] if len(self.arms) > 1 else [self.names[0]]
        if "simulated_s" in about:
            parts.append(f"{about['simulated_s']:.4g} s simulated")
        if self.seeds > 1:
            parts.append(f"{self.seeds} seeds")
        elif "seed" in about:
            parts.append(f"seed {about['seed']}")
        return ", ".join(parts)


def load(directory: Path) -> Results:
    """Read what `duetime run --out` or `duetime compare --out` wrote."""
    if (directory / "run.json").exists():
        run = load_run(directory)
        arm = Arm(str(run.about.get("transport", "run")), (run,))
        return Results(str(run.about.get("title", "")), (arm,), limits=_limits(run.about.get("limits")))
    if not (directory / "compare.json").exists():
        raise NoResults(f"{directory} holds no results: neither run.json nor compare.json is there")
    arms = []
    record = comparison(directory)
    for name in record.get("runs", {}):
        folder = directory / in_folder(name)
        seeds = sorted(folder.glob("seed-*/run.json"), key=lambda path: int(path.parent.name[5:]))
        folders = [path.parent for path in seeds] or [folder]
        arms.append(Arm(name, tuple(load_run(folder) for folder in folders)))
    if not arms:
        raise NoResults(f"{directory / 'compare.json'} names no runs")
    title = str(arms[0].runs[0].about.get("title", ""))
    return Results(title, tuple(arms), record.get("against"), _limits(record.get("limits")))


def _limits(found: Sequence[Judged] | None) -> tuple[Judged, ...]:
    return tuple(found or ())


def load_run(directory: Path) -> Run:
    """Read the folder of one run."""
    for name in ("run.json", "flows.parquet", "links.parquet"):
        if not (directory / in_folder(name)).exists():
            raise NoResults(f"{directory} is incomplete: {name} is missing")
    return Run(directory, _json(directory / "run.json", reading.saved_run))


def comparison(directory: Path) -> SavedComparison:
    """Read the object of a comparison's folder."""
    return _json(directory / "compare.json", reading.comparison)


def variants(directory: Path) -> Robustness:
    """Read the object of a folder of variants."""
    return _json(directory / "robust.json", reading.robustness)


def _json(path: Path, read: Callable[[bytes], R]) -> R:
    """The JSON object in a file."""
    try:
        found = read(manifest.content(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise NoResults(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise NoResults(f"{path} is not a JSON object")
    return found


def read(path: Path) -> pl.DataFrame:
    """The table in a file."""
    try:
        return manifest.table(path)
    except Unreadable as error:
        raise NoResults(str(error)) from error
    except OSError as error:
        raise NoResults(f"{path} cannot be read: {error}") from error
