"""One run, and what can be asked without running."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from duetime import _core, fluid, scenario
from duetime.results import Bound, Result

#: Told simulated seconds, their end, and delivered packets; what it raises ends the run.
Progress: TypeAlias = Callable[[float, float, int], object]


def run(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: str | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Simulate a scenario: a path, a text of several lines, or a dictionary of its sections.

    `seed` and `transport` replace those of the scenario; `set` changes keys
    (``{"network.buffer": "50 KB"}`` or ``["network.buffer=50 KB"]``). `progress` shows a bar, by
    default in a notebook only, with True on a terminal too; or is called with (simulated seconds, their end,
    delivered packets) ten times a second.

    Raises `ScenarioError` for a bad scenario, and another `ValueError` for a file that cannot be read.
    """
    if callable(progress):
        return simulate(scenario.read(source), seed, set, transport, progress)
    from duetime.progress import bar

    with bar(1, progress) as shown:
        return simulate(scenario.read(source), seed, set, transport, shown.follow(0))


def check(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: str | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Read a scenario without running it: what it says with every default filled in, and notes.

    Raises what `run` raises.
    """
    read = scenario.read(source)
    return resolve(read, seed, set, transport)


def bound(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: str | None = None,
) -> Bound | None:
    """Say how few deadlines any schedule of a scenario's messages can miss, without running it.

    The same as `Result.bound` of its run. None without deadlines. Raises what `run` raises.
    """
    foresight, _ = foresee(scenario.read(source), seed, set, transport)
    return Bound.of(foresight["bound"])


def schema() -> dict[str, Any]:
    """Give the JSON Schema of the scenario language, for editors."""
    return _object(_core.schema())


def catalog() -> dict[str, Any]:
    """List transports, topologies, patterns, faults, their keys (default, range, unit, source); signals."""
    return _object(_core.catalog())


def simulate(
    read: scenario.Scenario,
    seed: int | None,
    set: scenario.Changes | None,
    transport: str | None,
    progress: Progress | None,
) -> Result:
    """Simulate a scenario that was read."""
    _check_seed(seed)
    changes = scenario.changes(set)
    if fluid.asked_for(read.text, changes):
        task = fluid.Task(read.text, read.name, read.folder, tuple(changes), seed, transport)
        if (found := fluid.simulated(task, progress)) is not None:
            return found
    done = _core.run(
        read.text, read.name, read.folder, set=changes, seed=seed, transport=transport, progress=progress
    )
    return Result(done.json, done.resolved, done.notes, done)


def resolve(
    read: scenario.Scenario, seed: int | None, set: scenario.Changes | None, transport: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Check a scenario that was read."""
    _check_seed(seed)
    resolved, notes, _ = _core.check(
        read.text, read.name, read.folder, set=scenario.changes(set), seed=seed, transport=transport
    )
    return _object(resolved), notes


def explanation(read: scenario.Scenario, seed: int | None, set: scenario.Changes | None) -> dict[str, Any]:
    """Describe a scenario that was read, before it is run: what ``duetime check --explain --json`` prints."""
    _check_seed(seed)
    return _object(_core.explain(read.text, read.name, read.folder, set=scenario.changes(set), seed=seed))


def foresee(
    read: scenario.Scenario, seed: int | None, set: scenario.Changes | None, transport: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Give what ``duetime bound --json`` prints, and notes, of a scenario that was read."""
    _check_seed(seed)
    foresight, notes = _core.bound(
        read.text, read.name, read.folder, set=scenario.changes(set), seed=seed, transport=transport
    )
    return _object(foresight), notes


def _check_seed(seed: int | None) -> None:
    if seed is not None and not 0 <= seed <= scenario.LAST_SEED:
        raise scenario.Unreadable(f"a seed is 0 to {scenario.LAST_SEED}, not {seed}")


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    assert isinstance(value, dict)
    return value
