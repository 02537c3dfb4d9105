"""Two flows of different round trips at one port."""

from collections.abc import Iterable

import polars as pl

from validate.check import WIRE, Check, run


def checks() -> Iterable[Check]:
    """Reno with ECN: every mark is heard by both, so that both halve in each saw."""
    rate, mark = 100e6, 20
    near, far = 5e-3, 10e-3
    network = {
        "topology": "custom",
        "switches": ["s"],
        "hosts": 3,
        "links": [
            {"from": 0, "to": "s", "delay": f"{near / 2 * 1e3 - 0.01} ms"},
            {"from": 1, "to": "s", "delay": f"{far / 2 * 1e3 - 0.01} ms"},
            {"from": 2, "to": "s", "delay": "10 us", "rate": "100 Mbps"},
        ],
        "rate": "1 Gbps",
        "delay": "10 us",
        "buffer": "1000 packets",
        "sharing": "per-port",
        "mark": f"{mark} packets",
        "host_jitter": "0 s",
    }
    traffic = [{"name": "long", "pattern": "long", "from": [0, 1], "to": 2}]
    done = run(
        network,
        traffic,
        "60 s",
        {"name": "tcp", "ecn": True, "rto_initial": "1 s"},
        warm_up="10 s",
        cool_down="0 s",
        trace={"every": "100 ms", "what": ["throughput"]},
    )
    seen = (
        done.trace.filter(pl.col("time_s") > 10)
        .group_by("src")
        .agg(pl.col("value").mean())
        .sort("src")["value"]
    )
    # The queue at the marks, a round trip of both: their mean over a saw is about half of the most.
    queue = mark * WIRE * 8 / rate / 2
    ratio = (far + queue) / (near + queue)
    yield Check(
        "throughput of a flow with half the round trip, Reno with ECN",
        ratio**2,
        float(seen[0] / seen[1]),
        0.2 * ratio**2,
        "times that of the other",
        "both halve at the same marks, and grow by a segment per own round trip between them: W ~ 1 / RTT, "
        "and throughput W / RTT ~ 1 / RTT^2, with the mean queue in both round trips. A fifth: the queue "
        "moves between none and K and a round trip's growth, which is 10 % of the nearer round trip either "
        "way",
    )
