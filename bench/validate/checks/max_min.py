"""Max-min shares over two links."""

from collections.abc import Iterable

import polars as pl

from validate.check import MSS, WIRE, Check, flows, run, star


def checks() -> Iterable[Check]:
    """Host 0 sends to two ports; at one of them two more flows send."""
    listed = flows({"from": "0..3", "to": 4, "size": "50 MB"}, {"from": 0, "to": 3, "size": "50 MB"})
    tracking = {"adaptation": True, "adaptation_beta": 0.02, "adaptation_ceiling": 2}
    for name, keys, expected, why in (
        (
            "by D3's rules",
            {},
            500.0,
            "each port divides its rate by its flows: host 0's link does not see that one of them gets less"
            " elsewhere",
        ),
        (
            "with adaptation up to twice the rate",
            tracking,
            2000 / 3,
            "max-min: what the other flow, held to C/3 elsewhere, leaves of C",
        ),
    ):
        trace = {"every": "10 ms", "what": ["throughput"]}
        done = run(star(5), listed, "310 ms", {"name": "rcpdc"} | keys, cool_down="0 s", trace=trace)
        seen = done.trace.filter((pl.col("time_s") > 0.1) & (pl.col("message") == 3))
        yield Check(
            f"rcpdc over two links, {name}",
            expected,
            float(seen["value"].mean()) * WIRE / MSS,  # type: ignore[arg-type]
            12,
            "Mbit/s",
            f"{why}; 12 Mbit/s is the standing queue of a packet that the rule allows",
        )
