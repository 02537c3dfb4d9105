"""Time of messages without other traffic beyond the ideal time: windows have to grow, and hosts are late."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from duetime.engine.points import Kept, Point
from duetime.estimates.link import Shape, calibration, ideal
from duetime.estimates.traffic import Traffic
from duetime.foreseen import Column


@dataclass
class Unhurried:
    """Each class on each requested path, simulated with one message at a time."""

    traffic: Traffic
    _wanted: dict[tuple[int, Shape], tuple[Point, Column]] = field(default_factory=dict)
    _seen: dict[tuple[int, Shape], tuple[Column, Column]] = field(default_factory=dict)

    def want(self, classes: Column, shape: Column, shapes: Sequence[Shape]) -> None:
        """Ask for the classes of some messages on their paths."""
        for number, place in _different(classes, shape):
            if (number, shapes[place]) not in self._wanted:
                read, packets = calibration(self.traffic, number, shapes[place])
                point = Point(read, seed=int(self.traffic.resolved["run"]["seed"]))
                self._wanted[number, shapes[place]] = point, packets

    def points(self) -> list[Point]:
        """Return the points to simulate."""
        return [point for point, _ in self._wanted.values()]

    def learn(self, kept: Iterable[Kept]) -> None:
        """Read the results, in the order of the points."""
        for (asked, (_, packets)), run in zip(self._wanted.items(), kept, strict=True):
            flows = run.table("flows")
            beyond = (flows["fct_us"] - flows["ideal_fct_us"]).to_numpy() * 1e6
            sizes = np.unique(packets)
            self._seen[asked] = sizes, np.array([beyond[packets == each].mean() for each in sizes])

    def takes(self, rows: Column, shape: Column, shapes: Sequence[Shape]) -> Column:
        """Return the completion times of messages alone on their paths, in ps.

        The excess over the ideal time is interpolated linearly between the simulated sizes, and constant
        beyond.
        """
        traffic = self.traffic
        found = np.zeros(len(rows))
        classes = traffic.classes[rows]
        for number, place in _different(classes, shape):
            which = np.flatnonzero((classes == number) & (shape == place))
            packets, size = traffic.packets[rows[which]], traffic.bytes[rows[which]]
            found[which] = ideal(shapes[place], packets, size, traffic.framing[number])
            found[which] += np.interp(packets, *self._seen[number, shapes[place]])
        return found


def _different(classes: Column, shape: Column) -> list[tuple[int, int]]:
    pairs = np.unique(np.stack([classes, shape]), axis=1)
    return [(int(number), int(place)) for number, place in pairs.T]
