"""Completion times: what a message takes alone on its path, and what it waits at each link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from duetime.engine.points import Kept, Point
from duetime.errors import Failed
from duetime.estimates import delays, limits, summary
from duetime.estimates.alone import Unhurried
from duetime.estimates.cluster import Cluster, clusters
from duetime.estimates.link import AFTERWARDS, Alone, Shape, alone
from duetime.estimates.task import Runs, Task
from duetime.estimates.traffic import Traffic, transports
from duetime.estimates.traffic import of as traffic_of
from duetime.foreseen import Column
from duetime.frames import pl
from duetime.quantities import time_ps

if TYPE_CHECKING:
    from duetime.contract.estimates import Links

#: Clusters of links, and the links of them that are to be simulated.
Cut = tuple[list[Cluster], list[Alone]]


def cut_out(traffic: Traffic) -> Cut:
    """Choose links, and make a scenario of each."""
    chosen = clusters(traffic)
    return chosen, [alone(traffic, int(link)) for each in chosen for link in each.simulated]


def of_links(task: Task, runs: Runs) -> tuple[Links, pl.DataFrame]:
    """Estimate a scenario: counts of the simulated links, and a row for each message that counts."""
    found = traffic_of(task.resolved, task.read, task.changes, task.seed)
    completed, links = completion(found, task.seed, runs)
    return links, summary.messages(found, completed)


def completion(traffic: Traffic, seed: int, runs: Runs, links: Cut | None = None) -> tuple[Column, Links]:
    """Estimate completion times in ps, infinite for messages that never arrive; count the simulations."""
    chosen, cut = links or cut_out(traffic)
    every = np.arange(len(traffic.start))
    shapes, path = _paths(traffic)
    unhurried = Unhurried(traffic)
    unhurried.want(traffic.classes, path, shapes)
    for part in cut:
        unhurried.want(traffic.classes[part.rows], part.shape, part.shapes)
    points = unhurried.points()
    kept = runs.of([*points, *(Point(part.scenario, seed=seed) for part in cut)])
    unhurried.learn(kept[: len(points)])
    # Of each crossing of a link that was simulated, its own delay; nan elsewhere.
    waited = np.full(len(traffic.hops), np.nan)
    shared = []
    for part, run in zip(cut, kept[len(points) :], strict=True):
        took = _took(traffic, part, run)
        alike = unhurried.takes(part.rows, part.shape, part.shapes)
        waited[traffic.crossings(part.link)] = took - alike
        which = _overlapping(traffic.sender[part.rows], traffic.start[part.rows], took)
        if part.between and len(which):
            shared.append((which, alike, alone(traffic, part.link, which, apart=True)))
    again = runs.of([Point(part.scenario, seed=seed) for *_, part in shared])
    for (which, alike, part), run in zip(shared, again, strict=True):
        # What a message waits for others of its sender it waits at its sender's link.
        waited[traffic.crossings(part.link)[which]] -= _took(traffic, part, run) - alike[which]
    kept += again
    _draw(traffic, chosen, waited, np.random.default_rng(seed))
    # The link of a long message's sender is part of the simulation of its receiver's link.
    waited[(traffic.place == 0) & traffic.long[traffic.row]] = 0.0
    total = unhurried.takes(every, path, shapes) + _added(traffic, waited)
    return np.maximum(total, traffic.ideal), {
        "of": sum(len(each.links) for each in chosen),
        "clusters": len(chosen),
        "simulated": len(cut),
        "packet_hops": sum(run.run["packet_hops"] for run in kept),
        "packet_hops_of_all": traffic.packet_hops,
    }


def _added(traffic: Traffic, waited: Column) -> Column:
    """Return the delay of each message on its path: the sum over its links, but some delays count only once.

    A burst of one query that meets at several links is spread by the first. A message that lost packets at
    one link arrives late and thinned at the others. Of such delays only the longest counts.
    """
    timeout = np.array([time_ps(each["rto_min"]) for each in transports(traffic.resolved)])
    once = limits.crowded(traffic) | (waited >= timeout[traffic.classes[traffic.row]])
    longest = np.zeros(len(traffic.start))
    np.maximum.at(longest, traffic.row[once], waited[once])
    rest = np.bincount(traffic.row, weights=np.where(once, 0.0, waited), minlength=len(longest))
    return rest + longest


def _overlapping(sender: Column, start: Column, took: Column) -> Column:
    """Messages that are under way at the same time as others of their sender."""
    end = start + np.minimum(took, AFTERWARDS)
    order = np.lexsort((start, sender))
    # Senders one after the other in time, so that the last end so far is that of the same sender.
    _, number = np.unique(sender[order], return_inverse=True)
    offset = number * (end.max(initial=0) + 1)
    latest = np.maximum.accumulate(end[order] + offset)
    alone_again = np.append(True, start[order][1:] + offset[1:] >= latest[:-1])
    span = np.cumsum(alone_again)
    return np.sort(order[np.bincount(span)[span] > 1])


def _draw(traffic: Traffic, chosen: list[Cluster], waited: Column, generator: np.random.Generator) -> None:
    """Draw a delay for each crossing of the links that were not simulated."""
    cluster, kind = (np.zeros(len(traffic.rate), dtype=np.int64) for _ in range(2))
    for number, each in enumerate(chosen):
        cluster[each.links], kind[each.links] = number, each.kind

    def some(at: Column) -> delays.Samples:
        link, row = traffic.hops[at], traffic.row[at]
        return delays.Samples(
            cluster[link], kind[link], traffic.classes[row], traffic.packets[row], waited[at]
        )

    known = ~np.isnan(waited)
    counted = known & traffic.counted[traffic.row]
    waited[~known] = delays.draw(some(counted if counted.any() else known), some(~known), generator)


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
        longer = (name + which[hop].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        name = np.where(there, longer, name)
    _, at, path = np.unique(name, return_index=True, return_inverse=True)
    shapes = []
    for row in at:
        hops = which[traffic.hops[traffic.first[row] : traffic.first[row + 1]]]
        shapes.append(tuple((int(pairs[0, each]), int(pairs[1, each])) for each in hops))
    return shapes, path.ravel()


def _took(traffic: Traffic, cut: Alone, run: Kept) -> Column:
    """Return the time of each message in a link's simulation, in ps."""
    flows = run.table("flows")
    if cut.elsewhere is not None:
        flows = flows.filter(pl.col("dst") != cut.elsewhere)
    numbers = {each["name"]: number for number, each in enumerate(traffic.resolved["traffic"])}
    classes = flows["class"].replace_strict(numbers, return_dtype=pl.Int64).to_numpy()
    size, start = flows["bytes"].to_numpy(), np.rint(flows["start_us"].to_numpy() * 1e6).astype(np.int64)
    # The order of messages that start together is arbitrary; equal messages may be exchanged.
    theirs = np.lexsort((size, classes, start))
    ours = np.lexsort((traffic.bytes[cut.rows], traffic.classes[cut.rows], traffic.start[cut.rows]))
    if not np.array_equal(size[theirs], traffic.bytes[cut.rows][ours]):
        raise Failed(f"{cut.scenario.name}: the simulation of this link had other messages than it should")
    took = np.empty(len(size))
    took[ours] = flows["fct_us"].fill_null(float("inf")).to_numpy()[theirs] * 1e6
    return took
