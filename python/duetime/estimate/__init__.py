"""Large networks link by link: slowdown and missed deadlines without simulating the whole.

The idea is Parsimon's (Zhao, Goyal, Alizadeh and Anderson, NSDI 2023): each link is simulated alone with the messages that
cross it, only some of the links whose traffic is alike are, and what a message waits at the links of its path is added up.
`traffic` draws and routes the messages, `cluster` chooses links, `link` makes a scenario of each, `delays` takes what
they give to all other links, `check` holds it against a full run, `limits` says where it cannot be used.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duetime import _core, files, scenario
from duetime.frames import pl
from duetime.points import Kept, Point, run_points
from duetime.run import resolve
from duetime.trouble import Failed

if TYPE_CHECKING:
    from duetime.estimate.traffic import Traffic

RUNS = "runs"
RECORD, MESSAGES = "estimate.json", "messages.parquet"
#: What a folder of ours holds.
PARTS = {RUNS, RECORD, MESSAGES}
#: Packet-hops of the full run that an estimate is held against, unless one says otherwise: some ten seconds of one core.
BUDGET = 20_000_000


@dataclass(frozen=True, repr=False)
class Estimate:
    """What was estimated: `data` is what ``duetime estimate --json`` prints."""

    data: dict[str, Any]

    def __repr__(self) -> str:
        """Say what it is of."""
        return f"<Estimate of {self.data['title']!r}: {self.data['transport']}, seed {self.data['seed']}>"

    def _repr_html_(self) -> str:
        """Show the table of ``duetime estimate`` in a notebook."""
        from duetime.cli import estimate, tables

        return tables.html(*estimate.table(self))


def estimate(
    source: scenario.Source,
    *,
    out: str | os.PathLike[str],
    set: scenario.Changes | None = None,
    seed: int | None = None,
    transport: str | None = None,
    budget: int = BUDGET,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate slowdown by size and missed deadlines of a scenario from simulations of single links.

    `source`, `set`, `seed` and `transport` are those of `run`, `progress` and `jobs` those of `compare`. Simulations
    of links are kept in ``out/runs``, so that a call that was stopped resumes; ``out/messages.parquet`` has
    a row for each message with its estimated completion time. The estimate carries its error against a full
    run of the same network in the largest size that takes at most `budget` packet-hops; 0 leaves this out.

    Raises what `run` raises, `scenario.Unreadable` for what no estimate can be made of, `files.Refused` for a
    folder that holds something else, and `trouble.Failed` where a simulation fails.
    """
    from duetime.estimate import check, limits

    folder, changes = Path(out), scenario.changes(set)
    files.check_growing(folder, PARTS)
    read = scenario.read(source)
    if transport is not None:
        changes = [*changes, f"transport.name={transport}"]
    resolved, notes = resolve(read, seed, changes, None)
    limits.refuse(resolved, read.name)
    runs = Runs(folder / RUNS, jobs, progress)
    begun = time.process_time()
    task = Task(read, tuple(changes), int(resolved["run"]["seed"]), resolved)
    made, messages = of_links(task, runs)
    took = time.process_time() - begun
    found = {
        "title": resolved["title"],
        "seed": task.seed,
        "transport": resolved.get("transport", {}).get("name"),
        **made,
        "check": check.against_full(task, runs, budget, made["links"]["packet_hops_of_all"])
        if budget
        else None,
        "notes": notes,
    }
    files.write(folder / RECORD, (json.dumps({"version": _core.version(), **found}, indent=1) + "\n").encode())
    files.write(folder / MESSAGES, files.table(messages))
    return Estimate({**found, "cpu_s": took, "cpu_with_check_s": time.process_time() - begun})


@dataclass(frozen=True)
class Task:
    """A scenario to be estimated."""

    read: scenario.Scenario
    changes: tuple[str, ...]
    seed: int
    resolved: Mapping[str, Any]


@dataclass(frozen=True)
class Runs:
    """How simulations are made."""

    store: Path
    jobs: int | None
    progress: bool | None

    def of(self, points: Sequence[Point]) -> list[Kept]:
        """Make them all, or raise `Failed`."""
        found = run_points(
            points, store=self.store, jobs=self.jobs, progress=self.progress, tables=("flows",)
        )
        for each in found:
            if each.error is not None:
                raise Failed(f"a simulation for the estimate failed: {each.error}")
        return found


def of_links(task: Task, runs: Runs) -> tuple[dict[str, Any], pl.DataFrame]:
    """Estimate a scenario: the figures, and a row for each message that counts."""
    from duetime.estimate import limits, paths, summary, traffic

    found = traffic.of(task.resolved, task.read, task.changes, task.seed)
    if not found.counted.any():
        raise scenario.Unreadable(f"{task.read.name}: no message starts in the measured time")
    completion, links = paths.completion(found, task.seed, runs)
    messages = summary.messages(found, completion)
    return {
        **summary.figures(messages),
        "links": links,
        "warnings": list(limits.warnings(found)),
    }, messages
