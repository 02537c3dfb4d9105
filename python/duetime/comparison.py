"""The same scenario under several transports, over several seeds, several runs at a time.

With a store each run is made once. A comparison that was stopped resumes, and one with more seeds or
transports makes only the new runs. Transports see the same traffic with the same seed, so that they can be
compared seed by seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

from duetime import controllers, errors, files, scenario
from duetime import transports as selection
from duetime._core import version
from duetime.contract.figures import at
from duetime.engine import Progress
from duetime.engine.parallel import in_threads
from duetime.engine.points import Kept, Point, finished, run_points
from duetime.engine.progress import bar
from duetime.engine.work import TABLES
from duetime.quantities import counted
from duetime.results import Bound, Result
from duetime.run import resolve, resolve_each, simulate
from duetime.statistics import merged_runs, over_seeds, paired, seeds_differ, with_trims
from duetime.tabular import ALL, bound_figures, flat
from duetime.verdict import verdicts

if TYPE_CHECKING:
    import polars as pl

    from duetime.contract import comparisons
    from duetime.contract.comparisons import Differences, OfPair, SavedComparison, Verdict
    from duetime.contract.rows import Row
    from duetime.contract.runs import Judged, Limit, Limits, OfTransport, Seeds
    from duetime.contract.scenarios import Resolved
    from duetime.plots import Picture

R = TypeVar("R", Result, list[Result])

#: Where a comparison's folder keeps finished runs.
RUNS = "runs"
#: The parts of a run's JSON that are compared figure by figure.
COMPARED = ("drops", "trims", "marks", "timeouts", "retransmits", "summary", "classes", "sets")


class Comparison(Generic[R]):
    """One scenario under several transports."""

    def __init__(
        self,
        by_seed: Mapping[str, list[Result]],
        seeds: int | None,
        interrupted: bool,
        against: str | None = None,
    ) -> None:
        """Create a comparison; only `compare` does."""
        #: Every result: transport -> one for each seed, in their order.
        self.by_seed = dict(by_seed)
        #: Whether it was compared over several seeds, and how many were asked for.
        self.seeds = seeds
        #: Whether it was stopped before all runs were done; the rest is missing here.
        self.interrupted = interrupted
        #: What became of conditions under which the comparison fails, where some were given.
        self.limits: list[Judged] = []
        #: What the others are compared with.
        self.against = against if against in self.by_seed else next(iter(self.by_seed), "")

    def __repr__(self) -> str:
        """Describe the scenario, the transports and the number of runs."""
        runs = sum(len(results) for results in self.by_seed.values())
        told = [f"{name} {found}" for name, found in self._missed() if found]
        figures = f"; missed deadlines: {', '.join(told)}" if told else ""
        return f"<Comparison of {self._title!r}: {', '.join(self.by_seed)}; {counted(runs, 'run')}{figures}>"

    def _missed(self) -> Iterator[tuple[str, str]]:
        """Yield each transport with the share that it missed, over all seeds."""
        for transport, results in self.by_seed.items():
            shares = [
                share for each in results if (share := each.data["summary"]["missed_percent"]) is not None
            ]
            yield transport, f"{sum(shares) / len(shares):.3g} %" if shares else ""

    def to_pandas(self) -> Any:
        """Return `table` as a data frame of pandas; `errors.Missing` without pandas."""
        from duetime.frames import to_pandas

        return to_pandas(self.table())

    def _repr_html_(self) -> str:
        """Show the table of ``duetime compare`` in a notebook."""
        # Loaded late: it takes time to load, and only a notebook shows it.
        from duetime.display import comparisons, grid

        return grid.html(*comparisons.table(self)) if self.by_seed else "<p>no run was finished</p>"

    def plot(self, kind: str | None = None) -> Picture:
        """Draw one of `duetime.plots.PICTURES`, by default the first that there is something for.

        Raises `KeyError` for another kind, and `errors.Missing` without matplotlib.
        """
        from duetime.plots import picture

        return picture(self.save, kind)

    @property
    def _title(self) -> str:
        return next((results[0].title for results in self.by_seed.values()), "")

    @property
    def runs(self) -> dict[str, R]:
        """Transport -> its `Result`, or with `seeds` a list of one for each seed."""
        if self.seeds is None:
            return {transport: results[0] for transport, results in self.by_seed.items()}  # type: ignore[misc]
        return {transport: list(results) for transport, results in self.by_seed.items()}  # type: ignore[misc]

    @property
    def data(self) -> comparisons.Comparison:
        """The object that ``duetime compare --json`` prints, as a dictionary."""
        found: comparisons.Comparison = {
            "runs": {transport: self._object(results) for transport, results in self.by_seed.items()},
            "bound": self._bound,
            "against": self.against,
            "differences": self._differences,
            "verdicts": self.verdicts,
        }
        if self.limits:
            found["limits"] = self.limits
        return found

    @property
    def verdicts(self) -> list[Verdict]:
        """Transports that do better than `against`, if seeds can tell, and by how much: ``sentence`` each."""
        summaries = {
            transport: [result.data["summary"] for result in results]
            for transport, results in self.by_seed.items()
        }
        differ = any(seeds_differ([result.data for result in results]) for results in self.by_seed.values())
        seed = next((results[0].seed for results in self.by_seed.values()), None)
        return verdicts(self.against, summaries, self._differences, seeds_differ=differ, seed=seed)

    def differences(self, against: str | None = None) -> pl.DataFrame:
        """The differences of each transport to `against`: one row per transport, class and figure.

        Differences are taken seed by seed, so that effects common to a seed cancel. ``low`` and ``high`` are
        the ends of the 95 % confidence interval of ``difference``; null with fewer than two seeds.
        """
        from duetime.frames import pl

        rows: list[dict[str, object]] = []
        against = against or self.against
        for transport, parts in self._against(against).items():
            named: dict[str, Mapping[str, object]] = {"all": parts["summary"]}
            named |= {
                f"class {ALL}" if name == ALL else name: part for name, part in parts["classes"].items()
            }
            for of_class, part in named.items():
                rows += [
                    {"transport": transport, "against": against, "class": of_class, **figure}
                    for figure in _figures(part)
                ]
        schema: dict[str, type[pl.DataType]] = {
            **dict.fromkeys(("transport", "against", "class", "figure"), pl.String),
            **dict.fromkeys(("difference", "low", "high"), pl.Float64),
        }
        return pl.DataFrame(rows, schema=schema)

    @cached_property
    def _differences(self) -> dict[str, OfPair]:
        return self._against(self.against)

    def _against(self, against: str) -> dict[str, OfPair]:
        if not self.by_seed:
            return {}
        if against not in self.by_seed:
            raise KeyError(f"{against} was not compared; there are {', '.join(self.by_seed)}")
        others = {result.seed: result.data for result in self.by_seed[against]}
        found: dict[str, OfPair] = {}
        for transport, results in self.by_seed.items():
            pairs = [(result.data, others[result.seed]) for result in results if result.seed in others]
            if transport == against or not pairs:
                continue
            both = with_trims([run for pair in pairs for run in pair])
            compared = [
                {key: run.get(key) for key in COMPARED if key != "trims" or key in run} for run in both
            ]
            merged = cast("Differences[Seeds, Seeds]", paired(compared[::2], compared[1::2]))
            found[transport] = _of_one_seed(merged) if self.seeds is None else merged
        return found

    @property
    def bound(self) -> Bound | None:
        """How few deadlines any schedule can miss, as in `Result.bound`; with `seeds` means, as everywhere.

        Transports that differ in their headers can differ in this too: the least counts, for each seed.
        """
        return Bound.of(self._bound)

    @property
    def _bound(self) -> Limits[int, float] | Limits[Seeds, Seeds] | None:
        of_seeds: dict[int, list[Limits[int, float]]] = {}
        for results in self.by_seed.values():
            for result in results:
                bound = result.data["bound"]
                of_seeds.setdefault(result.seed, []).extend([bound] if bound else [])
        least = {seed: _least(bounds) for seed, bounds in of_seeds.items()}
        if self.seeds is None or not least:
            return next(iter(least.values()), None)
        merged = over_seeds([{"seed": seed, "bound": bound} for seed, bound in least.items()])
        return cast("Limits[Seeds, Seeds] | None", merged["bound"])

    def json(self) -> str:
        """Return the JSON object of ``duetime compare --json``."""
        return json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)

    def table(self) -> pl.DataFrame:
        """One row per transport and class ("all" first), means over the seeds, with ``_low`` and ``_high``.

        The last two are the ends of the 95 % confidence interval and are there with `seeds` only.
        ``bound_missed`` and ``bound_missed_percent`` are the figures of `bound`.
        """
        from duetime.frames import pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def rows(self) -> list[Row]:
        """Return the rows of `table`."""
        rows: list[Row] = []
        data = self.data
        bound = data["bound"]
        for transport, figures in data["runs"].items():
            rows.append(
                {"transport": transport, "class": ALL, **flat({**figures["summary"]}), **bound_figures(bound)}
            )
            for name, part in figures["classes"].items():
                least = bound_figures(bound["classes"].get(name) if bound else None)
                rows.append({"transport": transport, "class": name, **flat({**part}), **least})
        return rows

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder for each transport (and in it one for each seed) and ``compare.json``.

        All of it appears at once or not at all, as with `Result.save`. Finished runs that are kept in it, in
        ``runs``, stay there.
        """
        with files.replacing(Path(folder), keep=RUNS) as aside:
            for transport, results in self.by_seed.items():
                for result in results:
                    part = aside / selection.in_folder(transport)
                    if self.seeds is not None:
                        part /= f"seed-{result.seed}"
                    part.mkdir(parents=True)
                    result.write(part)
            record: SavedComparison = {"version": version(), "interrupted": self.interrupted, **self.data}
            (aside / "compare.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return Path(folder)

    def _object(self, results: list[Result]) -> OfTransport:
        return results[0].data if self.seeds is None else merged_runs([result.data for result in results])


#: A comparison without or with seeds.
AnyComparison: TypeAlias = Comparison[Result] | Comparison[list[Result]]


def comparison_of(
    by_seed: Mapping[str, list[Result]], seeds: int | None, interrupted: bool, against: str | None
) -> AnyComparison:
    """Return a comparison of these results."""
    if seeds is None:
        return Comparison[Result](by_seed, seeds, interrupted, against)
    return Comparison[list[Result]](by_seed, seeds, interrupted, against)


@overload
def compare(
    source: scenario.Source,
    transports: Sequence[controllers.Transport],
    *,
    seeds: None = None,
    jobs: int | None = None,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    against: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Comparison[Result]: ...
@overload
def compare(
    source: scenario.Source,
    transports: Sequence[controllers.Transport],
    *,
    seeds: int,
    jobs: int | None = None,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    against: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Comparison[list[Result]]: ...
def compare(
    source: scenario.Source,
    transports: Sequence[controllers.Transport],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    against: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> AnyComparison:
    """Simulate a scenario under each of `transports`, `jobs` runs at a time (default: one for each core).

    With `seeds` every transport runs with that many seeds, counted up from `seed` or else the scenario's,
    and every figure gets a mean and a 95 % confidence interval. The others are compared with `against`, by
    default the first. Finished runs are kept in the folder `store`, if one is named, and not made again.
    `progress` shows a bar: by default in a notebook only, with True on a terminal too, with False nowhere.
    `source`, `seed`, `set` and the errors are the same as for `run`. A transport is a name, the path of a
    plug-in, or a class (`controller`); settings of its keys may follow: ``d2tcp:d_cap=4``, ``mine.wasm``.
    """
    plan = prepare(scenario.read(source), transports, seeds=seeds, seed=seed, set=set, against=against)
    kept = None if store is None else Path(store)
    comparison = plan.carry_out(jobs, progress, store=kept)
    if comparison.interrupted:
        raise KeyboardInterrupt
    return comparison


@dataclass(frozen=True)
class Plan:
    """A comparison of which every run was checked and none was made."""

    read: scenario.Scenario
    #: Name of the transport and seed of each run.
    tasks: list[tuple[str, int]]
    #: The transports by their names in tables; None is the scenario's own.
    transports: dict[str, str | None]
    seeds: int | None
    changes: scenario.Changes | None
    #: The scenario under the first transport, with every default filled in.
    resolved: Resolved
    #: Transport -> what the reader should know of the scenario under it.
    notes: dict[str, list[str]]

    #: What the others are compared with.
    against: str

    def carry_out(
        self,
        jobs: int | None,
        progress: bool | None,
        *,
        store: Path | None = None,
        cluster: str | None = None,
    ) -> AnyComparison:
        """Run everything; Ctrl-C stops it, and finished runs are kept.

        With a store, the same call resumes from there.
        """
        if store is not None:
            return self._from(store, jobs, progress, cluster)

        def one(number: int, progress: Progress) -> Result:
            name, seed = self.tasks[number]
            return simulate(self.read, seed, self.changes, self.transports[name], progress)

        results: dict[int, Result] = {}
        with bar(len(self.tasks), progress) as shown:
            interrupted = in_threads(
                len(self.tasks), one, jobs=jobs, follow=shown.follow, finished=results.__setitem__
            )
        return comparison_of(self._in_order(results), self.seeds, interrupted, self.against)

    def _from(
        self, store: Path, jobs: int | None, progress: bool | None, cluster: str | None
    ) -> AnyComparison:
        changes = tuple(scenario.changes(self.changes))
        points = [Point(self.read, changes, self.transports[name], seed) for name, seed in self.tasks]
        try:
            made = run_points(
                points, store=store, jobs=jobs, cluster=cluster, tables=TABLES, progress=progress
            )
            kept, interrupted = dict(enumerate(made)), False
        except KeyboardInterrupt:
            kept, interrupted = finished(points, store=store, tables=TABLES), True
        failed = next((each.error for each in kept.values() if each.error is not None), None)
        if failed is not None:
            raise errors.Unreadable(failed.removeprefix("error: "))
        results = {number: _result(each) for number, each in kept.items()}
        return comparison_of(self._in_order(results), self.seeds, interrupted, self.against)

    def _in_order(self, results: Mapping[int, Result]) -> dict[str, list[Result]]:
        by_seed: dict[str, list[Result]] = {}
        for number in sorted(results):
            by_seed.setdefault(self.tasks[number][0], []).append(results[number])
        return {transport: by_seed[transport] for transport in self.transports if transport in by_seed}


def prepare(
    read: scenario.Scenario,
    transports: Sequence[controllers.Transport],
    *,
    seeds: int | None,
    seed: int | None,
    set: scenario.Changes | None,
    against: str | None = None,
) -> Plan:
    """Check every run of a comparison, so that a mistake shows before the first one starts."""
    if isinstance(transports, str):
        raise TypeError("`transports` is a list of names, not one text")
    if not transports:
        raise errors.Unreadable("no transports to compare")
    texts = [controllers.text(each) for each in transports]
    chosen = selection.named(selection.located(texts, read.folder))
    if against is not None:
        against = selection.chosen(against, chosen, "the transports that are compared")
    if seeds is not None and seeds < 1:
        raise errors.Unreadable(f"{seeds} seeds: at least one is needed")
    if (seeds or 1) * len(transports) > scenario.MAX_RUNS:
        runs = f"{seeds or 1} seeds of {len(transports)} transports"
        raise errors.Unreadable(f"{runs}: a comparison has at most {scenario.MAX_RUNS} runs")
    checked = resolve_each(read, seed, set, list(chosen.values()))
    resolved = checked[next(iter(chosen.values()))][0]
    # Seed by seed, so that an interrupted comparison has the same seeds of each transport.
    tasks = [(name, each) for each in _seeds_from(resolved, seeds or 1) for name in chosen]
    notes = {name: checked[transport][1] for name, transport in chosen.items()}
    own: dict[str, str | None] = {**chosen}
    return Plan(read, tasks, own, seeds, set, resolved, notes, against or next(iter(chosen)))


def prepare_seeds(
    read: scenario.Scenario,
    transport: str | None,
    *,
    seeds: int,
    seed: int | None,
    set: scenario.Changes | None,
) -> Plan:
    """Check the runs of one transport, or of the scenario's own, with several seeds."""
    resolved, notes = resolve(read, seed, set, transport)
    own = resolved.get("transport")
    # Without a table [transport] every class has its own.
    classes = (at(each, ("transport", "name")) for each in resolved["traffic"])
    name = str(own["name"]) if own else ", ".join(dict.fromkeys(str(each) for each in classes if each))
    if transport is not None:
        name = selection.label(transport)
    if seeds > scenario.MAX_RUNS:
        raise errors.Unreadable(f"{seeds} seeds: a command has at most {scenario.MAX_RUNS} runs")
    tasks = [(name, each) for each in _seeds_from(resolved, seeds)]
    return Plan(read, tasks, {name: transport}, seeds, set, resolved, {name: notes}, name)


def _seeds_from(resolved: Resolved, seeds: int) -> range:
    """Return the seeds of a scenario's runs; `Unreadable` if the last is beyond the largest."""
    first = int(resolved["run"]["seed"])
    if first + seeds - 1 > scenario.LAST_SEED:
        raise errors.Unreadable(f"{seeds} seeds from {first} go beyond {scenario.LAST_SEED}")
    return range(first, first + seeds)


def _result(kept: Kept) -> Result:
    """A run from the store, in the form of one that was just made."""
    contract = json.dumps({**kept.result, "wall_s": None}, separators=(",", ":"), ensure_ascii=False)
    return Result(contract, json.dumps(kept.scenario), list(kept.notes), _Stored(kept))


class _Stored:
    """The tables of a run in a store."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept

    def flows(self) -> pl.DataFrame:
        return self.kept.table("flows")

    def queries(self) -> pl.DataFrame:
        return self.kept.table("queries")

    def requests(self) -> pl.DataFrame:
        return self.kept.table("requests")

    def pieces(self) -> pl.DataFrame:
        return self.kept.table("pieces")

    def links(self) -> pl.DataFrame:
        return self.kept.table("links")

    def trace(self) -> pl.DataFrame:
        return self.kept.table("trace")


def _of_one_seed(merged: Differences[Seeds, Seeds]) -> Differences[int, float]:
    """Return differences of one seed as plain numbers, as the figures of one run are."""
    return cast("Differences[int, float]", _only_values(merged))


def _only_values(part: object) -> object:
    if isinstance(part, dict) and "ci95" in part:
        return part["mean"]
    return {key: _only_values(value) for key, value in part.items()} if isinstance(part, dict) else part


def _figures(part: Mapping[str, object], prefix: str = "") -> list[dict[str, object]]:
    """Each difference of a part with its interval, under the name of its column."""
    rows: list[dict[str, object]] = []
    for key, value in part.items():
        name = _joined(prefix, key)
        if isinstance(value, dict) and "ci95" not in value:
            rows += _figures(value, name)
        elif isinstance(value, dict):
            low, high = value["ci95"]
            rows.append({"figure": name, "difference": value["mean"], "low": low, "high": high})
        elif value is not None:
            rows.append({"figure": name, "difference": value, "low": None, "high": None})
    return rows


def _least(bounds: Sequence[Limits[int, float]]) -> Limits[int, float] | None:
    """Return the lowest of several bounds of the same messages, and of each class the lowest."""
    if not bounds:
        return None

    def missed(bound: Limit[int, float] | None) -> float:
        return bound["missed"] if bound else 0

    names = bounds[0]["classes"]
    return {
        **min(bounds, key=missed),
        "classes": {name: min((each["classes"][name] for each in bounds), key=missed) for name in names},
    }


def _joined(prefix: str, key: str) -> str:
    return f"{prefix}_{key}" if prefix else key
