"""Compact records of reproduced experiments: a table of rows, and a header with the verdicts.

``NAME.csv`` holds the rows, as `duetime.rowtable` writes them. ``NAME.toml`` holds the finding, the verdict
on each claim, and how the runs were made. Titles, charts, rules and published numbers are in the experiment's
own file and are not kept again: `read_all` puts both together, as the object of ``result.json``.

A verdict belongs to a claim as it was judged. A claim whose query, condition or published number has changed
since then is open, and `is_judged` tells that it must be judged anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, cast

from duetime import files, rowtable
from duetime.contract.rows import Row
from duetime.experiments import experiment as reading
from duetime.experiments import places
from duetime.experiments.claims import published_of, reason
from duetime.experiments.experiment import Claim, Experiment, Numbers, expanded, number_at
from duetime.experiments.reproduce import charts_of, regimes_of, written
from duetime.experiments.verdicts import HOLDS, status

if TYPE_CHECKING:
    from duetime.contract import experiments as contract
    from duetime.contract.experiments import Header, KeptBeside, KeptClaim, Published, Reproduction

#: Keys of ``result.json`` that a header holds as they are.
KEPT: Final = ("version", "scale", "seeds", "runs", "versions", "finding", "engine", "pictures")
#: The measured value of a claim.
MEASURED: Final = ("measured", "low", "high")
#: A variant's verdict on a claim, as one letter.
LETTERS = {True: "y", False: "n", None: "-"}


def write(folder: Path, record: Reproduction, root: Path) -> None:
    """Write a record: the object of ``result.json``, with the engine's hashes and hashes of its pictures.

    `root` is the folder of experiments. Raises `ValueError` where the record's claims are not its file's.
    """
    experiment = reading.read(places.path_of(root, record["id"]))
    head = cast("Header", {key: record[key] for key in KEPT if key in record})
    head["notes"] = [note for note in record.get("notes", ()) if note not in experiment.notes]
    robust = record.get("robust")
    if robust:
        head["variants"] = robust["variants"]
    claims = []
    said = list(_claims(experiment, reading.published(root)))
    if [claim.claim for claim, _ in said] != [each["claim"] for each in record["claims"]]:
        raise ValueError(f"{experiment.path}: the result has other claims; `duetime reproduce` makes it anew")
    for number, ((claim, published), each) in enumerate(zip(said, record["claims"], strict=True)):
        line: KeptClaim = {
            "claim": claim.claim,
            "judged": _judged_by(claim, published),
            "status": status(each),
        }
        for key in MEASURED:
            if each.get(key) is not None:
                line[key] = each[key]
        if each.get("seeds") is not None:
            line["seeds"] = each["seeds"]
        if "beside" in each:
            beside = {key: value for key, value in each["beside"].items() if key != "regime"}
            line["beside"] = cast("KeptBeside", beside)
        if robust:
            line["variants"] = _letters(robust["variants"], robust["claims"][number])
        claims.append(line)
    target = folder / f"{experiment.name}.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    files.write(target.with_suffix(".csv"), rowtable.written(record["rows"]).encode())
    files.write(target, _toml(head, claims).encode())


def header(folder: Path, name: str) -> Header:
    """Return the header of a record; empty where there is none."""
    path = folder / f"{name}.toml"
    return cast("Header", tomllib.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def is_judged(head: Header, experiment: Experiment, numbers: Numbers) -> bool:
    """Return whether a header has a verdict on every claim of the experiment's file, as it is written."""
    known = {each["judged"] for each in head.get("claims", ())}
    return all(_judged_by(claim, published) in known for claim, published in _claims(experiment, numbers))


def read_all(folder: Path, root: Path) -> dict[str, Reproduction]:
    """Return each record below a folder by its name, with all that the experiment's file says."""
    numbers, facts = reading.published(root), reading.facts(root)
    names = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.toml"))
    return {name: _read(folder, reading.read(places.path_of(root, name)), numbers, facts) for name in names}


def _read(folder: Path, experiment: Experiment, numbers: Numbers, facts: Mapping[str, str]) -> Reproduction:
    head = header(folder, experiment.name)
    rows = rowtable.read((folder / f"{experiment.name}.csv").read_text(encoding="utf-8"))
    charts = charts_of(experiment, rows, numbers)
    for chart in charts:
        for column in (chart.x.column, chart.y.column, chart.series):
            if rows and column not in rows[0]:
                raise ValueError(
                    f"{experiment.name}: its chart {chart.title!r} draws the column {column}, which is not "
                    "recorded: `duetime reproduce` and `docs/generate.py --record` make the record anew"
                )
    judged = {each["judged"]: each for each in head["claims"]}
    claims = [
        _claim(experiment, claim, published, judged.get(_judged_by(claim, published)), facts)
        for claim, published in _claims(experiment, numbers)
    ]
    of_file: _OfFile = {
        "id": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "question": experiment.question,
        "regime": regimes_of(experiment),
        "charts": [written(chart) for chart in charts],
        "rows": rows,
        "published": {
            section: number_at(section, numbers, str(experiment.path)) for section in experiment.published
        },
        "claims": claims,
        "notes": [*experiment.notes, *head["notes"]],
    }
    kept = {key: head[key] for key in KEPT if key in head}
    record = cast("Reproduction", {**kept, **of_file})
    if "variants" in head:
        found = [judged.get(_judged_by(*each)) for each in _claims(experiment, numbers)]
        letters = [each.get("variants", "") if each else "" for each in found]
        record["robust"] = {
            "variants": head["variants"],
            "claims": [
                _robust(claim, head["variants"], some) for claim, some in zip(claims, letters, strict=True)
            ],
        }
    return record


class _OfFile(TypedDict):
    """The keys of ``result.json`` that follow from the experiment's file and the rows."""

    id: str
    title: str
    source: str
    question: str
    regime: str
    charts: list[contract.Chart]
    rows: list[Row]
    published: dict[str, object]
    claims: list[contract.Claim]
    notes: list[str]


def _claims(experiment: Experiment, numbers: Numbers) -> Iterator[tuple[Claim, Published]]:
    """Yield each claim of the file, with what the paper says."""
    for each in experiment.claims:
        for claim in expanded(each, numbers, experiment.path):
            yield claim, published_of(claim, numbers, f"{experiment.path}: claim {claim.claim!r}")


def _judged_by(claim: Claim, published: Published) -> str:
    """Return a hash of a claim and of all that its verdict depends on, besides the rows."""
    parts = json.dumps([claim.claim, claim.measured, claim.holds, published])
    return hashlib.sha256(parts.encode()).hexdigest()[:8]


def _claim(
    experiment: Experiment,
    claim: Claim,
    published: Published,
    judged: KeptClaim | None,
    facts: Mapping[str, str],
) -> contract.Claim:
    """Return a claim as it is in ``result.json``; one without a verdict is open."""
    judged = judged or {"claim": claim.claim, "judged": "", "status": "open"}
    verdict, seeds = judged["status"], judged.get("seeds")
    found: contract.Claim = {
        "claim": claim.claim,
        "published": published,
        "measured": judged.get("measured"),
        "low": judged.get("low"),
        "high": judged.get("high"),
        "unit": claim.unit,
        "holds": HOLDS[verdict],
        "rule": claim.rule,
        "why": reason(claim, HOLDS[verdict], seeds, facts),
        "kind": claim.kind,
        "fact": claim.fact,
        "late": claim.late,
        "status": verdict,
    }
    if seeds is not None:
        found["seeds"] = seeds
    if "beside" in judged:
        beside = judged["beside"]
        found["beside"] = {
            "regime": experiment.beside,
            "measured": beside.get("measured"),
            "low": beside.get("low"),
            "high": beside.get("high"),
            "holds": beside.get("holds"),
        }
    return found


def _letters(variants: Sequence[str], claim: contract.Held) -> str:
    """Return the verdicts on a claim in each of the variants."""
    verdict = dict.fromkeys(claim["where"], True) | dict.fromkeys(claim["where_not"], False)
    return "".join(LETTERS[verdict.get(words)] for words in variants)


def _robust(claim: contract.Claim, variants: Sequence[str], letters: str) -> contract.Held:
    """Return the verdicts on a claim in each of the variants, as they are in ``result.json``."""
    verdicts = list(zip(variants, letters, strict=False))
    where, where_not = (
        [words for words, letter in verdicts if letter == LETTERS[wanted]] for wanted in (True, False)
    )
    return {
        "claim": claim["claim"],
        "as_written": claim["holds"],
        "held": len(where),
        "of": len(where) + len(where_not),
        "where": where,
        "where_not": where_not,
    }


def _toml(head: Header, claims: Sequence[KeptClaim]) -> str:
    """Return a header as TOML: each key and each claim in a line of its own."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in head.items()]
    lines += ["claims = [", *(f"  {_value(claim)}," for claim in claims), "]"]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


def _value(value: object) -> str:
    """Return a value in one line; a key without a value is left out."""
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)} = {_value(each)}" for key, each in value.items() if each is not None]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
