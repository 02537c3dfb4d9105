"""A fluid model: rates and queues instead of packets, a round trip at a time.

`engine` defines a step, `laws` are the transports, `scenario` runs scenario files (``[run] engine =
"fluid"``), `sessions` makes the traffic of MCP's evaluation. All of it uses only the Python array API
standard: numpy by default, CuPy or JAX where they are installed.

Nothing here is imported before a scenario asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from duetime import _core

if TYPE_CHECKING:
    from duetime.results import Result

WORD = "fluid"


@dataclass(frozen=True)
class Task:
    """A scenario as `_core` takes it."""

    text: str
    name: str
    folder: str | None = None
    set: tuple[str, ...] = ()
    seed: int | None = None
    transport: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of every function of `_core` that reads a scenario."""
        return {
            "folder": self.folder,
            "set": list(self.set),
            "seed": self.seed,
            "transport": self.transport,
            "files": dict(self.files),
        }

    def resolved(self) -> tuple[dict[str, Any], list[str]]:
        """The scenario with every default filled in, and notes."""
        resolved, notes, _ = _core.check(self.text, self.name, **self.keywords())
        return json.loads(resolved), notes


def asked_for(text: str, changes: Iterable[str]) -> bool:
    """Return whether a scenario may select this engine; one that never names it is not read a second time."""
    return WORD in text or any(WORD in change for change in changes)


def simulated(task: Task, progress: Callable[[float, float, int], object] | None) -> Result | None:
    """Run a scenario whose engine this is; nothing for the others. Raises what `scenario.simulate` raises."""
    resolved, _ = task.resolved()
    if resolved["run"]["engine"] != WORD:
        return None
    # It needs libraries that the others do not.
    from duetime.fluid import scenario

    return scenario.simulate(task, progress=progress)
