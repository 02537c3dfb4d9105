"""Does what a paper says hold here? Claims are queries over the rows of a result."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from duetime.experiments.experiment import Claim, Experiment, Mistaken, at, expanded, facts, regimes
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
    """Every claim of the experiment with what was measured, whether it holds, and what that is worth.

    A query sees the rows of a regime as the table ``rows``, and the resolved scenario as
    ``scenario(path, value)``. With a regime beside the experiment's own, each claim is judged in both. A
    query that gives a value without an interval gets that of the jackknife, from the rows without each seed.
    """
    claims = [claim for written in experiment.claims for claim in expanded(written, numbers)]
    judged, *others = [
        _in_regime(
            experiment,
            claims,
            _tables(of_regime(rows, regime), scenario),
            [_tables(of_regime(each, regime), scenario) for each in without_seeds],
            numbers,
        )
        for regime in experiment.regimes
    ]
    known = facts(experiment.root)
    for claim in claims:
        if claim.fact and claim.fact not in known:
            raise Mistaken(f"{experiment.path}: no fact is called {claim.fact}; there are {', '.join(known)}")
    calibrated = "calibrated" in regimes(experiment.root)["regimes"][experiment.regime]
    for number, (claim, one) in enumerate(zip(claims, judged, strict=True)):
        if others:
            what = ("measured", "low", "high", "holds")
            one["beside"] = {"regime": experiment.beside} | {name: others[0][number][name] for name in what}
        one |= {"kind": claim.kind, "fact": claim.fact, "late": claim.late}
        one["status"] = _status(one, calibrated=calibrated and claim.calibrated and claim.kind == "claim")
        if one["holds"] is False and not one["why"]:
            one["why"] = known.get(claim.fact, "")
    return judged


def ask(rows: Sequence[Mapping[str, Any]], query: str, where: str) -> tuple[list[str], list[Sequence[Any]]]:
    """The names and the rows of what an SQL query over the table ``rows`` gives."""
    tables = sqlite3.connect(":memory:")
    try:
        _fill(tables, "rows", rows)
        answer = tables.execute(query)
        return [column[0] for column in answer.description], answer.fetchall()
    except sqlite3.Error as error:
        raise Mistaken(f"{where}: {error} in {query!r}") from None
    finally:
        tables.close()


def finding(experiment: Experiment, rows: Sequence[Row]) -> str:
    """What was found, as a sentence with measured values; empty where a value is missing."""
    if experiment.finding is None:
        return ""
    where = f"{experiment.path}: [finding]"
    tables = sqlite3.connect(":memory:")
    tables.row_factory = sqlite3.Row
    try:
        _fill(tables, "rows", of_regime(rows, experiment.regime))
        _fill(tables, "every", rows)
        answer = _ask(tables, experiment.finding.measured, where)
        values = dict(answer) if isinstance(answer, sqlite3.Row) else {"nothing": None}
        return "" if None in values.values() else experiment.finding.says.format(**values)
    except (KeyError, ValueError, TypeError) as error:
        raise Mistaken(f"{where}: {error} in {experiment.finding.says!r}") from None
    finally:
        tables.close()


def of_regime(rows: Sequence[Row], regime: str) -> list[Row]:
    """The rows of one regime; where there is but one, rows do not name it."""
    return [row for row in rows if row.get("regime", regime) == regime]


def _status(claim: Mapping[str, Any], *, calibrated: bool) -> str:
    other = claim.get("beside", {}).get("holds")
    if claim["holds"] is None:
        return "open"
    if not claim["holds"]:
        return "uncalibrated" if other and calibrated else "fails"
    if calibrated and other is not True:
        return "calibrated"
    return "late" if claim["late"] else "holds"


def _in_regime(
    experiment: Experiment,
    claims: Sequence[Claim],
    tables: sqlite3.Connection,
    without: Sequence[sqlite3.Connection],
    numbers: Mapping[str, Any],
) -> list[dict[str, Any]]:
    try:
        return [_judged(claim, tables, numbers, experiment, without) for claim in claims]
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
    if not answer:
        return (None,)
    found: Sequence[Any] = answer[0]
    return found


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
