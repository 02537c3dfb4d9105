"""Rates that D3's routers grant."""

from collections.abc import Iterable

import polars as pl

from validate.check import MSS, WIRE, Check, flows, mean_fct, run, star

BYTES = 10_000_000


def checks() -> Iterable[Check]:
    """Equal flows share alike; a deadline gets the rate that it needs, and its share of the rest."""
    share = 1000 * MSS / WIRE
    for count in (1, 4):
        listed = flows({"from": f"0..{count}", "to": count, "size": f"{BYTES} B"})
        done = run(star(count + 1), listed, "1 s", {"name": "rcpdc"})
        yield Check(
            f"rcpdc: {count} equal flows",
            share / count,
            BYTES * 8 / mean_fct(done),
            0.02 * share / count,
            "Mbit/s of payload",
            "C / N (D3, section 4). 2 %: the two round trips of 200 us until the share is granted, of 80 ms"
            " or more, and the packets that carry requests",
        )
    deadline = 0.2
    listed = flows(
        {"from": 0, "to": 2, "size": f"{BYTES} B", "deadline": f"{deadline} s"},
        {"from": 1, "to": 2, "size": f"{5 * BYTES} B"},
    )
    done = run(
        star(3), listed, "2 s", {"name": "d3"}, cool_down="2 s", trace={"every": "5 ms", "what": ["rate"]}
    )
    early = done.trace.filter((done.trace["time_s"] < 0.02) & (done.trace["time_s"] > 0.002))
    asked = BYTES * 8 / deadline / 1e6 * WIRE / MSS
    rates = early.group_by("src").agg(pl.col("value").mean()).sort("src")["value"]
    for name, expected, measured in (
        ("with a deadline", asked + (1000 - asked) / 2, rates[0]),
        ("without", (1000 - asked) / 2, rates[1]),
    ):
        yield Check(
            f"d3: granted to the flow {name}",
            expected,
            measured,
            0.02 * 1000,
            "Mbit/s",
            "request r = bytes left / time left, and half of C - r each; 2 % of C: round trips of lag and "
            "headers",
        )
