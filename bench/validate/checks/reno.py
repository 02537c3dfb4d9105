"""Reno's law: the window is sqrt(3 / (2 p))."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import Check, run, star


def checks() -> Iterable[Check]:
    """A lone flow at a drop-tail port."""
    for buffer in (60, 120):
        network = star(2, bottleneck="200 Mbps", delay="50 us", buffer=f"{buffer} packets")
        traffic = [{"name": "long", "pattern": "long", "from": 0, "to": 1}]
        trace = {"every": "1 ms", "what": ["cwnd"]}
        done = run(network, traffic, "20 s", {"rto_min": "200 ms"}, warm_up="2 s", trace=trace)
        windows = done.trace.filter(pl.col("time_s") > 2)["value"]
        cuts = int((windows.diff() < -0.3 * windows).sum())
        packets = done.links.filter(pl.col("to") == "host 1")["packets"][0]
        yield Check(
            f"mean window x sqrt(cuts / packets), {buffer} packets of buffer",
            math.sqrt(3 / 2),
            float(windows.mean()) * math.sqrt(cuts / packets),  # type: ignore[arg-type]
            0.05 * math.sqrt(3 / 2),
            "",
            "a saw from W/2 to W, one segment per round trip, has 3/8 W^2 packets and a mean of 3/4 W (Mathis et al. 1997, "
            "one ACK per packet); 5 %: the loss is heard of a round trip after it, and its repair takes another, of W / 2",
        )
