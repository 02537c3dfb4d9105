"""The boundary: the text of each kind of JSON object becomes a typed object here, and nowhere else.

The engine and our own files are trusted to have the keys of their type. A damaged file is found by its
checksum, and a foreign one fails where a key is missing (`manifest.understood`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from duetime import names

if TYPE_CHECKING:
    from duetime.contract import (
        comparisons,
        estimates,
        experiments,
        runs,
        scenarios,
        searches,
        testbed,
        variants,
    )
    from duetime.contract.catalog import Catalog


def run(text: str) -> runs.Run[int, float]:
    """Return the object of ``duetime run --json``."""
    found: runs.Run[int, float] = json.loads(text)
    return found


def saved_run(text: str | bytes) -> runs.SavedRun:
    """Return the object of ``run.json``."""
    found: runs.SavedRun = json.loads(text)
    _name_ends(found)
    return found


def stored(text: str | bytes) -> runs.Stored | None:
    """Return the record of a finished run; None where the text is none."""
    try:
        found: runs.Stored = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "result" not in found:
        return None
    _name_ends(found["result"])
    return found


def _name_ends(run: object) -> None:
    """Give the ends of the busiest queue their present names, where a former version wrote a run."""
    queue = run.get("busiest_queue") if isinstance(run, dict) else None
    if isinstance(queue, dict):
        for former, name in names.ENDS.items():
            if former in queue:
                queue[name] = queue.pop(former)


def foresight(text: str) -> runs.Foresight:
    """Return the object of ``duetime bound --json``."""
    found: runs.Foresight = json.loads(text)
    return found


def resolved(text: str) -> scenarios.Resolved:
    """Return a scenario with every default filled in."""
    found: scenarios.Resolved = json.loads(text)
    return found


def explanation(text: str) -> scenarios.Explanation:
    """Return the object of ``duetime check --explain --json``."""
    found: scenarios.Explanation = json.loads(text)
    return found


def cost(text: str) -> scenarios.Cost:
    """Return the expected cost of a run."""
    found: scenarios.Cost = json.loads(text)
    return found


def catalog(text: str) -> Catalog:
    """Return the declarations of the language."""
    found: Catalog = json.loads(text)
    return found


def schema(text: str) -> dict[str, object]:
    """Return the JSON Schema of the language."""
    found: dict[str, object] = json.loads(text)
    return found


def plan(text: str) -> comparisons.Plan:
    """Return a sweep's file as the engine reads it."""
    found: comparisons.Plan = json.loads(text)
    return found


def comparison(text: str | bytes) -> comparisons.SavedComparison:
    """Return the object of ``compare.json``."""
    found: comparisons.SavedComparison = json.loads(text)
    for run in found.get("runs", {}).values():
        _name_ends(run)
    return found


def sweep(text: str | bytes) -> comparisons.Sweep:
    """Return the object of ``sweep.json``."""
    found: comparisons.Sweep = json.loads(text)
    return found


def search(text: str | bytes) -> searches.Search:
    """Return the object of ``tighten.json``, ``capacity.json`` or ``need.json``."""
    found: searches.Search = json.loads(text)
    return found


def robustness(text: str | bytes) -> variants.Robustness:
    """Return the object of ``robust.json``."""
    found: variants.Robustness = json.loads(text)
    return found


def estimate(text: str | bytes) -> estimates.Estimate:
    """Return the object of ``estimate.json``."""
    found: estimates.Estimate = json.loads(text)
    return found


def ready(line: bytes) -> testbed.Ready:
    """Return the first line of a process of the testbed."""
    found: testbed.Ready = json.loads(line)
    return found


def host_report(line: bytes) -> testbed.HostReport:
    """Return the report of a host of the testbed."""
    found: testbed.HostReport = json.loads(line)
    return found


def switch_report(line: bytes) -> testbed.SwitchReport:
    """Return the report of the testbed's switch."""
    found: testbed.SwitchReport = json.loads(line)
    return found


def interfaces(text: str) -> list[testbed.Interface]:
    """Return the interfaces that `ip -j -s link` lists."""
    found: list[testbed.Interface] = json.loads(text)
    return found


def reproduction(text: str | bytes) -> experiments.Reproduction:
    """Return the object of ``result.json``."""
    found: experiments.Reproduction = json.loads(text)
    return found


def real(text: str) -> experiments.Real:
    """Return rows from a real network."""
    found: experiments.Real = json.loads(text)
    return found


def coverage(text: str) -> dict[str, estimates.Coverage]:
    """Return the networks that ranges were tested with, by profile."""
    found: dict[str, estimates.Coverage] = json.loads(text)
    return found
