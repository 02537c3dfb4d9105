"""Delays of messages at links, transferred from the simulated links to all others.

A delay is the time of a message in a link's simulation beyond its time there alone, divided by its packets.
Delays of a cluster are kept by class in buckets of growing size. A message has its own delay at a link that
was simulated; at another link it gets one of its bucket at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duetime.foreseen import Column

#: The minimum number of delays in a bucket. Percentiles are taken over many buckets, so that none needs a
#: tail of its own. Larger buckets would give the delays per packet of small messages to large ones.
BUCKET = 25
#: And sizes that differ at least by this factor: within it, delay per packet hardly depends on the size.
SPREAD = 2.0


@dataclass(frozen=True)
class Samples:
    """Delays that were simulated, one entry for each message and link; times in ps."""

    cluster: Column
    kind: Column
    classes: Column
    packets: Column
    #: Infinite for a message that did not arrive.
    delay: Column

    def where(self, chosen: Column) -> Samples:
        """Return the chosen samples."""
        fields = (self.cluster, self.kind, self.classes, self.packets, self.delay)
        return Samples(*(field[chosen] for field in fields))


@dataclass(frozen=True)
class _Buckets:
    #: The largest size of each but the last.
    upper: Column
    begins: Column
    ends: Column
    per_packet: Column


def _buckets(samples: Samples, least: int) -> _Buckets:
    order = np.argsort(samples.packets, kind="stable")
    packets, per_packet = samples.packets[order], samples.delay[order] / samples.packets[order]
    begins = [0]
    while True:
        begin = begins[-1]
        end = max(begin + least, int(np.searchsorted(packets, SPREAD * packets[begin], side="left")))
        # Equal sizes stay together, and the rest at the end is part of the last bucket.
        end = int(np.searchsorted(packets, packets[end - 1], side="right")) if end <= len(packets) else end
        if end + least > len(packets):
            break
        begins.append(end)
    places = np.array(begins)
    return _Buckets(packets[places[1:] - 1], places, np.append(places[1:], len(packets)), per_packet)


def draw(
    samples: Samples,
    wanted: Samples,
    generator: np.random.Generator,
    bucket: int = BUCKET,
) -> Column:
    """Draw a delay for each entry of `wanted`, whose own delays are not used.

    Where a class has fewer than a bucket's samples in its cluster, the samples of the whole kind are drawn
    from.
    Where there are none in the kind either, it is the samples of all classes at all links.
    """
    found = np.zeros(len(wanted.packets))
    chance = generator.random(len(found))
    many = int(wanted.classes.max(initial=0)) + 1
    group = wanted.cluster * many + wanted.classes
    for each in np.unique(group):
        asked = group == each
        which = np.flatnonzero(asked)
        own = _pool(samples, wanted, int(which[0]), bucket)
        if not len(own.packets):
            continue
        buckets = _buckets(own, bucket)
        place = np.searchsorted(buckets.upper, wanted.packets[which], side="left")
        begin, end = buckets.begins[place], buckets.ends[place]
        at = begin + (chance[which] * (end - begin)).astype(int)
        found[which] = buckets.per_packet[at] * wanted.packets[which]
    return found


def _pool(samples: Samples, wanted: Samples, one: int, least: int) -> Samples:
    of_class = samples.classes == wanted.classes[one]
    of_kind = samples.kind == wanted.kind[one]
    in_cluster = of_class & (samples.cluster == wanted.cluster[one])
    for chosen in (in_cluster, of_class & of_kind):
        if chosen.sum() >= least:
            return samples.where(chosen)
    for chosen in (of_class & of_kind, of_kind):
        if chosen.any():
            return samples.where(chosen)
    return samples
