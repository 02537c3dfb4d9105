"""Does what a paper says hold here? Claims are queries over the rows of a result."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from duetime.experiments.experiment import Claim, Experiment, Mistaken, at, expanded
from duetime.experiments.study import Row
from duetime.statistics import jackknife

NOT_MEASURED = "not measured"


def judge(
    experiment: Experiment,
    rows: Sequence[Row],
    scenario: Mapping[str, Any],
    numbers: Mapping[str, Any],
    without_seeds: Sequence[Sequence[Row]] = (),
) -> list[dict[str, Any]]:
    """Every claim of the experiment with what was measured and whether it holds.

    A query sees the rows as the table ``rows`` and the resolved scenario as ``scenario(path, value)``. One
    that gives a value without an interval gets that of the jackknife, from the rows without each seed.
    """
    tables = _tables(rows, scenario)
    without = [_tables(each, scenario) for each in without_seeds]
    try:
        return [
            _judged(claim, tables, numbers, experiment, without)
            for written in experiment.claims
            for claim in expanded(written, numbers)
        ]
    finally:
        for each in (tables, *without):
            each.close()


def _tables(rows: Sequence[Row], scenario: Mapping[str, Any]) -> sqlite3.Connection:
    tables = sqlite3.connect(":memory:")
    _fill(tables, "rows", rows)
    _fill(tables, "scenario", [{"path": path, "value": value} for path, value in _flat(scenario)])
    return tables


def paths(claim: Claim) -> list[str]:
    """Where the published numbers of a claim stand; none where the paper speaks in words."""
    given = claim.published if isinstance(claim.published, list) else [claim.published]
    return [path for path in given if "." in path and " " not in path]


def number_at(path: str, numbers: Mapping[str, Any], experiment: Experiment) -> Any:
    """A published number."""
    try:
        return at(numbers, path)
    except KeyError:
        raise Mistaken(f"{experiment.path}: nothing is published at {path}") from None


def _judged(
    claim: Claim,
    tables: sqlite3.Connection,
    numbers: Mapping[str, Any],
    experiment: Experiment,
    without: Sequence[sqlite3.Connection],
) -> dict[str, Any]:
    where = f"{experiment.path}: claim {claim.claim!r}"
    found = [number_at(path, numbers, experiment) for path in paths(claim)]
    published: Any = claim.published if not found else found[0] if len(found) == 1 else found
    measured, low, high = _measured(claim, tables, where)
    if low is None and high is None and isinstance(measured, float):
        others = [_measured(claim, each, where)[0] for each in without]
        numeric = [each for each in others if isinstance(each, int | float)]
        interval = jackknife(measured, numeric) if len(numeric) == len(others) else None
        low, high = interval or (None, None)
    holds: bool | None = None
    if measured is not None:
        values = {"published": _sql(published), "measured": measured, "low": low, "high": high}
        given = ", ".join(f":{name} as {name}" for name in values)
        answer = _ask(tables, f"select {claim.holds} from (select {given})", where, values)[0]
        holds = None if answer is None else bool(answer)
    return {
        "claim": claim.claim,
        "published": published,
        "measured": measured,
        "low": low,
        "high": high,
        "unit": claim.unit,
        "holds": holds,
        "rule": claim.rule,
        "why": claim.why.strip() if holds is False else NOT_MEASURED if holds is None else "",
    }


def _measured(claim: Claim, tables: sqlite3.Connection, where: str) -> tuple[Any, Any, Any]:
    value = _ask(tables, claim.measured, where)
    if len(value) not in (1, 3):
        raise Mistaken(
            f"{where}: `measured` gives {len(value)} columns; it takes a value, or value, low, high"
        )
    return (value[0], None, None) if len(value) == 1 else (value[0], value[1], value[2])


def _ask(
    tables: sqlite3.Connection, query: str, where: str, values: Mapping[str, Any] | None = None
) -> Sequence[Any]:
    try:
        answer = tables.execute(query, values or {}).fetchall()
    except sqlite3.Error as error:
        raise Mistaken(f"{where}: {error} in {query!r}") from None
    if len(answer) > 1:
        raise Mistaken(f"{where}: `measured` gives {len(answer)} rows instead of one")
    return answer[0] if answer else (None,)


def _fill(tables: sqlite3.Connection, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row)) or ["nothing"]
    quoted = ", ".join(f'"{column}"' for column in columns)
    tables.execute(f'create table "{name}" ({quoted})')
    marks = ", ".join("?" for _ in columns)
    tables.executemany(
        f'insert into "{name}" values ({marks})',
        ([_sql(row.get(column)) for column in columns] for row in rows),
    )


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    parts: Iterable[tuple[Any, Any]]
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value):
        parts = (
            (each.get("name", i) if isinstance(each, Mapping) else i, each) for i, each in enumerate(value)
        )
    else:
        yield path, value
        return
    for key, each in parts:
        yield from _flat(each, f"{path}.{key}" if path else str(key))


def _sql(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
