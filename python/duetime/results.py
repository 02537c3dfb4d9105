"""What came of a run: the JSON object, the tables, and their files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from duetime import files
from duetime._core import version

if TYPE_CHECKING:
    import polars as pl

    from duetime._core import _Column as Column


class Tables(Protocol):
    """Where the tables of a result come from."""

    def flows(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def queries(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def links(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102
    def trace(self) -> Mapping[str, Column] | pl.DataFrame: ...  # noqa: D102


class Result:
    """What came of one run.

    The figures are those of ``duetime run --json``; each name ends with its unit. Percentiles interpolate
    linearly between ranks, as numpy does.
    """

    def __init__(self, contract: str, resolved: str, notes: list[str], tables: Tables) -> None:
        """Made by `duetime.run` and `duetime.load`."""
        self._contract = contract
        self._tables = tables
        #: What ``duetime run --json`` prints, as a dictionary.
        self.data: dict[str, Any] = json.loads(contract)
        #: The scenario with every default filled in.
        self.scenario: dict[str, Any] = json.loads(resolved)
        #: What the reader should know of the scenario: dropped keys and the like.
        self.notes = notes

    def __repr__(self) -> str:
        """Say which run it is."""
        return f"<Result of {self.title!r}: {self.transport}, seed {self.seed}>"

    def json(self) -> str:
        """Give the JSON object of ``duetime run --json``."""
        return self._contract

    @property
    def title(self) -> str:
        """The scenario's title."""
        return str(self.data["title"])

    @property
    def transport(self) -> str:
        """The name of ``[transport]``."""
        return str(self.data["transport"])

    @property
    def seed(self) -> int:
        """What everything random was drawn from."""
        return int(self.data["seed"])

    @property
    def summary(self) -> dict[str, Any]:
        """The figures over all classes."""
        return dict(self.data["summary"])

    @property
    def classes(self) -> dict[str, dict[str, Any]]:
        """The figures of each class, by its name."""
        return dict(self.data["classes"])

    @property
    def sets(self) -> dict[str, dict[str, Any]]:
        """The figures of each ``set`` of classes, by its name; empty without sets."""
        return dict(self.data.get("sets", {}))

    @property
    def bound(self) -> dict[str, Any] | None:
        """How few deadlines any schedule of the same messages can miss; None without deadlines.

        ``missed`` and ``missed_percent``, whose links say so (``side``), how it was found (``method``), and
        the same for each of the ``classes`` as if there were no other.
        """
        found: dict[str, Any] | None = self.data.get("bound")
        return found

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

        ``answers`` are those of leaves, ``in_time`` how many reached the parent that asks in time. Times are
        in us from the query's start: ``deadline_us`` is when the last answer is due, ``completion_us`` when
        the last came, null where one did not. ``met`` and ``completion_us`` are null for queries that the
        summaries leave out.
        """
        return _frame(self._tables.queries())

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

        ``queries.parquet`` is there with fan-in classes, ``trace.parquet`` if something was traced.

        The folder appears as a whole or not at all. A former result in it is replaced; `files.Refused` (an
        `OSError`) is raised for anything else that is there.
        """
        with files.replacing(Path(folder)) as aside:
            self.write(aside)
        return Path(folder)

    def write(self, folder: Path) -> None:
        """Write the files into an existing folder."""
        self.flows.write_parquet(folder / "flows.parquet")
        if self.queries.height:
            self.queries.write_parquet(folder / "queries.parquet")
        self.links.write_parquet(folder / "links.parquet")
        if self.trace.height:
            self.trace.write_parquet(folder / "trace.parquet")
        record = {"version": version(), **self.data, "notes": self.notes, "scenario": self.scenario}
        (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def load(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` or ``duetime run --out`` wrote.

    A comparison holds one such folder for each transport, and in it for each seed; of the comparison itself,
    and of any other folder, this raises `FileNotFoundError`.
    """
    if not (Path(folder) / "run.json").exists():
        raise FileNotFoundError(f"{folder}: holds no result of one run (no run.json){_inside(Path(folder))}")
    record = json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))
    scenario, notes = record.pop("scenario"), record.pop("notes")
    del record["version"]
    contract = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    return Result(contract, json.dumps(scenario), notes, _Saved(Path(folder)))


def _inside(folder: Path) -> str:
    inside = sorted(str(path.parent) for path in folder.glob("**/run.json"))
    return f"; these do: {', '.join(inside[:5])}" if inside else ""


class _Saved:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def flows(self) -> pl.DataFrame:
        return self._read("flows")

    def queries(self) -> pl.DataFrame:
        return self._read("queries")

    def links(self) -> pl.DataFrame:
        return self._read("links")

    def trace(self) -> pl.DataFrame:
        return self._read("trace")

    def _read(self, name: str) -> pl.DataFrame:
        import polars as pl

        path = self.folder / f"{name}.parquet"
        return pl.read_parquet(path) if path.exists() else pl.DataFrame()


def _frame(table: Mapping[str, Column] | pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    if isinstance(table, pl.DataFrame):
        return table
    return pl.DataFrame([_series(name, column) for name, column in table.items()])


def _series(name: str, column: Column) -> pl.Series:
    import numpy as np
    import polars as pl

    dtype, values, valid, words = column
    series = pl.Series(name, np.frombuffer(values, dtype))
    if valid is not None:
        mask = pl.Series(np.frombuffer(valid, "bool"))
        series = series.to_frame().select(pl.when(mask).then(pl.col(name)).alias(name)).to_series()
    if words is not None:
        series = pl.Series(name, words, dtype=pl.String).gather(series)
    return series
