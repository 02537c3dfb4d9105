"""A fluid model: rates and queues instead of packets, a round trip at a time.

`engine` defines a step, `laws` are the transports, `scenario` runs scenario files (``[run] engine =
"fluid"``), `sessions` makes the traffic of MCP's evaluation. All of it uses only the Python array API
standard: numpy by default, CuPy or JAX where they are installed.

Nothing here is imported before a scenario asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from duetime.engine import Progress
from duetime.fluid.task import Task

if TYPE_CHECKING:
    from duetime.results import Result

__all__ = ["Task", "asked_for", "simulated"]

WORD = "fluid"


def asked_for(text: str, changes: Iterable[str]) -> bool:
    """Return whether a scenario may select this engine; one that never names it is not read a second time."""
    return WORD in text or any(WORD in change for change in changes)


def simulated(task: Task, progress: Progress | None) -> Result | None:
    """Run a scenario whose engine this is; nothing for the others. Raises what `scenario.simulate` raises."""
    resolved, _ = task.resolved()
    if resolved["run"]["engine"] != WORD:
        return None
    # Loaded late: it needs numpy, which no run of packets does.
    from duetime.fluid import scenario

    return scenario.simulate(task, progress=progress)
