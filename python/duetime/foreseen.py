"""The messages of a scenario and the links that they cross, as the engine foresees them, in arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from duetime._core import _Foreseen

#: An array, of numbers of any type.
Column = np.ndarray[Any, Any]
#: The columns of messages, of the links on their paths, of links and of classes.
NAMES: Final = (
    *("class", "from", "to", "start", "bytes", "deadline", "ideal", "query"),
    *("first", "hops"),
    *("rate", "delay", "room", "mark"),
    "frame",
)


def columns(ahead: _Foreseen) -> dict[str, Column]:
    """Return the columns by their names."""
    return {name: np.frombuffer(ahead[name][1], ahead[name][0]) for name in NAMES}
