"""Deficit weighted round robin (Shreedhar and Varghese 1995)."""

from collections.abc import Iterable

import polars as pl

from validate.check import Check, known, run, star

HEADER, DURATION = 40, 0.1


def checks() -> Iterable[Check]:
    """Classes that always have packets queued share a port by weight, whatever the sizes of their packets."""
    for weights, sizes in (((3, 1), (1460, 500)), ((1, 1), (1460, 160)), ((5, 3, 2), (500, 1460, 8960))):
        count = len(weights)
        classes = [
            {
                "name": f"class {index}",
                "pattern": "long",
                "from": index,
                "to": count,
                "priority": index,
                "weight": weight,
                "transport": {"name": "dctcp", "mss": f"{size} B", "nic_limit": "20 packets"},
            }
            for index, (weight, size) in enumerate(zip(weights, sizes, strict=True))
        ]
        network = star(count + 1, rate="10 Gbps", delay="5 us", buffer="4 MB", mark="60 KB")
        done = run(network, classes, f"{1e3 * DURATION + 10:g} ms", {"name": "dctcp"}, warm_up="10 ms")
        sent = [
            known(done.data["classes"][f"class {index}"]["goodput_mbps"]) * (size + HEADER) / size
            for index, size in enumerate(sizes)
        ]
        what = f"weights {':'.join(map(str, weights))}, packets of {', '.join(str(size) for size in sizes)} B"
        for weight, rate in zip(weights, sent, strict=True):
            share = weight / sum(weights)
            yield Check(
                f"share of weight {weight}, {what}",
                share,
                rate / sum(sent),
                0.01 * share,
                "",
                "each queue sends its quantum in a turn, and is off by a packet at most at both ends of the "
                "measurement: 1 %, of which that is a tenth at most",
            )
        yield Check(
            f"use of the link, {what}",
            1.0,
            done.links.filter(pl.col("dst") == f"host {count}")["utilisation"][0],
            1e-3,
            "",
            "it is never idle while a packet is queued",
        )
