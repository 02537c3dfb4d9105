"""Large networks link by link: slowdown and missed deadlines without simulating the whole.

The idea is Parsimon's (Zhao, Goyal, Alizadeh and Anderson, NSDI 2023): each link is simulated alone with the
messages that cross it, only some of the links whose traffic is alike are, and what a message waits at the
links of its path is added up. `traffic` draws and routes the messages, `cluster` chooses links, `link` makes
a scenario of each, `delays` takes what they give to all other links, `check` holds it against a full run,
`limits` says where it cannot be used.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duetime import _core, files, scenario
from duetime.frames import pl
from duetime.points import Kept, Point, run_points
from duetime.run import resolve
from duetime.trouble import Failed

RUNS = "runs"
RECORD, MESSAGES = "estimate.json", "messages.parquet"
#: What a folder of ours holds.
PARTS = {RUNS, RECORD, MESSAGES, "report.html"}


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


def estimated(task: Task, out: Path, budget: int, jobs: int | None, progress: bool | None) -> Estimate:
    """Make an estimate, and write it into a folder: `functions.estimate` says more."""
    from duetime.estimates import check, limits

    limits.refuse(task.resolved, task.read.name)
    files.check_growing(out, PARTS)
    runs = Runs(out / RUNS, jobs, progress)
    begun = time.process_time()
    made, messages = of_links(task, runs)
    took = time.process_time() - begun
    held = check.against_full(task, runs, budget, made["links"]["packet_hops_of_all"]) if budget else None
    found = {
        "title": task.resolved["title"],
        "seed": task.seed,
        "transport": task.resolved.get("transport", {}).get("name"),
        **made,
        "check": held,
        "notes": task.notes,
    }
    record = json.dumps({"version": _core.version(), **found}, indent=1, ensure_ascii=False) + "\n"
    files.write(out / RECORD, record.encode())
    files.write(out / MESSAGES, files.table(messages))
    return Estimate({**found, "cpu_s": took, "cpu_with_check_s": time.process_time() - begun})


@dataclass(frozen=True)
class Task:
    """A scenario to be estimated."""

    read: scenario.Scenario
    changes: tuple[str, ...]
    seed: int
    resolved: Mapping[str, Any]
    #: What the reader should know of it.
    notes: list[str]

    @classmethod
    def of(
        cls,
        read: scenario.Scenario,
        changes: Sequence[str] = (),
        seed: int | None = None,
        transport: str | None = None,
    ) -> Task:
        """Check it."""
        if transport is not None:
            changes = [*changes, f"transport.name={transport}"]
        resolved, notes = resolve(read, seed, changes, None)
        return cls(read, tuple(changes), int(resolved["run"]["seed"]), resolved, notes)


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
    from duetime.estimates import limits, paths, summary, traffic

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
