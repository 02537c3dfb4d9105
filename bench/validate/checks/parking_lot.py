"""A parking lot: one flow crosses three links, and each link has a flow of its own."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import polars as pl

from validate.check import MSS, WIRE, Check, flows, run

LINKS = 3


def network() -> dict[str, Any]:
    """Return four switches in a row, with two hosts each; all links have the same rate."""
    switches = [f"s{index}" for index in range(LINKS + 1)]
    hosts = [{"from": [2 * index, 2 * index + 1], "to": switch} for index, switch in enumerate(switches)]
    between = [{"from": one, "to": other} for one, other in pairwise(switches)]
    return {
        "topology": "custom",
        "switches": switches,
        "hosts": 2 * len(switches),
        "links": [*hosts, *between],
        "rate": "1 Gbps",
        "delay": "20 us",
        "buffer": "1000 packets",
        "sharing": "per-port",
        "mark": "20 packets",
        "host_jitter": "0 s",
    }


def checks() -> Iterable[Check]:
    """Host 0 sends to the last switch; each other flow crosses one of the links."""
    crossing = [{"from": 2 * index + 1, "to": 2 * index + 3, "size": "1 GB"} for index in range(LINKS)]
    listed = flows({"from": 0, "to": 2 * LINKS, "size": "1 GB"}, *crossing)
    trace = {"every": "10 ms", "what": ["throughput"]}
    done = run(network(), listed, "210 ms", {"name": "rcpdc"}, cool_down="0 s", trace=trace)
    seen = done.trace.filter(pl.col("time_s") > 0.1).group_by("src").agg(pl.col("value").mean()).sort("src")
    for host, mean in zip(seen["src"], seen["value"], strict=True):
        across = "the flow across three links" if host == 0 else f"the flow across link {(host - 1) // 2}"
        yield Check(
            f"parking lot, rcpdc: {across}",
            500.0,
            float(mean) * WIRE / MSS,
            12,
            "Mbit/s",
            "max-min: two flows at each link, half for each, however many links a flow crosses; 12 Mbit/s is "
            "the standing queue of a packet that the rule allows",
        )
