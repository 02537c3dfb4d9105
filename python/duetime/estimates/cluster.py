"""Clusters of links with similar traffic, and the choice of the links to simulate.

- Links are of one *kind* if their place in paths (a host's first link, its last, or between), rate, delay
  and port are the same. The classes, the sizes and the gaps between the messages that cross them must not
  differ by more than chance (two-sample Kolmogorov and Smirnov).
- The links of a kind are ordered by load and cut into *clusters* that carry equal bytes. So the links with a
  high load, where delays are long and differ, are distinguished most finely.
- Of a cluster as many links are simulated, evenly over its order, as give enough messages of each class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duetime.estimates.traffic import Traffic
from duetime.foreseen import Column

#: Clusters of a kind. Delays grow steeply with load. Four quarters of the bytes leave a factor of two or less
#: within the upper ones; more clusters would each need their own samples.
LOADS = 4
#: Messages of each class that are simulated in a cluster: 1000 in a kind, so that ten of them are beyond its
#: 99th percentile.
SAMPLES = 250
#: The share of it for links other than receivers' (a host's first, and between). For a given cost a sum is
#: estimated best by samples in proportion to how much each part of it differs. At 2048 hosts and load 0.3 the
#: delays of messages differ by half of their ideal time at either. At receivers' links they differ by four of
#: it: an eighth would do there. At load 0.5 a quarter was too few: medians were 25 % too high, with all 17 %.
ELSEWHERE = 0.5
#: A class with a smaller share of a cluster's messages does not require more links: its delays are taken from
#: the neighbours' samples.
RARE = 0.01
#: The chance that two links with traffic from one source are put into different kinds: below one in all the
#: links of the largest networks.
APART = 1e-6
#: As many messages of a kind tell what it is like; more would not tell it much better.
LIKENESS = 1000


@dataclass(frozen=True)
class Cluster:
    """Links, in order of their load, and the links of them that are simulated."""

    kind: int
    links: Column
    simulated: Column


def clusters(traffic: Traffic, samples: int = SAMPLES, loads: int = LOADS) -> list[Cluster]:
    """Put all links that carry messages into clusters."""
    many = len(traffic.framing)
    by_class = np.bincount(
        traffic.hops * many + traffic.classes[traffic.row], minlength=len(traffic.rate) * many
    ).reshape(-1, many)
    carried = np.bincount(traffic.hops, weights=traffic.wire[traffic.row], minlength=len(traffic.rate))
    found = []
    receiving = np.zeros(len(traffic.rate), dtype=bool)
    receiving[traffic.hops[traffic.first[1:] - 1]] = True
    for number, links in enumerate(_kinds(traffic)):
        needed = samples if receiving[links[0]] else samples * ELSEWHERE
        ordered = links[np.argsort(carried[links], kind="stable")]
        share = np.cumsum(carried[ordered]) / carried[ordered].sum()
        quarter = np.minimum((share * loads - 1e-9).astype(int), loads - 1)
        for each in np.unique(quarter):
            members = ordered[quarter == each]
            found.append(Cluster(number, members, _some(members, by_class[members], needed)))
    return found


def _some(links: Column, by_class: Column, samples: float) -> Column:
    """Links, evenly over their order, with so many messages of each class, as far as there are as many."""
    total = by_class.sum(axis=0)
    asked = total[total >= RARE * total.sum()]
    needed = math.ceil(len(links) * min(samples / asked.min(), 1.0))
    places = ((np.arange(needed) + 0.5) * len(links) / needed).astype(int)
    found: Column = links[places]
    return found


def _kinds(traffic: Traffic) -> list[Column]:
    """Links that could be exchanged."""
    last = traffic.first[traffic.row + 1] - 1 == np.arange(len(traffic.hops))
    place = np.full(len(traffic.rate), -1)
    place[traffic.hops] = np.where(traffic.place == 0, 0, np.where(last, 2, 1))
    used = np.flatnonzero(place >= 0)
    port = np.stack([place, traffic.rate, traffic.delay, traffic.room, traffic.mark])[:, used]
    _, which = np.unique(port, axis=1, return_inverse=True)
    found: list[Column] = []
    for each in range(int(which.max()) + 1):
        found += _alike(traffic, used[which.ravel() == each])
    return found


def _alike(traffic: Traffic, links: Column) -> list[Column]:
    """Split links whose traffic differs by more than chance."""
    kinds: list[tuple[list[int], list[Column]]] = []
    for link in links:
        seen = _seen(traffic, int(link))
        for members, pooled in kinds:
            if not any(_differ(a, b) for a, b in zip(seen, pooled, strict=True)):
                members.append(int(link))
                if len(pooled[0]) < LIKENESS:
                    pooled[:] = [np.sort(np.concatenate(each)) for each in zip(pooled, seen, strict=True)]
                break
        else:
            kinds.append(([int(link)], seen))
    return [np.array(members) for members, _ in kinds]


def _seen(traffic: Traffic, link: int) -> list[Column]:
    """Return the features of a link's traffic, each sorted: classes, sizes, and gaps over their mean."""
    rows = traffic.row[traffic.crossings(link)]
    gaps = np.diff(traffic.start[rows])
    mean = gaps.mean() if len(gaps) else 0.0
    return [
        np.sort(traffic.classes[rows]),
        np.sort(traffic.bytes[rows]),
        np.sort(gaps / mean if mean else gaps),
    ]


def _differ(a: Column, b: Column) -> bool:
    """Return whether two sorted samples are from different distributions."""
    if not len(a) or not len(b):
        return False
    at = np.concatenate([a, b])
    of_a = np.searchsorted(a, at, side="right") / len(a)
    of_b = np.searchsorted(b, at, side="right") / len(b)
    most = math.sqrt(-math.log(APART / 2) / 2 * (1 / len(a) + 1 / len(b)))
    return float(np.abs(of_a - of_b).max()) > most
