"""A scenario that the fluid model is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from duetime import _core
from duetime.contract import reading

if TYPE_CHECKING:
    from duetime.contract.scenarios import Resolved


class Keywords(TypedDict):
    """The arguments of every function of `_core` that reads a scenario, beside its text and name."""

    folder: str | None
    set: list[str]
    seed: int | None
    transport: str | None
    files: dict[str, bytes]


@dataclass(frozen=True)
class Task:
    """A scenario as `_core` takes it."""

    text: str
    name: str
    folder: str | None = None
    set: tuple[str, ...] = ()
    seed: int | None = None
    transport: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)

    def keywords(self) -> Keywords:
        """Return the arguments of every function of `_core` that reads a scenario."""
        return {
            "folder": self.folder,
            "set": list(self.set),
            "seed": self.seed,
            "transport": self.transport,
            "files": dict(self.files),
        }

    def resolved(self) -> tuple[Resolved, list[str]]:
        """The scenario with every default filled in, and notes."""
        resolved, notes, _ = _core.check(self.text, self.name, **self.keywords())
        return reading.resolved(resolved), notes
