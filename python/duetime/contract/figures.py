"""Figures looked up by their path in the object of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from duetime.contract.runs import Figure


def at(part: object, path: Iterable[str]) -> Figure:
    """Return the figure at a path in an object, over one seed or several; None where there is none."""
    for key in path:
        part = part.get(key) if isinstance(part, Mapping) else None
    return cast("Figure", part)


def bound_at(part: object, path: tuple[str, ...]) -> float | None:
    """Return the lower bound of the figure at a path in the object of one run that does not know it."""
    found = at(part, (*path[:-1], "at_least", path[-1]))
    return float(found) if isinstance(found, int | float) else None
