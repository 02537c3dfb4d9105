"""Flows over several equal paths."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import MSS, Check, flows, run

SPINES, FLOWS = 4, 8000


def checks() -> Iterable[Check]:
    """Each flow draws one of the spines."""
    network = {
        "topology": "leaf-spine",
        "leaves": 2,
        "hosts_per_leaf": 2,
        "spines": SPINES,
        "rate": "10 Gbps",
        "uplink": "10 Gbps",
        "delay": "1 us",
    }
    listed = [{"from": 0, "to": 2, "size": f"{MSS} B", "start": f"{2 * n} us"} for n in range(FLOWS)]
    done = run(network, flows(*listed), "20 ms")
    up = done.links.filter(pl.col("src").str.starts_with("leaf 0") & ~pl.col("dst").str.starts_with("host"))
    share = FLOWS / SPINES
    for packets, name in zip(up["packets"], up["dst"], strict=True):
        yield Check(
            f"of {FLOWS} flows over {name}",
            share,
            packets,
            3.5 * math.sqrt(FLOWS / SPINES * (1 - 1 / SPINES)),
            "packets",
            "binomial: n/S, and three and a half standard deviations, which one in two thousand exceeds",
        )
