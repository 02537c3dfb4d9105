"""Congestion controllers as Python classes, called once per window, for trying an idea."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, TypeVar, overload

from duetime import _core
from duetime._core import Window as Window
from duetime.errors import Unreadable
from duetime.transports import PYTHON

#: Whether a controller's packets can be marked, and how marks are echoed.
Ecn: TypeAlias = Literal["off", "classic", "exact"]


class Controller(Protocol):
    """A congestion controller: one object of the class for each connection."""

    def on_window(self, w: Window, /) -> float | None:
        """Set the window for the next round trip: return it, in segments, or set ``w.cwnd``."""


C = TypeVar("C", bound=type[Controller])
#: A transport: a name, the path of a plug-in, or a class that `controller` has registered.
Transport: TypeAlias = str | type[Controller]

#: Class -> the text that names it in a scenario.
_registered: dict[type, str] = {}


@overload
def controller(cls: C, /) -> C: ...
@overload
def controller(*, ecn: Ecn = "exact") -> Callable[[C], C]: ...
def controller(cls: C | None = None, /, *, ecn: Ecn = "exact") -> C | Callable[[C], C]:
    """Register a class as a transport for `duetime.run` and `duetime.compare`.

    Each connection has an object of the class. Its ``on_window(w)`` is called about once in a round trip:
    when all data is acknowledged that was sent before the last call. ``w`` has the acknowledged segments, the
    share of marks, the losses and the round-trip time. The method returns the new window in segments, or sets
    ``w.cwnd``. After a loss the window is halved, and after a timeout it is one segment, before the next
    call.

    >>> @duetime.controller
    ... class Gentle:
    ...     def on_window(self, w):
    ...         return w.cwnd * (1 - w.marked / 2) if w.marked else w.cwnd + 1
    >>> duetime.compare("incast.toml", ["dctcp", Gentle])
    """

    def register(cls: C) -> C:
        if not isinstance(cls, type) or not callable(getattr(cls, "on_window", None)):
            raise TypeError(f"a controller is a class with a method on_window(self, w), not {cls!r}")
        _registered[cls] = _core.register(cls.__name__, cls, ecn)
        return cls

    return register if cls is None else register(cls)


def text(transport: Transport) -> str:
    """Return a transport as `_core` takes it; `Unreadable` for a class that is not registered."""
    if isinstance(transport, str):
        return transport
    if isinstance(transport, type) and transport in _registered:
        # Another class of its name may have taken its place.
        name = _registered[transport]
        newest = [cls for cls, own in _registered.items() if own == name][-1]
        if newest is not transport:
            raise Unreadable(f"two controllers are called {name.removeprefix(PYTHON)}; rename one")
        return name
    raise Unreadable(f"{transport!r} is no transport: write @duetime.controller above the class")
