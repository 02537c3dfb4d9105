"""Does what a paper says hold here? Claims are queries over the rows of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duetime.experiments.experiment import Claim, Experiment, expanded, facts, number_at, regimes
from duetime.experiments.places import Mistaken
from duetime.experiments.queries import Tables, flat, sql
from duetime.experiments.study import Row
from duetime.experiments.texts import filled
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
    claims = [claim for written in experiment.claims for claim in expanded(written, numbers, experiment.path)]
    judged, *others = [
        _in_regime(
            experiment,
            claims,
            _tables(experiment, of_regime(rows, regime), scenario),
            [_tables(experiment, of_regime(each, regime), scenario) for each in without_seeds],
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
    with Tables(where, rows=rows) as tables:
        names, found = tables.ask(query, where)
    return names, list(found)


def finding(experiment: Experiment, rows: Sequence[Row]) -> str:
    """What was found, as a sentence with measured values; empty where a value is missing."""
    if experiment.finding is None:
        return ""
    where = f"{experiment.path}: [finding]"
    own = of_regime(rows, experiment.regime)
    with Tables(where, rows=own, every=rows) as tables:
        names, answer = tables.ask(experiment.finding.measured, where, most=1)
    values = dict(zip(names, answer[0], strict=True)) if answer else {"nothing": None}
    return "" if None in values.values() else filled(experiment.finding.says, values, where)


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
    tables: Tables,
    without: Sequence[Tables],
    numbers: Mapping[str, Any],
) -> list[dict[str, Any]]:
    try:
        return [_judged(claim, tables, numbers, experiment, without) for claim in claims]
    finally:
        for each in (tables, *without):
            each.close()


def _tables(experiment: Experiment, rows: Sequence[Row], scenario: Mapping[str, Any]) -> Tables:
    values = [{"path": path, "value": value} for path, value in flat(scenario)]
    return Tables(str(experiment.path), rows=rows, scenario=values)


def paths(claim: Claim) -> list[str]:
    """Where the published numbers of a claim stand; none where the paper speaks in words."""
    given = claim.published if isinstance(claim.published, list) else [claim.published]
    return [path for path in given if "." in path and " " not in path]


def _judged(
    claim: Claim,
    tables: Tables,
    numbers: Mapping[str, Any],
    experiment: Experiment,
    without: Sequence[Tables],
) -> dict[str, Any]:
    where = f"{experiment.path}: claim {claim.claim!r}"
    found = [number_at(path, numbers, where) for path in paths(claim)]
    published: Any = claim.published if not found else found[0] if len(found) == 1 else found
    measured, low, high = _measured(claim, tables, where)
    if low is None and high is None and isinstance(measured, float):
        others = [_measured(claim, each, where)[0] for each in without]
        numeric = [each for each in others if isinstance(each, int | float)]
        interval = jackknife(measured, numeric) if len(numeric) == len(others) else None
        low, high = interval or (None, None)
    holds: bool | None = None
    if measured is not None:
        values = {"published": sql(published), "measured": measured, "low": low, "high": high}
        given = ", ".join(f":{name} as {name}" for name in values)
        _, answer = tables.ask(f"select {claim.holds} from (select {given})", where, values, most=1)
        verdict = answer[0][0] if answer else None
        holds = None if verdict is None else bool(verdict)
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


def _measured(claim: Claim, tables: Tables, where: str) -> tuple[Any, Any, Any]:
    names, answer = tables.ask(claim.measured, where, most=1)
    if len(names) not in (1, 3):
        raise Mistaken(
            f"{where}: `measured` gives {len(names)} columns; it takes a value, or value, low, high"
        )
    value, *ends = answer[0] if answer else (None,)
    return (value, *ends) if ends else (value, None, None)
