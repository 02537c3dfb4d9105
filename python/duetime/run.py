"""One run, and the questions that need no run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from duetime import _core, controllers, errors, files, fluid, scenario, transports
from duetime.contract import reading
from duetime.engine import Progress
from duetime.results import Bound, Result, Saved

if TYPE_CHECKING:
    from duetime.contract.runs import Foresight
    from duetime.contract.scenarios import Explanation, Resolved

#: So many rows are written at a time: 10 MB of messages.
BLOCK = 65_536

Name = TypeVar("Name", str, str | None)


def run(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: controllers.Transport | None = None,
    progress: bool | Progress | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Result:
    """Simulate a scenario: a path, a text of several lines, or a dictionary of its sections.

    `seed` and `transport` replace the scenario's. A transport is a name, the path of a plug-in, or a class
    (`controller`). `set` changes keys (``{"network.buffer": "50 KB"}`` or ``["network.buffer=50 KB"]``).
    `progress` shows a bar, by default in a notebook only, with True on a
    terminal too; or is called with (simulated seconds, their end, delivered packets) ten times a second.

    With `out` the tables are written into that folder during the run, as ``duetime run --out`` does. They are
    read from there when they are asked for: messages and samples that are over take no memory.

    Raises `ScenarioError` for a bad scenario, another `ValueError` for a file that cannot be read, and
    `errors.Refused` (an `OSError`) for a folder that cannot be written.
    """
    folder, read = None if out is None else Path(out), scenario.read(source)
    chosen = _chosen(transport, read)
    if callable(progress):
        return made(read, seed, set, chosen, progress, folder)
    # Loaded late: a command that makes no run needs no bar, and fractions take time to load.
    from duetime.engine.progress import bar

    with bar(1, progress) as shown:
        return made(read, seed, set, chosen, shown.follow(0), folder)


def check(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: controllers.Transport | None = None,
) -> tuple[Resolved, list[str]]:
    """Read a scenario without running it: what it says with every default filled in, and notes.

    Raises what `run` raises.
    """
    read = scenario.read(source)
    return resolve(read, seed, set, _chosen(transport, read))


def _chosen(transport: controllers.Transport | None, read: scenario.Scenario) -> str | None:
    """Return a transport as `_core` takes it: a plug-in's path from the current folder, or the scenario's."""
    if transport is None:
        return None
    [chosen] = transports.located([controllers.text(transport)], read.folder)
    return chosen


def bound(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: controllers.Transport | None = None,
) -> Bound | None:
    """Say how few deadlines any schedule of a scenario's messages can miss, without running it.

    The same as `Result.bound` of its run. None without deadlines. Raises what `run` raises.
    """
    read = scenario.read(source)
    foresight, _ = foresee(read, seed, set, _chosen(transport, read))
    return Bound.of(foresight["bound"])


def made(
    read: scenario.Scenario,
    seed: int | None,
    set: scenario.Changes | None,
    transport: str | None,
    progress: Progress | None,
    out: Path | None,
) -> Result:
    """Simulate a scenario that was read, and write the result into the folder `out` if there is one.

    The folder appears as a whole or not at all, as with `Result.save`.
    """
    if out is None:
        return simulate(read, seed, set, transport, progress)
    with files.replacing(out) as aside:
        result = simulate(read, seed, set, transport, progress, out=aside)
    return Result(result.json(), json.dumps(result.scenario), result.notes, Saved(out))


def simulate(
    read: scenario.Scenario,
    seed: int | None,
    set: scenario.Changes | None,
    transport: str | None,
    progress: Progress | None,
    *,
    out: Path | None = None,
    rows: bool = True,
    block: int = BLOCK,
) -> Result:
    """Simulate a scenario that was read.

    The tables are in memory; without `rows` there are none. With an empty folder `out` they are written
    there, `block` rows at a time, and so is the rest of the result.
    """
    _check_seed(seed)
    changes = scenario.changes(set)
    if fluid.asked_for(read.text, changes):
        task = fluid.Task(read.text, read.name, read.folder, tuple(changes), seed, transport)
        if (found := fluid.simulated(task, progress)) is not None:
            if out is not None:
                found.write(out)
            return found
    done = _core.run(
        read.text,
        read.name,
        read.folder,
        set=changes,
        seed=seed,
        transport=transport,
        progress=progress,
        out=out,
        rows=rows,
        block=block,
    )
    result = Result(done.json, done.resolved, done.notes, done)
    if out is not None:
        result.write_record(out)
    return result


def resolve(
    read: scenario.Scenario, seed: int | None, set: scenario.Changes | None, transport: str | None
) -> tuple[Resolved, list[str]]:
    """Check a scenario that was read."""
    _check_seed(seed)
    resolved, notes, _ = _core.check(
        read.text, read.name, read.folder, set=scenario.changes(set), seed=seed, transport=transport
    )
    return reading.resolved(resolved), notes


def resolve_each(
    read: scenario.Scenario,
    seed: int | None,
    set: scenario.Changes | None,
    transports: Sequence[Name],
) -> dict[Name, tuple[Resolved, list[str]]]:
    """Check a scenario under each of `transports`, which takes the place of the name in ``[transport]``.

    A parameter that only some of them have is dropped for the others, with a note. Raises
    `errors.Unreadable` for one in `set` that none of them has: it would change nothing.
    """
    found = {transport: resolve(read, seed, set, transport) for transport in transports}
    tables = [resolved.get("transport", {}) for resolved, _ in found.values()]
    for path in (change.partition("=")[0].strip() for change in scenario.changes(set)):
        section, _, key = (word.strip() for word in path.partition("."))
        if section == "transport" and not any(key in table for table in tables):
            known = " or ".join(map(str, transports))
            raise errors.Unreadable(f"--set {path}: is not a parameter of {known}")
    return found


def explanation(read: scenario.Scenario, seed: int | None, set: scenario.Changes | None) -> Explanation:
    """Describe a scenario that was read, before it is run: what ``duetime check --explain --json`` prints."""
    _check_seed(seed)
    text = _core.explain(read.text, read.name, read.folder, set=scenario.changes(set), seed=seed)
    return reading.explanation(text)


def foresee(
    read: scenario.Scenario, seed: int | None, set: scenario.Changes | None, transport: str | None
) -> tuple[Foresight, list[str]]:
    """Return the object that ``duetime bound --json`` prints, and notes, of a scenario that was read."""
    _check_seed(seed)
    foresight, notes = _core.bound(
        read.text, read.name, read.folder, set=scenario.changes(set), seed=seed, transport=transport
    )
    return reading.foresight(foresight), notes


def _check_seed(seed: int | None) -> None:
    if seed is not None and not hasattr(seed, "__index__"):
        raise TypeError(f"a seed is a whole number, not {seed!r}")
    if seed is not None and not 0 <= seed <= scenario.LAST_SEED:
        raise errors.Unreadable(f"a seed is 0 to {scenario.LAST_SEED}, not {seed}")
