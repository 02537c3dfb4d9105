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
from typing import Any

from duetime import files, rowtable
from duetime.experiments import experiment as reading
from duetime.experiments import places
from duetime.experiments.claims import published_of, reason
from duetime.experiments.experiment import Claim, Experiment, expanded, number_at
from duetime.experiments.reproduce import charts_of, regimes_of, written
from duetime.experiments.verdicts import HOLDS, status

#: Keys of ``result.json`` that a header holds as they are.
KEPT = ("version", "scale", "seeds", "runs", "versions", "finding", "engine", "pictures")
#: The measured value of a claim.
MEASURED = ("measured", "low", "high")
#: A variant's verdict on a claim, as one letter.
LETTERS = {True: "y", False: "n", None: "-"}


def write(folder: Path, record: Mapping[str, Any], root: Path) -> None:
    """Write a record: the object of ``result.json``, with the engine's hashes and hashes of its pictures.

    `root` is the folder of experiments. Raises `ValueError` where the record's claims are not its file's.
    """
    experiment = reading.read(places.path_of(root, record["id"]))
    head = {key: record[key] for key in KEPT if key in record}
    head["notes"] = [note for note in record.get("notes", ()) if note not in experiment.notes]
    robust = record.get("robust")
    if robust:
        head["variants"] = robust["variants"]
    claims = []
    said = list(_claims(experiment, reading.published(root)))
    if [claim.claim for claim, _ in said] != [each["claim"] for each in record["claims"]]:
        raise ValueError(f"{experiment.path}: the result has other claims; `duetime reproduce` makes it anew")
    for number, ((claim, published), each) in enumerate(zip(said, record["claims"], strict=True)):
        line: dict[str, Any] = {
            "claim": claim.claim,
            "judged": _judged_by(claim, published),
            "status": status(each),
        }
        line |= {key: each[key] for key in (*MEASURED, "seeds") if each.get(key) is not None}
        if "beside" in each:
            line["beside"] = {key: value for key, value in each["beside"].items() if key != "regime"}
        if robust:
            line["variants"] = _letters(robust["variants"], robust["claims"][number])
        claims.append(line)
    target = folder / f"{experiment.name}.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    files.write(target.with_suffix(".csv"), rowtable.written(record["rows"]).encode())
    files.write(target, _toml(head, claims).encode())


def header(folder: Path, name: str) -> dict[str, Any]:
    """Return the header of a record; empty where there is none."""
    path = folder / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def is_judged(head: Mapping[str, Any], experiment: Experiment, numbers: Mapping[str, Any]) -> bool:
    """Return whether a header has a verdict on every claim of the experiment's file, as it is written."""
    known = {each["judged"] for each in head.get("claims", ())}
    return all(_judged_by(claim, published) in known for claim, published in _claims(experiment, numbers))


def read_all(folder: Path, root: Path) -> dict[str, dict[str, Any]]:
    """Return each record below a folder by its name, with all that the experiment's file says."""
    numbers, facts = reading.published(root), reading.facts(root)
    names = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.toml"))
    return {name: _read(folder, reading.read(places.path_of(root, name)), numbers, facts) for name in names}


def _read(
    folder: Path, experiment: Experiment, numbers: Mapping[str, Any], facts: Mapping[str, str]
) -> dict[str, Any]:
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
        _claim(experiment, claim, published, judged.get(_judged_by(claim, published), {}), facts)
        for claim, published in _claims(experiment, numbers)
    ]
    record = {key: head[key] for key in KEPT if key in head}
    record |= {
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
    if "variants" in head:
        letters = [
            judged.get(_judged_by(*each), {}).get("variants", "") for each in _claims(experiment, numbers)
        ]
        record["robust"] = {
            "variants": head["variants"],
            "claims": [
                _robust(claim, head["variants"], some) for claim, some in zip(claims, letters, strict=True)
            ],
        }
    return record


def _claims(experiment: Experiment, numbers: Mapping[str, Any]) -> Iterator[tuple[Claim, Any]]:
    """Yield each claim of the file, with what the paper says."""
    for each in experiment.claims:
        for claim in expanded(each, numbers, experiment.path):
            yield claim, published_of(claim, numbers, f"{experiment.path}: claim {claim.claim!r}")


def _judged_by(claim: Claim, published: Any) -> str:
    """Return a hash of a claim and of all that its verdict depends on, besides the rows."""
    parts = json.dumps([claim.claim, claim.measured, claim.holds, published])
    return hashlib.sha256(parts.encode()).hexdigest()[:8]


def _claim(
    experiment: Experiment, claim: Claim, published: Any, judged: Mapping[str, Any], facts: Mapping[str, str]
) -> dict[str, Any]:
    """Return a claim as it is in ``result.json``; one without a verdict is open."""
    verdict, seeds = judged.get("status", "open"), judged.get("seeds")
    found = {
        "claim": claim.claim,
        "published": published,
        **{key: judged.get(key) for key in MEASURED},
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
        beside = {key: judged["beside"].get(key) for key in (*MEASURED, "holds")}
        found["beside"] = {"regime": experiment.beside} | beside
    return found


def _letters(variants: Sequence[str], claim: Mapping[str, Any]) -> str:
    """Return the verdicts on a claim in each of the variants."""
    verdict = dict.fromkeys(claim["where"], True) | dict.fromkeys(claim["where_not"], False)
    return "".join(LETTERS[verdict.get(words)] for words in variants)


def _robust(claim: Mapping[str, Any], variants: Sequence[str], letters: str) -> dict[str, Any]:
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


def _toml(head: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> str:
    """Return a header as TOML: each key and each claim in a line of its own."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in head.items()]
    lines += ["claims = [", *(f"  {_value(claim)}," for claim in claims), "]"]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    """Return a value in one line; a key without a value is left out."""
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)} = {_value(each)}" for key, each in value.items() if each is not None]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
