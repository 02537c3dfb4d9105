"""Folders of `duetime reproduce`: a `result.json` for each experiment, at any depth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from duetime import manifest
from duetime.contract import experiments as contract
from duetime.contract import reading
from duetime.contract.rows import Row
from duetime.errors import NoReport
from duetime.experiments.verdicts import status
from duetime.report.model import Axis, Chart, Claim, Experiment, Place, Point, Series, Table

#: A table of rows that no chart shows is cut here.
ROWS = 500
#: How an experiment was run.
SHOWN = ("scale", "regime", "seeds", "runs")


def read(folder: Path) -> list[Experiment]:
    """The experiments below `folder`, ordered by their id, numbers by their value."""
    paths = sorted(folder.rglob("result.json"))
    for path in paths:
        manifest.check(path.parent)
    return in_order(_experiment(path) for path in paths)


def in_order(found: Iterable[Experiment]) -> list[Experiment]:
    """Return experiments ordered by their id, numbers by their value."""
    return sorted(found, key=lambda experiment: _natural(experiment.id))


def _experiment(path: Path) -> Experiment:
    try:
        record = reading.reproduction(manifest.content(path))
    except (OSError, ValueError) as error:
        raise NoReport(f"{path}: cannot be read: {error}") from error
    try:
        return understood(record)
    except KeyError as error:
        raise NoReport(f"{path}: the key {error} is missing") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise NoReport(f"{path}: is not what `duetime reproduce` writes: {error}") from error


def understood(record: contract.Reproduction) -> Experiment:
    """Return an experiment from the object of its ``result.json``."""
    rows = record["rows"]
    charts = tuple(chart(drawn, rows) for drawn in record.get("charts", ()))
    facts = {name: value for name, value in record.items() if name in SHOWN and value is not None}
    return Experiment(
        id=str(record["id"]),
        title=str(record["title"]),
        source=str(record.get("source") or ""),
        question=str(record.get("question") or ""),
        finding=str(record.get("finding") or ""),
        facts={name: facts[name] for name in SHOWN if name in facts},
        charts=tuple(each for each in charts if each.series),
        table=None if any(each.series for each in charts) else _table(rows),
        claims=tuple(_claim(claim) for claim in record["claims"]),
        notes=tuple(str(note) for note in record.get("notes", ())),
        parameters=dict(_flat(record.get("parameters") or {})),
        versions=dict(record.get("versions") or {}),
        scenario=str(record.get("scenario") or ""),
    )


def chart(drawn: contract.Chart, rows: Iterable[Row]) -> Chart:
    """One chart: the rows that `where` selects, a series for each value of the series' column."""
    x, y, where = drawn["x"], drawn["y"], drawn.get("where") or {}
    series = drawn.get("series")
    by = series.get("column") if series else None
    measured: dict[str, list[Point]] = {}
    for row in rows:
        value = _number(row.get(y["column"]))
        if value is None or any(row.get(column) != wanted for column, wanted in where.items()):
            continue
        name = str(row[by]) if by else str(y.get("label", y["column"]))
        measured.setdefault(name, []).append(
            Point(
                _place(row[x["column"]]),
                value,
                _number(row.get(y.get("low", ""))),
                _number(row.get(y.get("high", ""))),
            )
        )
    published: dict[str, list[Point]] = {}
    for point in drawn.get("published") or ():
        published.setdefault(str(point["series"]), []).append(
            Point(
                _place(point["x"]),
                float(str(point["y"])),
                label=str(point.get("label") or ""),
                bound=str(point.get("bound") or ""),
            )
        )
    names = list(dict.fromkeys([*measured, *published]))
    words = any(
        isinstance(point.x, str) for points in (*measured.values(), *published.values()) for point in points
    )
    return Chart(
        title=str(drawn.get("title") or ""),
        kind=drawn.get("kind", "line"),
        x=_axis(x),
        y=_axis(y),
        series=tuple(
            Series(name, _settled(measured.get(name, ()), words), _settled(published.get(name, ()), words))
            for name in names
        ),
    )


def _axis(axis: contract.Axis) -> Axis:
    unit = str(axis.get("unit") or "")
    return Axis(str(axis.get("label") or axis["column"]), unit, signed=unit == "points")


def _place(value: object) -> Place:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return float(value)


def _number(value: object) -> float | None:
    """Return a number; None for a missing value, also where JSON says NaN."""
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"a number is expected, not {value!r}")
    return None if value is None or not math.isfinite(value) else float(value)


def _settled(points: Iterable[Point], words: bool) -> tuple[Point, ...]:
    """Numbers in their order; where any place is a word, all of them are."""
    if words:
        return tuple(replace(point, x=_word(point.x)) for point in points)
    return tuple(sorted(points, key=lambda point: point.x))


def _word(place: Place) -> str:
    return place if isinstance(place, str) else f"{place:g}"


def _claim(claim: contract.Claim) -> Claim:
    holds = claim["holds"]
    if holds not in (True, False, None):
        raise ValueError(f"a claim holds true, false or null, not {holds!r}")
    return Claim(
        str(claim["claim"]),
        claim.get("published"),
        claim.get("measured"),
        holds,
        why=str(claim.get("why") or ""),
        rule=str(claim.get("rule") or ""),
        unit=str(claim.get("unit") or ""),
        low=_number(claim.get("low")),
        high=_number(claim.get("high")),
        status=status(claim),
        kind=str(claim.get("kind") or "claim"),
        fact=str(claim.get("fact") or ""),
        beside=claim.get("beside") or None,
    )


def _flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested tables as one of dotted keys; entries of a list of tables are keyed by name or number."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        value = {str(each.get("name", number)): each for number, each in enumerate(value)}
    if not isinstance(value, dict):
        yield path, value
        return
    for key, each in value.items():
        yield from _flat(each, f"{path}.{key}" if path else str(key))


def _table(rows: list[Row]) -> Table | None:
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    if not columns:
        return None
    shown = tuple(tuple(row.get(column) for column in columns) for row in rows[:ROWS])
    return Table(columns, shown, len(rows))


def _natural(text: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", text)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
