"""Arrays of whichever library, and sums over the links that flows cross.

Only functions of the Python array API standard are used, so that any library with the standard works. It has
no scatter; sums by link are differences of a running sum over the hops in the order of their links.
"""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import numpy as np

from duetime.errors import Missing

#: An array of the chosen library.
Array: TypeAlias = Any
LIBRARIES = ("numpy", "cupy", "jax")


def namespace(library: str) -> Any:
    """The array API of a library, with 64-bit floats; `Missing` if it is not installed."""
    if library not in LIBRARIES:
        raise Missing(f"the fluid model runs on {', '.join(LIBRARIES)}, not on {library}")
    try:
        if library == "jax":
            importlib.import_module("jax").config.update("jax_enable_x64", True)
            return importlib.import_module("jax.numpy")
        return importlib.import_module(f"array_api_compat.{library}")
    except ImportError as error:
        raise Missing(f"{library} is not installed: {error}") from None


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """Bring an array to this machine's memory."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


class Incidence:
    """The links that each flow crosses, in order; flows with fewer hops cross the dummy link at the end."""

    def __init__(self, xp: Any, hops: np.ndarray[Any, Any], links: int) -> None:
        """For `hops`, flows by most hops, of links 0 to `links` - 1."""
        flat = hops.reshape(-1)
        order = np.argsort(flat, kind="stable")
        ends = np.searchsorted(flat[order], np.arange(links), side="right")
        self.xp = xp
        self.shape = hops.shape
        self.columns = [xp.asarray(hops[:, hop]) for hop in range(hops.shape[1])]
        self.order = xp.asarray(order)
        self.ends = xp.asarray(np.concatenate([[0], ends]))

    def of_links(self, values: Array) -> list[Array]:
        """The values of the links that flows cross: for each hop an array by flow."""
        return [self.xp.take(values, column) for column in self.columns]

    def sums(self, of_hops: list[Array]) -> Array:
        """For each link the sum over the flows that cross it."""
        xp = self.xp
        flat = xp.reshape(xp.stack(of_hops, axis=1), (-1,))
        running = xp.cumulative_sum(xp.take(flat, self.order), include_initial=True)
        at = xp.take(running, self.ends)
        # A difference of sums may be below zero by their last bit.
        return xp.maximum(at[1:] - at[:-1], 0.0 * at[1:])
