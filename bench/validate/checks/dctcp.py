"""DCTCP's queue (Alizadeh et al., SIGCOMM 2010, 3.3)."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import WIRE, Check, known, run, star


def checks() -> Iterable[Check]:
    """Between which lengths the queue swings, and how much is marked."""
    for count, mark in ((2, 65), (8, 65), (8, 100)):
        network = star(count + 1, rate="10 Gbps", delay="25 us", mark=f"{mark} packets") | {
            "host_jitter": "1.2 us"
        }
        traffic = [
            {"name": "long", "pattern": "long", "from": f"0..{count}", "to": count, "start": "index * 10 us"}
        ]
        done = run(network, traffic, "400 ms", {"name": "dctcp"}, warm_up="100 ms")
        queue = known(done.data["busiest_queue"])
        path = (4 * 25e-6 + 2 * WIRE * 8 / 10e9) * 10e9 / (WIRE * 8)
        window = (path + mark) / count
        swing = math.sqrt(2 * count * (path + mark)) / 2
        top = mark + count
        where = f"{count} flows, K = {mark}"
        yield Check(
            f"queue's top, {where}",
            top,
            queue["p99"],
            3,
            "packets",
            "K + N: each window grows by one in the round trip until the mark is heard of; marks are whole "
            "packets",
        )
        yield Check(
            f"queue's mean, {where}",
            top - swing / 2,
            queue["mean"],
            2 + count / 4,
            "packets",
            "the middle of a saw of sqrt(2 N (C RTT + K)) / 2; the analysis takes the flows to be "
            "synchronised, which costs more the more there are",
        )
        link = done.links.filter(pl.col("dst") == f"host {count}")
        share = link["marks"][0] / link["packets"][0]
        alpha = (math.sqrt(1 + 2 * window) - 1) / window
        yield Check(
            f"share of marked packets, {where}",
            alpha,
            share,
            0.25 * alpha,
            "",
            "one marked round trip in each saw of 1 + alpha W / 2, W = (C RTT + K) / N: alpha = (sqrt(1 + 2"
            " W) - 1) / W. A quarter, as the echo comes half a round trip after the queue has reached K at "
            "the earliest and a whole one at the latest",
        )
