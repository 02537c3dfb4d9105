"""Completion times: what a message takes alone on its path, and what it waits at each link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from duetime.estimate import Runs, delays
from duetime.estimate.cluster import clusters
from duetime.estimate.link import Alone, Shape, alone, calibration, ideal
from duetime.estimate.traffic import Column, Traffic
from duetime.frames import pl
from duetime.points import Kept, Point
from duetime.trouble import Failed


def completion(traffic: Traffic, seed: int, runs: Runs) -> tuple[Column, dict[str, Any]]:
    """Estimate each message's completion time in ps, infinite for what does not arrive; and what was simulated."""
    chosen = clusters(traffic)
    cluster = np.zeros(len(traffic.rate), dtype=np.int64)
    kind = np.zeros(len(traffic.rate), dtype=np.int64)
    for number, each in enumerate(chosen):
        cluster[each.links], kind[each.links] = number, each.kind
    cut = [alone(traffic, int(link)) for each in chosen for link in each.simulated]
    shapes, path = _paths(traffic)
    unhurried = _Unhurried(traffic)
    for number in range(len(traffic.framing)):
        for place in np.unique(path[traffic.classes == number]):
            unhurried.want(number, shapes[place])
    for each in cut:
        for number in np.unique(traffic.classes[each.rows]):
            for place in np.unique(each.shape[traffic.classes[each.rows] == number]):
                unhurried.want(int(number), each.shapes[place])
    points = [*unhurried.points(), *(Point(each.scenario, seed=seed) for each in cut)]
    kept = runs.of(points)
    unhurried.learn(kept)
    # Of each crossing of a link that was simulated, its own delay; nan elsewhere.
    waited = np.full(len(traffic.hops), np.nan)
    hops = 0
    for each, run in zip(cut, kept[len(points) - len(cut) :], strict=True):
        waited[traffic.crossings(each.link)] = _waited(traffic, each, run, unhurried)
        hops += int(run.result["packet_hops"])
    known = ~np.isnan(waited)
    sampled = known & traffic.counted[traffic.row]
    samples = _samples(traffic, cluster, kind, waited, sampled if sampled.any() else known)
    wanted = _samples(traffic, cluster, kind, waited, ~known)
    waited[~known] = delays.draw(samples, wanted, np.random.default_rng(seed))
    own = np.zeros(len(traffic.start))
    for number in range(len(traffic.framing)):
        for place in np.unique(path[traffic.classes == number]):
            rows = np.flatnonzero((traffic.classes == number) & (path == place))
            own[rows] = traffic.ideal[rows] + unhurried.beyond(number, shapes[place], traffic.packets[rows])
    # The link of a long message's sender is part of what was simulated at its receiver's.
    waited[(traffic.place == 0) & traffic.long[traffic.row]] = 0.0
    total = own + np.bincount(traffic.row, weights=waited, minlength=len(own))
    links = {
        "of": int(sum(len(each.links) for each in chosen)),
        "clusters": len(chosen),
        "simulated": len(cut),
        "packet_hops": hops,
        "packet_hops_of_all": traffic.packet_hops,
    }
    return np.maximum(total, traffic.ideal), links


def _samples(traffic: Traffic, cluster: Column, kind: Column, waited: Column, chosen: Column) -> delays.Samples:
    link, row = traffic.hops[chosen], traffic.row[chosen]
    return delays.Samples(cluster[link], kind[link], traffic.classes[row], traffic.packets[row], waited[chosen])


def _paths(traffic: Traffic) -> tuple[list[Shape], Column]:
    """The shapes of the paths, and which each message takes."""
    pairs, which = np.unique(np.stack([traffic.rate, traffic.delay]), axis=1, return_inverse=True)
    which = which.ravel()
    length = np.diff(traffic.first)
    name = np.zeros(len(length), dtype=np.uint64)
    for step in range(int(length.max())):
        there = step < length
        hop = traffic.hops[np.where(there, traffic.first[:-1] + step, 0)]
        # Names of paths as numbers: a step further, multiplied by an odd constant that mixes their bits.
        name = np.where(there, (name + which[hop].astype(np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15), name)
    _, at, path = np.unique(name, return_index=True, return_inverse=True)
    shapes = []
    for row in at:
        hops = traffic.hops[traffic.first[row] : traffic.first[row + 1]]
        shapes.append(tuple((int(pairs[0, each]), int(pairs[1, each])) for each in which[hops]))
    return shapes, path.ravel()


def _waited(traffic: Traffic, cut: Alone, run: Kept, unhurried: _Unhurried) -> Column:
    """What each message of a link's simulation took beyond what it takes there alone, in ps."""
    flows = run.table("flows")
    if cut.elsewhere is not None:
        flows = flows.filter(pl.col("to") != cut.elsewhere)
    names = np.array([each["name"] for each in traffic.resolved["traffic"]])
    number = np.argsort(names)
    classes = number[np.searchsorted(names, flows["class"].to_numpy(), sorter=number)]
    size, start = flows["bytes"].to_numpy(), np.rint(flows["start_us"].to_numpy() * 1e6).astype(np.int64)
    fields = traffic.classes[cut.rows], traffic.bytes[cut.rows], traffic.start[cut.rows]
    # Messages that start together stand in any order; those that are alike in all of this may be exchanged.
    theirs, ours = np.lexsort((size, classes, start)), np.lexsort(fields)
    if not np.array_equal(size[theirs], fields[1][ours]):
        raise Failed(f"{cut.scenario.name}: the simulation of this link had other messages than it should")
    fct = flows["fct_us"].fill_null(float("inf")).to_numpy() * 1e6
    took = np.empty(len(fct))
    took[ours] = fct[theirs]
    for place, shape in enumerate(cut.shapes):
        for each in np.unique(fields[0]):
            rows = np.flatnonzero((cut.shape == place) & (fields[0] == each))
            packets = traffic.packets[cut.rows[rows]]
            least = ideal(shape, packets, fields[1][rows], traffic.framing[each])
            took[rows] -= least + unhurried.beyond(int(each), shape, packets)
    return took


@dataclass
class _Unhurried:
    """What messages take with nobody else beyond the ideal time: windows that have to grow, and hosts that are late."""

    traffic: Traffic
    seen: dict[tuple[int, Shape], tuple[Column, Column]] = field(default_factory=dict)
    _wanted: dict[tuple[int, Shape], tuple[Point, Column]] = field(default_factory=dict)

    def want(self, number: int, shape: Shape) -> None:
        """Ask for a class on a path."""
        if (number, shape) not in self._wanted:
            read, packets = calibration(self.traffic, number, shape)
            self._wanted[number, shape] = Point(read, seed=int(self.traffic.resolved["run"]["seed"])), packets

    def points(self) -> list[Point]:
        """What is to be simulated."""
        return [point for point, _ in self._wanted.values()]

    def learn(self, kept: list[Kept]) -> None:
        """Read the results, in the order of the points."""
        for (asked, (_, packets)), run in zip(self._wanted.items(), kept, strict=False):
            flows = run.table("flows")
            beyond = (flows["fct_us"] - flows["ideal_fct_us"]).fill_null(float("nan")).to_numpy() * 1e6
            sizes = np.unique(packets)
            self.seen[asked] = sizes, np.array([beyond[packets == each].mean() for each in sizes])

    def beyond(self, number: int, shape: Shape, packets: Column) -> Column:
        """In ps; between the sizes that were tried it is on a straight line, and constant beyond the largest."""
        sizes, beyond = self.seen[number, shape]
        return np.interp(packets, sizes, beyond)


