"""A scenario to be estimated, and the settings of its simulations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import scenario
from duetime.engine.points import Kept, Point, run_points
from duetime.errors import Failed
from duetime.run import resolve

if TYPE_CHECKING:
    from duetime.contract.scenarios import Resolved


@dataclass(frozen=True)
class Task:
    """A scenario to be estimated."""

    read: scenario.Scenario
    changes: tuple[str, ...]
    seed: int
    resolved: Resolved
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
        """Resolve and check the scenario, with the changes and the transport."""
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
