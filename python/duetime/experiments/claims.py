"""Does what a paper says hold here? Claims are queries over the rows of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, TypedDict, cast

from duetime.errors import Mistaken
from duetime.experiments.experiment import (
    Claim,
    Experiment,
    Numbers,
    expanded,
    facts,
    number_at,
    regimes,
)
from duetime.experiments.queries import Tables, flat, sql
from duetime.experiments.texts import filled
from duetime.statistics import jackknife, jackknife_seeds

if TYPE_CHECKING:
    from duetime.contract import experiments as contract
    from duetime.contract.experiments import Judged, Published
    from duetime.contract.rows import Cell, Row

NOT_MEASURED = "not measured"
TOO_FEW = "too few misses to compare; {} seeds would do"


def judge(
    experiment: Experiment,
    rows: Sequence[Row],
    scenario: Mapping[str, object],
    numbers: Numbers,
    without_seeds: Sequence[Sequence[Row]] = (),
) -> list[contract.Claim]:
    """Return every claim of the experiment with its measured value, whether it holds, and what that is worth.

    A query sees the rows of a regime as the table ``rows``, and the resolved scenario as
    ``scenario(path, value)``. With a regime beside the experiment's own, each claim is judged in both. A
    query that gives a value without an interval gets that of the jackknife, from the rows without each seed.
    A rule that reads an interval which too few misses back is left without a verdict.
    """
    claims = [claim for written in experiment.claims for claim in expanded(written, numbers, experiment.path)]
    judged, *others = [
        _in_regime(
            experiment,
            claims,
            of_regime(rows, regime),
            [of_regime(each, regime) for each in without_seeds],
            scenario,
            numbers,
        )
        for regime in experiment.regimes
    ]
    known = facts(experiment.root)
    for claim in claims:
        if claim.fact and claim.fact not in known:
            raise Mistaken(f"{experiment.path}: no fact is called {claim.fact}; there are {', '.join(known)}")
    calibrated = "calibrated" in regimes(experiment.root)["regimes"][experiment.regime]
    beside = others[0] if others else [None] * len(judged)
    return [
        _worth(claim, one, other and _beside(experiment.beside, other), known, calibrated=calibrated)
        for claim, one, other in zip(claims, judged, beside, strict=True)
    ]


def _beside(regime: str, other: Judged) -> contract.Beside:
    return {
        "regime": regime,
        "measured": other["measured"],
        "low": other["low"],
        "high": other["high"],
        "holds": other["holds"],
    }


class _Apart(TypedDict, total=False):
    """A claim as it was judged in another regime, where there is one."""

    beside: contract.Beside


def _worth(
    claim: Claim, one: Judged, beside: contract.Beside | None, known: Mapping[str, str], *, calibrated: bool
) -> contract.Claim:
    """Return a judged claim with what that is worth."""
    apart: _Apart = {} if beside is None else {"beside": beside}
    found: contract.Claim = {
        **one,
        **apart,
        "kind": claim.kind,
        "fact": claim.fact,
        "late": claim.late,
        "status": "",
        "why": reason(claim, one["holds"], one.get("seeds"), known),
    }
    found["status"] = _status(found, calibrated=calibrated and claim.calibrated and claim.kind == "claim")
    return found


def reason(claim: Claim, holds: bool | None, seeds: int | None, known: Mapping[str, str]) -> str:
    """Return why a claim does not hold, or has no verdict; empty for one that holds.

    `seeds` would give a verdict where too few misses back one; `known` are the reasons of facts.
    """
    if holds is None:
        return NOT_MEASURED if seeds is None else TOO_FEW.format(seeds)
    return "" if holds else claim.why.strip() or known.get(claim.fact, "")


def published_of(claim: Claim, numbers: Numbers, where: str) -> Published:
    """Return what the paper says: a number, several, or words."""
    found = [number_at(path, numbers, where) for path in paths(claim)]
    if not found:
        return claim.published if isinstance(claim.published, str) else [*claim.published]
    return cast("Published", found[0] if len(found) == 1 else found)


def ask(rows: Sequence[Row], query: str, where: str) -> tuple[list[str], list[Sequence[Cell]]]:
    """The names and the rows of what an SQL query over the table ``rows`` gives."""
    with Tables(where, rows=rows) as tables:
        names, found = tables.ask(query, where)
    return names, list(found)


def finding(experiment: Experiment, rows: Sequence[Row]) -> str:
    """Return the finding, as a sentence with measured values; empty where a value is missing."""
    if experiment.finding is None:
        return ""
    where = f"{experiment.path}: [finding]"
    own = of_regime(rows, experiment.regime)
    with Tables(where, rows=own, every=rows) as tables:
        names, answer = tables.ask(experiment.finding.measured, where, most=1)
    values: Row = dict(zip(names, answer[0], strict=True)) if answer else {"nothing": None}
    return "" if None in values.values() else filled(experiment.finding.says, values, where)


def of_regime(rows: Sequence[Row], regime: str) -> list[Row]:
    """The rows of one regime; where there is but one, rows do not name it."""
    return [row for row in rows if row.get("regime", regime) == regime]


def _status(claim: contract.Claim, *, calibrated: bool) -> str:
    other = claim["beside"]["holds"] if "beside" in claim else None
    if claim["holds"] is None:
        return "few" if "seeds" in claim else "open"
    if not claim["holds"]:
        return "uncalibrated" if other and calibrated else "fails"
    if calibrated and other is not True:
        return "calibrated"
    return "late" if claim["late"] else "holds"


def _in_regime(
    experiment: Experiment,
    claims: Sequence[Claim],
    rows: Sequence[Row],
    without: Sequence[Sequence[Row]],
    scenario: Mapping[str, object],
    numbers: Numbers,
) -> list[Judged]:
    with ExitStack() as stack:

        def tables(some: Sequence[Row]) -> Tables:
            return stack.enter_context(_tables(experiment, some, scenario))

        @cache
        def backed(seeds: int) -> Tables:
            return tables(_backed(rows, seeds))

        others, seeds = [tables(each) for each in without], _seeds(rows)
        return [_judged(claim, backed, seeds, numbers, experiment, others) for claim in claims]


def _tables(experiment: Experiment, rows: Sequence[Row], scenario: Mapping[str, object]) -> Tables:
    values = [{"path": path, "value": value} for path, value in flat(scenario)]
    return Tables(str(experiment.path), rows=rows, scenario=values)


def _seeds(rows: Sequence[Row]) -> list[int]:
    """Return the numbers of seeds that intervals without enough misses take, each once and in order."""
    given = (row[name] for row in rows for name in row if name.endswith("_seeds"))
    return sorted({seeds for seeds in given if isinstance(seeds, int)})


def _backed(rows: Sequence[Row], seeds: int) -> list[Row]:
    """Return the rows with ends, at the mean, for the intervals that so many seeds would give."""
    return [
        row
        | {
            f"{name.removesuffix('_seeds')}{end}": row[name.removesuffix("_seeds")]
            for name, needed in row.items()
            if name.endswith("_seeds") and isinstance(needed, int) and needed <= seeds
            for end in ("_low", "_high")
        }
        for row in rows
    ]


def paths(claim: Claim) -> list[str]:
    """Return where the published numbers of a claim are; none where the paper gives words."""
    given = claim.published if isinstance(claim.published, list) else [claim.published]
    return [path for path in given if "." in path and " " not in path]


def _judged(
    claim: Claim,
    backed: Callable[[int], Tables],
    more: Sequence[int],
    numbers: Numbers,
    experiment: Experiment,
    without: Sequence[Tables],
) -> Judged:
    """Return the judged claim; `backed` gives the tables as they are, for 0, and as of `more` seeds."""
    where = f"{experiment.path}: claim {claim.claim!r}"
    published = published_of(claim, numbers, where)
    measured, low, high = _measured(claim, backed(0), where)
    few: int | None = None
    if low is None and high is None and isinstance(measured, float):
        others = [_measured(claim, each, where)[0] for each in without]
        numeric = [each for each in others if isinstance(each, int | float)]
        if len(numeric) == len(others):
            few = jackknife_seeds(measured, numeric)
            low, high = (None, None) if few else jackknife(measured, numeric) or (None, None)

    def verdict(tables: Tables, low: Cell, high: Cell) -> bool | None:
        values: Row = {"published": sql(published), "measured": measured, "low": low, "high": high}
        given = ", ".join(f":{name} as {name}" for name in values)
        _, answer = tables.ask(f"select {claim.holds} from (select {given})", where, values, most=1)
        found = answer[0][0] if answer else None
        return None if found is None else bool(found)

    holds = None if measured is None else verdict(backed(0), low, high)
    seeds = None
    if measured is not None and holds is None:
        # The least number of seeds of which the rule has all the intervals that it reads.
        for each in sorted({*more, *([few] if few else [])}):
            tables = backed(max((number for number in more if number <= each), default=0))
            ends = _measured(claim, tables, where)[1:]
            if few and few <= each:
                ends = (measured, measured)
            if verdict(tables, *ends) is not None:
                seeds = each
                break
    judged: Judged = {
        "claim": claim.claim,
        "published": published,
        "measured": measured,
        "low": low,
        "high": high,
        "unit": claim.unit,
        "holds": holds,
        "rule": claim.rule,
        "why": "",
    }
    if seeds is not None:
        judged["seeds"] = seeds
    return judged


def _measured(claim: Claim, tables: Tables, where: str) -> tuple[Cell, Cell, Cell]:
    names, answer = tables.ask(claim.measured, where, most=1)
    if len(names) not in (1, 3):
        raise Mistaken(
            f"{where}: `measured` gives {len(names)} columns; it takes a value, or value, low, high"
        )
    value, *ends = answer[0] if answer else (None,)
    low, high = ends or (None, None)
    return value, low, high
