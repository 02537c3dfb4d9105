"""Swift's queue: the windows aim at just the delay that they cause (Kumar et al., SIGCOMM 2020, 3.5)."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import ACK, WIRE, Check, known, run, star, us_on_wire

#: Base target, what each link adds, and the range of flow scaling, in microseconds; its windows, in packets.
BASE, HOP, RANGE, FEW, MANY = 40, 25, 120, 0.1, 100
LAW = {
    "name": "swift",
    "base_target": f"{BASE} us",
    "hop_target": f"{HOP} us",
    "fs_range": f"{RANGE} us",
    "fs_min_cwnd": FEW,
    "fs_max_cwnd": MANY,
}
GBPS = 5.0
DELAY_US = 10


def checks() -> Iterable[Check]:
    """The queue of one flow and of several, and the addition of a longer path."""
    for count in (1, 4, 16):
        yield queue(count)
    yield sub_packet()
    yield from longer_path()


def target_us(window: float, links: int) -> float:
    """Return the target of the round-trip time."""
    alpha = RANGE / (1 / math.sqrt(FEW) - 1 / math.sqrt(MANY))
    scaled = alpha * (1 / math.sqrt(window) - 1 / math.sqrt(MANY))
    return BASE + HOP * links + min(max(scaled, 0), RANGE)


def settled_us(count: int, links: int, gbps: float) -> float:
    """Return the round-trip time at which flows with equal windows fill the link for just that long."""
    low, high = 0.0, 1e4
    while high - low > 1e-9:
        guess = (low + high) / 2
        window = guess / us_on_wire(WIRE, gbps) / count
        low, high = (guess, high) if target_us(window, links) > guess else (low, guess)
    return low


def queue(count: int) -> Check:
    """Long flows into a slower link."""
    network = star(count + 1, rate="10 Gbps", bottleneck=f"{GBPS} Gbps", delay=f"{DELAY_US} us")
    traffic = [
        {"name": "long", "pattern": "long", "from": f"0..{count}", "to": count, "start": "index * 1 ms"}
    ]
    done = run(network, traffic, "400 ms", LAW, warm_up="100 ms")
    packet = us_on_wire(WIRE, GBPS)
    empty = 4 * DELAY_US + us_on_wire(WIRE, 10) + packet + us_on_wire(ACK, GBPS) + us_on_wire(ACK, 10)
    return Check(
        f"queue's mean, {count} flows",
        (settled_us(count, 2, GBPS) - empty) / packet,
        known(done.data["busiest_queue"])["mean"],
        1 + count / 2,
        "packets",
        "base_target + 2 hop_target + alpha / sqrt(W) + beta = N W packets on the link, less the round trip "
        "without queues. N / 2 + 1 packets: N are added in each round trip below it, and a cut takes 0.8 of "
        "what is above it",
    )


def sub_packet() -> Check:
    """More flows than the target holds packets."""
    count = 200
    network = star(count + 1, rate="10 Gbps", delay=f"{DELAY_US} us", buffer="4000 packets")
    traffic = [
        {"name": "long", "pattern": "long", "from": f"0..{count}", "to": count, "start": "index * 100 us"}
    ]
    done = run(network, traffic, "300 ms", LAW, warm_up="100 ms")
    packet = us_on_wire(WIRE, 10)
    empty = 4 * DELAY_US + 2 * us_on_wire(WIRE, 10) + 2 * us_on_wire(ACK, 10)
    most = BASE + 2 * HOP + RANGE - empty
    least = target_us(1, 2) - empty
    return Check(
        f"queue's mean, {count} flows with windows below one packet",
        (least + most) / 2 / packet,
        known(done.data["busiest_queue"])["mean"],
        (most - least) / 2 / packet,
        "packets",
        "between the targets of one packet and of fs_min_cwnd: one packet each in flight would be twice the "
        "upper end",
    )


def longer_path() -> Iterable[Check]:
    """The same two flows from their own rack and from another."""
    found = {}
    for links, senders in ((2, "0..2"), (4, "4..6")):
        network = {
            "topology": "leaf-spine",
            "leaves": 2,
            "hosts_per_leaf": 4,
            "spines": 4,
            "rate": "10 Gbps",
            "uplink": "10 Gbps",
        }
        network |= {"delay": "5 us", "host_jitter": "0 s", "buffer": "1000 packets", "sharing": "per-port"}
        traffic = [{"name": "long", "pattern": "long", "from": senders, "to": 3, "start": "index * 1 ms"}]
        trace = {"every": "100 us", "what": ["delay"]}
        done = run(network, traffic, "100 ms", LAW, warm_up="50 ms", trace=trace)
        late = done.trace.filter(pl.col("time_s") > 0.05)["value"]
        found[links] = float(late.mean())  # type: ignore[arg-type]
        yield Check(
            f"round-trip time over {links} links",
            settled_us(2, links, 10),
            found[links],
            3 * us_on_wire(WIRE, 10),
            "us",
            "the target, which has 25 us for each link; a packet for each of two flows, and one more",
        )
