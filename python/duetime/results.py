"""The result of a run: the JSON object, the tables, and their files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from duetime import files, manifest
from duetime._core import version
from duetime.contract import reading
from duetime.contract.figures import at

if TYPE_CHECKING:
    import polars as pl

    from duetime._core import _Column as Column
    from duetime.contract.runs import ClassSummary, Limits, Run, SavedRun, Seeds, Summary
    from duetime.contract.scenarios import Resolved
    from duetime.plots import Picture


#: The tables of a run.
TABLES = ("flows", "queries", "requests", "pieces", "links", "trace")
#: The tables that are written without rows too.
ALWAYS = {"flows", "links"}


class Tables(Protocol):
    """The source of the tables of a result."""

    def flows(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def queries(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def requests(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def pieces(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def links(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def trace(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102


class Bound(dict[str, Any]):
    """The fewest deadlines that any schedule misses: a dictionary that a notebook shows as a table."""

    @classmethod
    def of(cls, found: Limits[int, float] | Limits[Seeds, Seeds] | None) -> Bound | None:
        """Return the bound of a run's JSON object under ``bound``."""
        return None if found is None else cls(found)

    def __repr__(self) -> str:
        """Give the figures in a line; the dictionary has them by class."""
        return f"<Bound: {brief(self)}; classes {', '.join(self['classes'])}>"

    def _repr_html_(self) -> str:
        # Loaded late: it takes time to load, and only a notebook shows it.
        from duetime.display import bounds, grid

        return grid.html(*bounds.table("", cast("Limits[int, float]", self)))


class Result:
    """The result of one run.

    The figures are the same as in ``duetime run --json``; each name ends with its unit. Percentiles
    interpolate linearly between ranks, as numpy does.
    """

    def __init__(self, contract: str, resolved: str, notes: list[str], tables: Tables) -> None:
        """Made by `duetime.run` and `duetime.load`."""
        self._contract = contract
        self._tables = tables
        #: What ``duetime run --json`` prints, as a dictionary.
        self.data: Run[int, float] = reading.run(contract)
        #: The scenario with every default filled in.
        self.scenario: Resolved = reading.resolved(resolved)
        #: What the reader should know of the scenario: dropped keys and the like.
        self.notes = notes

    def __repr__(self) -> str:
        """Say which run it is, with the figures that are looked at first."""
        return (
            f"<Result of {self.title!r}: {self.transport}, seed {self.seed}; {brief(self.data['summary'])}>"
        )

    def _repr_html_(self) -> str:
        """Show the table of ``duetime run`` in a notebook."""
        # Loaded late: it takes time to load, and only a notebook shows it.
        from duetime.display import grid, runs

        return grid.html(*runs.table(self))

    def __reduce__(self) -> tuple[type[Result], tuple[str, str, list[str], Tables]]:
        """Pickle and copy it with its tables, which the engine makes when they are first asked for."""
        held = Held({name: getattr(self, name) for name in TABLES})
        return Result, (self._contract, json.dumps(self.scenario), self.notes, held)

    def plot(self, kind: str | None = None) -> Picture:
        """Draw one of `duetime.plots.PICTURES`, by default the first that there is something for.

        Raises `KeyError` for another kind, and `errors.Missing` without matplotlib.
        """
        from duetime.plots import picture

        return picture(self.save, kind)

    def json(self) -> str:
        """Return the JSON object of ``duetime run --json``."""
        return self._contract

    def to_pandas(self, table: str = "flows") -> Any:
        """Return one of the tables as a data frame of pandas; `errors.Missing` without pandas."""
        from duetime.frames import to_pandas

        if table not in TABLES:
            raise KeyError(f"there is no table {table!r}; there are {', '.join(TABLES)}")
        return to_pandas(getattr(self, table))

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return str(self.data["title"])

    @property
    def transport(self) -> str:
        """The name of ``[transport]``."""
        return str(self.data["transport"])

    @property
    def seed(self) -> int:
        """The seed of all random draws."""
        return int(self.data["seed"])

    @property
    def summary(self) -> Summary[int, float]:
        """The figures over all classes."""
        return self.data["summary"].copy()

    @property
    def classes(self) -> dict[str, ClassSummary[int, float]]:
        """The figures of each class, by its name."""
        return dict(self.data["classes"])

    @property
    def sets(self) -> dict[str, Summary[int, float]]:
        """The figures of each ``set`` of classes, by its name; empty without sets."""
        return dict(self.data.get("sets", {}))

    @property
    def bound(self) -> Bound | None:
        """How few deadlines any schedule of the same messages can miss; None without deadlines.

        ``missed`` and ``missed_percent``, whose links say so (``side``), how it was found (``method``), and
        the same for each of the ``classes`` as if there were no other.
        """
        return Bound.of(self.data.get("bound"))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per message, in order of their start.

        Times are in us, ``deadline_us`` is the allowed time from the start. ``missed`` is null without a
        deadline and where the run ended before it; ``counted`` is false for what the summaries leave out.
        """
        return _frame(self._tables.flows())

    @cached_property
    def queries(self) -> pl.DataFrame:
        """One row per query of fan-in classes, in order of their start; empty without such classes.

        ``answers`` counts the answers of leaves, ``in_time`` how many reached the parent that asks in time.
        Times are in us from the query's start: ``deadline_us`` is when the last answer is due,
        ``completion_us`` when the last arrived, null where one did not. ``met`` and ``completion_us`` are
        null for queries that the summaries leave out.
        """
        return _frame(self._tables.queries())

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row per request of classes of stages, by class and in order of arrival; empty without any.

        Times are in us, from the start of the run where they are an arrival or an end. ``goal:NAME`` says
        whether the goal was reached in time, and ``end_us:NAME`` when the stage had ended.
        """
        return _frame(self._tables.requests())

    @cached_property
    def pieces(self) -> pl.DataFrame:
        """One row per message and work of requests of classes with ``pieces = true``; empty without any."""
        return _frame(self._tables.pieces())

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link direction with the port that feeds it: totals, and its queue in packets."""
        return _frame(self._tables.links())

    @cached_property
    def trace(self) -> pl.DataFrame:
        """One row per sample of ``run.trace``, empty without one.

        Throughput is in Mbit/s, cwnd in segments, srtt in us, queue in packets; ``message`` is the row in
        `flows`.
        """
        return _frame(self._tables.trace())

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the tables, each as Parquet, and ``run.json``.

        ``queries.parquet`` is there with fan-in classes, ``requests.parquet`` with classes of stages,
        ``pieces.parquet`` where one of these keeps them, ``trace.parquet`` if something was traced.

        The folder appears as a whole or not at all. A former result in it is replaced; `errors.Refused` (an
        `OSError`) is raised for anything else that is there.
        """
        with files.replacing(Path(folder)) as aside:
            self.write(aside)
        return Path(folder)

    def write(self, folder: Path) -> None:
        """Write the files into an existing folder."""
        for name in TABLES:
            table: pl.DataFrame = getattr(self, name)
            if table.height or name in ALWAYS:
                (folder / f"{name}.parquet").write_bytes(files.table(table))
        self.write_record(folder)

    def write_record(self, folder: Path) -> None:
        """Write ``run.json`` into an existing folder, beside the tables."""
        record: SavedRun = {"version": version(), **self.data, "notes": self.notes, "scenario": self.scenario}
        (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def load_run(folder: Path) -> Result:
    """Read a result that `Result.save` or ``duetime run --out`` wrote."""
    record = reading.saved_run(manifest.content(folder / "run.json"))
    apart = ("version", "notes", "scenario")
    run = {key: value for key, value in record.items() if key not in apart}
    contract = json.dumps(run, separators=(",", ":"), ensure_ascii=False)
    return Result(contract, json.dumps(record["scenario"]), record["notes"], Saved(folder))


#: The figures of a line about a result: their path, and how they are written with their value.
BRIEF: tuple[tuple[tuple[str, ...], str], ...] = (
    (("messages",), "{:,} messages"),
    (("missed",), "{:,} missed"),
    (("missed_percent",), "{:.3g} % missed"),
    (("requests", "all_goals_percent"), "{:.3g} % of requests in time"),
    (("fct_us", "p99"), "FCT p99 {:,.4g} us"),
    (("slowdown", "p99"), "slowdown p99 {:.3g}"),
    (("goodput_mbps",), "goodput {:,.4g} Mbps"),
)


def brief(part: Mapping[str, object]) -> str:
    """Put the first figures of a summary or of a bound into a line; unknown ones are left out."""
    # A summary has the share of its messages that missed, a bound has no number of messages.
    wanted = [(path, text) for path, text in BRIEF if path != ("missed",) or "messages" not in part]
    found = [(at(part, path), text) for path, text in wanted]
    known = [text.format(value) for value, text in found if isinstance(value, int | float)]
    return ", ".join(known[:4])


class Held:
    """Tables that are at hand."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Keep these tables by name."""
        self.tables = dict(tables)

    def flows(self) -> pl.DataFrame:  # noqa: D102
        return self.tables["flows"]

    def queries(self) -> pl.DataFrame:  # noqa: D102
        return self.tables["queries"]

    def requests(self) -> pl.DataFrame:  # noqa: D102
        return self.tables["requests"]

    def pieces(self) -> pl.DataFrame:  # noqa: D102
        return self.tables["pieces"]

    def links(self) -> pl.DataFrame:  # noqa: D102
        return self.tables["links"]

    def trace(self) -> pl.DataFrame:  # noqa: D102
        return self.tables["trace"]


class Saved:
    """Tables that are read from a folder when they are used."""

    def __init__(self, folder: Path) -> None:
        """Refer to a result that was written to `folder`."""
        self.folder = folder

    def flows(self) -> pl.DataFrame:  # noqa: D102
        return self._read("flows")

    def queries(self) -> pl.DataFrame:  # noqa: D102
        return self._read("queries")

    def requests(self) -> pl.DataFrame:  # noqa: D102
        return self._read("requests")

    def pieces(self) -> pl.DataFrame:  # noqa: D102
        return self._read("pieces")

    def links(self) -> pl.DataFrame:  # noqa: D102
        return self._read("links")

    def trace(self) -> pl.DataFrame:  # noqa: D102
        return self._read("trace")

    def _read(self, name: str) -> pl.DataFrame:
        from duetime.frames import pl

        path = self.folder / f"{name}.parquet"
        return manifest.table(path) if path.exists() else pl.DataFrame()


def _frame(table: Mapping[str, Column] | pl.DataFrame) -> pl.DataFrame:
    from duetime.frames import pl

    if isinstance(table, pl.DataFrame):
        return table
    return pl.DataFrame([_series(name, column) for name, column in table.items()])


def _series(name: str, column: Column) -> pl.Series:
    import numpy as np

    from duetime.frames import pl

    dtype, values, valid, words = column
    series = pl.Series(name, np.frombuffer(values, dtype))
    if valid is not None:
        mask = pl.Series(np.frombuffer(valid, "bool"))
        series = series.to_frame().select(pl.when(mask).then(pl.col(name)).alias(name)).to_series()
    if words is not None:
        series = pl.Series(name, words, dtype=pl.String).gather(series)
    return series
