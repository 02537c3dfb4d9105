"""Reno's law: the window times the root of the loss rate is a constant."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import WIRE, Check, run, star, us_on_wire


def checks() -> Iterable[Check]:
    """A lone flow at a drop-tail port."""
    for buffer in (60, 120):
        network = star(2, bottleneck="200 Mbps", delay="50 us", buffer=f"{buffer} packets")
        traffic = [{"name": "long", "pattern": "long", "from": 0, "to": 1}]
        largest = buffer + (4 * 50e-6 + us_on_wire(WIRE, 1) / 1e6) / (us_on_wire(WIRE, 0.2) / 1e6) + 1
        trace = {"every": "1 ms", "what": ["cwnd"]}
        done = run(network, traffic, "20 s", {"rto_min": "200 ms"}, trace=trace)
        windows = done.trace["value"]
        cuts = int((windows.diff() < -0.3 * windows).sum())
        packets = done.links.filter(pl.col("dst") == "host 1")["packets"][0]
        yield Check(
            f"mean window x sqrt(cuts / packets), {buffer} packets of buffer",
            7 / 9 * math.sqrt(8 / 3 / (1 + 4 / largest)),
            float(windows.mean()) * math.sqrt(cuts / packets),  # type: ignore[arg-type]
            0.02 * math.sqrt(3 / 2),
            "",
            "a saw from W/2 to W, one segment per round trip, has 3/8 W^2 packets (Mathis et al. 1997, one "
            "ACK per packet); the loss is heard of a round trip after it and repaired in another, 3/2 W "
            "packets more. A round trip takes as long as W packets, so that the mean over time is 7/9 W, "
            "not 3/4. 2 %: a cut more or less of some fifty, and the slow start before",
        )
