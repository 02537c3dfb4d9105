"""NSCC's queue settles at its target delay, and its flows share alike (Ultra Ethernet 1.0, 3.6.13)."""

from collections.abc import Iterable

import polars as pl

from validate.check import ACK, WIRE, Check, known, run, star, us_on_wire

GBPS = 10
DELAY_US = 10


def checks() -> Iterable[Check]:
    """The queue and the shares of several flows."""
    for count, target in ((2, 40), (8, 40), (8, 80)):
        yield from settled(count, target)


def settled(count: int, target: int) -> Iterable[Check]:
    """Long flows that start one after the other."""
    network = star(count + 1, rate=f"{GBPS} Gbps", delay=f"{DELAY_US} us", mark="10 packets")
    traffic = [
        {"name": "long", "pattern": "long", "from": f"0..{count}", "to": count, "start": "index * 2 ms"}
    ]
    law = {"name": "nscc", "target_delay": f"{target} us"}
    trace = {"every": "1 ms", "what": ["throughput"]}
    done = run(network, traffic, "400 ms", law, warm_up="100 ms", trace=trace)
    packet = us_on_wire(WIRE, GBPS)
    base = 4 * DELAY_US + 2 * packet + 2 * us_on_wire(ACK, GBPS)
    # A base round trip adds 0.15 packets for each flow at the reference product of 150 kB; a cut takes them.
    added = 0.15 * count * base * GBPS * 1e3 / 8 / 150_000
    window = (base + target) / packet
    excess = added / 0.8 / window * target
    yield Check(
        f"queue's mean, {count} flows, target {target} us",
        (target + excess) / packet,
        known(done.data["busiest_queue"])["mean"],
        1,
        "packets",
        "every packet is marked; below the target the windows only rise by 0.15 packets per base round "
        "trip, above it a cut takes 0.8 of what is above: (target + what balances the rise) C; a packet, in "
        "which the port counts",
    )
    late = done.trace.filter(pl.col("time_s") > 0.2).group_by("src").agg(pl.col("value").mean())["value"]
    yield Check(
        f"least share over the mean, {count} flows, target {target} us",
        1,
        float(late.min() / late.mean()),  # type: ignore[operator, arg-type]
        0.15,
        "",
        "all add the same and cut by the same share, so that what they began with fades by (1 - cut) per "
        "round trip: to nothing within the first 100 ms; a sixth is left for windows of whole packets",
    )
