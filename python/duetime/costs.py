"""The cost of runs before they are made: their memory, and a refusal of more than the machine has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import _core, quantities, scenario
from duetime.contract import reading
from duetime.errors import TooLarge, Unreadable
from duetime.quantities import counted, short

if TYPE_CHECKING:
    from duetime.contract.scenarios import Cost
    from duetime.engine.points import Point

#: Bytes of a finished run's figures in memory, beside its rows.
RECORD_BYTES = 60_000
#: Where a group of processes on Linux has its limit.
LIMIT = Path("/sys/fs/cgroup/memory.max")


def cost(
    read: scenario.Scenario, seed: int | None, changes: scenario.Changes | None, transport: str | None = None
) -> Cost:
    """Return the expected cost of a run: what ``duetime check --explain --json`` has under ``cost``."""
    text = _core.cost(
        read.text,
        read.name,
        read.folder,
        set=scenario.changes(changes),
        seed=seed,
        transport=transport,
    )
    return reading.cost(text)


@dataclass(frozen=True)
class Limit:
    """The memory that runs may need; the words say where the limit is from."""

    bytes: float
    words: str


def limit(max_memory: float | None, yes: bool) -> Limit | None:
    """Return the limit of ``--max-memory``, by default the machine's memory; none with ``--yes``."""
    if yes:
        return None
    if max_memory is not None:
        return Limit(max_memory, "--max-memory allows")
    found = machine_memory()
    return None if found is None else Limit(found, "this machine has")


def machine_memory() -> int | None:
    """Return the bytes of memory that this process may have; None where the system does not say."""
    known = []
    with suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):
        known.append(int(LIMIT.read_text()))
    return min((each for each in known if each > 0), default=None)


def memory(each: Cost, runs: int, at_once: int, rows: bool, out: bool = False) -> float:
    """Return the bytes that runs of equal cost need here.

    With `rows` all rows are kept; with `out` they are written meanwhile.
    """
    without_rows = each["memory_with_out_bytes"] if out else each["memory_bytes"]
    active = min(runs, at_once) * (each["memory_with_rows_bytes"] if rows else without_rows)
    held = 0 if runs == 1 else runs * (RECORD_BYTES + (each["rows_bytes"] if rows else 0))
    return float(active + held)


def afford(
    each: Cost,
    allowed: Limit | None,
    *,
    runs: int = 1,
    jobs: int | None = None,
    cluster: str | None = None,
    rows: bool = False,
    out: bool = False,
) -> None:
    """Raise `TooLarge` for runs of equal cost that need more memory than they may.

    They are made `jobs` at a time (default: one for each core), or on the workers of a cluster.
    """
    if allowed is None:
        return
    at_once = 0 if cluster is not None else jobs or os.cpu_count() or 1
    _refuse(each, runs, memory(each, runs, at_once, rows, out), allowed)
    if cluster is not None:
        # Loaded late: few calls ask for a cluster.
        from duetime.engine.cluster import memory_of_a_run

        share = memory_of_a_run(cluster)
        if share is not None:
            _refuse(each, 1, memory(each, 1, 1, rows, out), Limit(share, "each thread of a worker has"))


def _refuse(each: Cost, runs: int, needed: float, allowed: Limit) -> None:
    """Raise `TooLarge` if runs need more memory than they may."""
    if needed > allowed.bytes:
        raise TooLarge(
            f"{counted(runs, 'run')} of about {short(each['messages'])} messages and "
            f"{short(each['packet_hops'])} packet-hops each: about {quantities.memory(needed)} of memory, "
            f"and {allowed.words} {quantities.memory(allowed.bytes)}; --yes runs it anyway"
        )


def afford_points(
    points: Sequence[Point],
    allowed: Limit | None,
    *,
    runs: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
) -> None:
    """Raise `TooLarge` if all runs, each of the cost of the first or the last point, need too much memory.

    The number of `runs` is that of the points unless it is given. A point with a mistake fails later.
    """
    if allowed is None or not points:
        return
    found: list[Cost] = []
    for point in dict.fromkeys((points[0], points[-1])):
        with suppress(_core.ScenarioError, Unreadable):
            given = point.scenario
            read = scenario.read_file(given) if isinstance(given, Path) else given
            found.append(cost(read, point.seed, point.overrides, point.transport))
    for each in found:
        afford(each, allowed, runs=runs or len(points), jobs=jobs, cluster=cluster)
