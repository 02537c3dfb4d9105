"""A network that another program asks: told its transfers on the way, it says when they have arrived."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from duetime import _core, scenario

_PS = 1e12


@dataclass(frozen=True, slots=True)
class Completed:
    """A transfer that is over."""

    #: Its number, as `Network.transfer` returned it.
    number: int
    #: When its last byte arrived, in seconds from the start of the run.
    at: float
    #: Its transport gave it up (``expired = "abort"``): it has not arrived.
    aborted: bool


@final
class Network:
    """A network at packet level for other simulators, in place of bytes divided by bandwidth.

    The scenario is as for `duetime.run`, with a class that takes the transfers: ``[[traffic]]`` with a name
    and ``pattern = "program"``. Its other classes send beside them. Times are in seconds from the start of
    the run.

    >>> network = duetime.Network("cluster.toml")
    >>> number = network.transfer(0.0, src=3, dst=40, bytes=64 << 20, deadline=0.02)
    >>> network.advance(0.1)
    [Completed(number=0, at=0.00561..., aborted=False)]

    Raises what `duetime.run` raises for a bad scenario.
    """

    def __init__(
        self,
        source: scenario.Source,
        *,
        seed: int | None = None,
        set: scenario.Changes | None = None,
        transport: str | None = None,
    ) -> None:
        """Begin the run of a scenario; `seed`, `set` and `transport` are as for `duetime.run`."""
        read = scenario.read(source)
        changes = scenario.changes(set)
        self._core = _core.Network(read.text, read.name, read.folder, changes, seed, transport)
        self._now = 0

    @property
    def hosts(self) -> int:
        """The number of hosts: they are 0 to one less."""
        return self._core.hosts

    @property
    def now(self) -> float:
        """The time that the run has reached, in seconds."""
        return self._now / _PS

    def transfer(
        self,
        at: float,
        src: int,
        dst: int,
        bytes: int,
        deadline: float | None = None,
        *,
        name: str | None = None,
    ) -> int:
        """Hand over a message that starts at `at`, and return its number; numbers count from 0.

        `deadline` is the allowed time from `at`. `name` is the class, where several take transfers.
        Raises ValueError for a time in the past, a host that does not exist, or no bytes.
        """
        start = _ps(at, "at")
        if start < self._now:
            raise ValueError(f"at = {at} s is in the past: the run has reached {self.now} s")
        for what, host in (("src", src), ("dst", dst)):
            if not 0 <= host < self._core.hosts:
                raise ValueError(f"{what} = {host}: the network has hosts 0 to {self._core.hosts - 1}")
        if src == dst:
            raise ValueError(f"host {src} would send to itself")
        if bytes < 1:
            raise ValueError(f"bytes = {bytes}: a message has at least 1 byte")
        allowed = None if deadline is None else _ps(deadline, "deadline")
        if allowed is not None and allowed < 1:
            raise ValueError(f"deadline = {deadline} s: it must be above 0")
        return self._core.transfer(self._class(name), start, src, dst, bytes, allowed)

    def advance(self, to: float, *, first: bool = False) -> Sequence[Completed]:
        """Simulate until `to`, and return the transfers that are over since the last call, in order.

        With `first` it stops at the first of them, so that its effects can start at its end.
        Raises ValueError for a time in the past or after the end of the run.
        """
        until = _ps(to, "to")
        if until < self._now:
            raise ValueError(f"to = {to} s is in the past: the run has reached {self.now} s")
        if until > self._core.end:
            raise ValueError(f"to = {to} s: the run ends at {self._core.end / _PS} s (run.duration)")
        completed = self._core.advance(until, first)
        self._now = completed[-1][1] if first and completed else until
        return [Completed(number, at / _PS, aborted) for number, at, aborted in completed]

    def _class(self, name: str | None) -> int:
        classes = self._core.classes
        if name is None:
            return 0
        if name not in classes:
            near = difflib.get_close_matches(name, classes, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"no class `{name}` takes transfers{meant} (there are {', '.join(classes)})")
        return classes.index(name)


def _ps(seconds: float, what: str) -> int:
    if not math.isfinite(seconds) or not 0 <= seconds <= 1e6:
        raise ValueError(f"{what} = {seconds} s: it must be between 0 and 1e6")
    return round(seconds * _PS)
