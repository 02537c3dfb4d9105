"""The cost of runs before they are made: their memory, and a refusal of more than the machine has."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from duetime import _core, quantities, scenario
from duetime.errors import TooLarge
from duetime.quantities import counted, short

#: Bytes of a finished run's figures in memory, beside its rows.
RECORD_BYTES = 60_000
#: Where a group of processes on Linux has its limit.
LIMIT = Path("/sys/fs/cgroup/memory.max")


def cost(
    read: scenario.Scenario, seed: int | None, changes: scenario.Changes | None, transport: str | None = None
) -> dict[str, Any]:
    """Return the expected cost of a run: what ``duetime check --explain --json`` has under ``cost``."""
    text = _core.cost(
        read.text,
        read.name,
        read.folder,
        set=scenario.changes(changes),
        seed=seed,
        transport=transport,
    )
    found: dict[str, Any] = json.loads(text)
    return found


def machine_memory() -> int | None:
    """Return the bytes of memory that this process may have; None where the system does not say."""
    known = []
    with suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):
        known.append(int(LIMIT.read_text()))
    return min((each for each in known if each > 0), default=None)


def memory(each: Mapping[str, Any], runs: int, jobs: int, rows: bool) -> float:
    """Return the bytes that runs of equal cost need, `jobs` at a time; with `rows` all rows are kept."""
    at_once = min(runs, jobs) * each["memory_with_rows_bytes" if rows else "memory_bytes"]
    held = 0 if runs == 1 else runs * (RECORD_BYTES + (each["rows_bytes"] if rows else 0))
    return float(at_once + held)


def afford(
    each: Mapping[str, Any], *, runs: int = 1, jobs: int = 1, rows: bool = False, limit: float | None = None
) -> None:
    """Raise `TooLarge` for runs that need more than `limit` bytes, by default the memory of this machine."""
    allowed = machine_memory() if limit is None else limit
    needed = memory(each, runs, jobs, rows)
    if allowed is not None and needed > allowed:
        whose = "--max-memory allows" if limit is not None else "this machine has"
        raise TooLarge(
            f"{counted(runs, 'run')} of about {short(each['messages'])} messages and "
            f"{short(each['packet_hops'])} packet-hops each: about {quantities.memory(needed)} of memory, and {whose} "
            f"{quantities.memory(allowed)}; --yes runs it anyway"
        )
