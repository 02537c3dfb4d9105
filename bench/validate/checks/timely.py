"""TIMELY's rate rises by a step per round trip until the round trip passes T_low (SIGCOMM 2015, 4.3)."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import ACK, WIRE, Check, run, star, us_on_wire

DELAY_US = 10
STEP_MBPS = 10


def checks() -> Iterable[Check]:
    """The ramp of a lone flow, and how far several take the queue."""
    yield ramp()
    for count, low in ((1, 100), (1, 200), (2, 100), (8, 100)):
        yield from peak(count, low)


def ramp() -> Check:
    """A flow that starts at half of an idle link."""
    network = star(2, rate="10 Gbps", delay=f"{DELAY_US} us")
    traffic = [{"name": "long", "pattern": "long", "from": 0, "to": 1}]
    law = {
        "name": "timely",
        "initial_rate": "50%",
        "add_step": f"{STEP_MBPS} Mbps",
        "t_low": "1 ms",
        "t_high": "2 ms",
    }
    trace = {"every": "100 us", "what": ["rate"]}
    done = run(network, traffic, "20 ms", law, trace=trace)
    rates = done.trace.filter(pl.col("time_s").is_between(0.00095, 0.01105))["value"]
    round_trip = 4 * DELAY_US + 2 * us_on_wire(WIRE, 10) + 2 * us_on_wire(ACK, 10)
    gap = us_on_wire(WIRE, 10) * 10_000 / float(rates.mean())  # type: ignore[arg-type]
    return Check(
        "rise of the rate in 10 ms, below T_low",
        STEP_MBPS * 10_000 / (round_trip - gap / 2),
        float(rates[-1] - rates[0]),
        STEP_MBPS * 10_000 * (1 / (round_trip - gap) - 1 / round_trip) / 2 + STEP_MBPS,
        "Mbit/s",
        "one step whenever what was in flight has arrived: a round trip of 42.5 us, less the time since the "
        "last packet was sent, up to a gap between packets; a step more or less at the ends",
    )


def peak(count: int, low: int) -> Iterable[Check]:
    """Long flows into a link of half their rate."""
    bottleneck = 5000
    network = star(count + 1, rate="10 Gbps", bottleneck=f"{bottleneck} Mbps", delay=f"{DELAY_US} us")
    traffic = [
        {"name": "long", "pattern": "long", "from": f"0..{count}", "to": count, "start": "index * 1 ms"}
    ]
    law = {"name": "timely", "add_step": f"{STEP_MBPS} Mbps", "t_low": f"{low} us", "t_high": f"{4 * low} us"}
    trace = {"every": "20 us", "what": ["rate", "delay"]}
    done = run(network | {"buffer": "4000 packets"}, traffic, "400 ms", law | {"window": "none"}, trace=trace)
    late = done.trace.filter(pl.col("time_s") > 0.1)
    empty = (
        4 * DELAY_US + us_on_wire(WIRE, 10) + us_on_wire(WIRE, 5) + us_on_wire(ACK, 5) + us_on_wire(ACK, 10)
    )
    excess = math.sqrt(2 * bottleneck * count * STEP_MBPS * math.log(low / empty))
    if count == 1:
        yield Check(
            f"largest rate, T_low = {low} us",
            bottleneck + excess,
            float(late.filter(pl.col("what") == "rate")["value"].max()),  # type: ignore[arg-type]
            3 * STEP_MBPS,
            "Mbit/s",
            "k steps above the link's rate B make the round trip longer by (1 + i step / B) for each i up "
            "to k: it passes T_low after sqrt(2 B / step ln(T_low / empty)) of them; it is heard of a round "
            "trip later, and a last increase comes between",
        )
    yield Check(
        f"99th percentile of the round-trip time, {count} flows, T_low = {low} us",
        low * (1 + excess / bottleneck),
        float(late.filter(pl.col("what") == "delay")["value"].quantile(0.99)),  # type: ignore[arg-type]
        low * excess / bottleneck,
        "us",
        "once it is above T_low it grows for one round trip more, by the excess over the link's rate: one, "
        "and one more or none, as the flows hear of it at different times",
    )
