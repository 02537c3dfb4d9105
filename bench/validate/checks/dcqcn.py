"""DCQCN's cuts, its increases by the timer and by the byte counter, and its shares (SIGCOMM 2015)."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import polars as pl

from validate.check import MSS, WIRE, Check, run, star, us_on_wire

GBPS = 10
#: No increase within a run.
NEVER = "1 s"


def checks() -> Iterable[Check]:
    """A flow that bursts of another one cut, and long flows under RED."""
    yield from halvings()
    yield by_bytes()
    for waits in (10, 30):
        yield decay(waits)
    for count, kmax in ((4, 4000), (8, 4000), (8, 2000)):
        yield shares(count, kmax)


def changes(bursts: list[int], duration: str, **law: Any) -> list[tuple[float, float]]:
    """Run a long flow at line rate, which messages of another host at these microseconds cut.

    Returns the times in microseconds and the rates in Gbit/s at each change of the rate.

    A message of 20 KB leaves three packets above the threshold, which the long flow keeps there until it is
    cut. A round trip takes about 10 us. So the first mark is told at once, and the others are the second
    notification, 50 us later.
    """
    network = star(3, rate=f"{GBPS} Gbps", delay="2 us", buffer="4000 packets", mark="10 packets")
    listed = [{"start": f"{us} us", "from": 1, "to": 2, "size": "20 KB"} for us in bursts]
    traffic: list[dict[str, Any]] = [
        {"name": "long", "pattern": "long", "from": 0, "to": 2},
        {"name": "burst", "pattern": "flows", "flows": listed},
    ]
    trace = {"every": "1 us", "what": ["rate"]}
    done = run(network, traffic, duration, {"name": "dcqcn"} | law, trace=trace)
    rows = done.trace.filter(pl.col("class") == "long").select("time_s", "value").rows()
    times = [(time * 1e6, rate / 1e3) for time, rate in rows]
    return [after for before, after in pairwise(times) if after[1] != before[1]]


def halvings() -> Iterable[Check]:
    """Two notifications at line rate, and the increases by the timer after them."""
    found = changes([1000], "2 ms", increase_timer="100 us", byte_counter="1 GB")
    yield Check(
        "rate after two notifications",
        GBPS / 4,
        found[1][1],
        1e-9,
        "Gbit/s",
        "each takes half of alpha, which is 1 and remains so",
    )
    yield Check(
        "time between two notifications", 50, found[1][0] - found[0][0], 1, "us", "at most one per 50 us"
    )
    yield Check(
        "rate after five increases by the timer",
        GBPS / 2 * (1 - 1 / 2**6),
        found[6][1],
        1e-9,
        "Gbit/s",
        "each halves the way back to the rate before the last cut: R / 2 (1 - 1/2^6)",
    )
    yield Check(
        "time from the cut to the fifth increase",
        500,
        found[6][0] - found[1][0],
        1,
        "us",
        "five times the timer; the trace has a sample per microsecond",
    )
    yield Check(
        "rate after the sixth increase",
        GBPS / 2 * (1 - 1 / 2**7) + GBPS / 2000,
        found[7][1],
        1e-9,
        "Gbit/s",
        "an additive one: the target rises by a thousandth of the link, and half of the way to it is left",
    )


def by_bytes() -> Check:
    """Two notifications, and the increases by the byte counter after them."""
    counter = 150_000
    found = changes([1000], "4 ms", increase_timer=NEVER, byte_counter=f"{counter} B")
    rates = [GBPS / 2 - GBPS / 4 / 2**count for count in range(5)]
    packets = counter / MSS
    return Check(
        "time from the cut to the fifth increase, by bytes",
        sum(packets * us_on_wire(WIRE, rate) for rate in rates),
        found[6][0] - found[1][0],
        2 * us_on_wire(WIRE, GBPS / 4) + 1,
        "us",
        "150 KB of payload at each of the rates 2.5, 3.75, 4.375 .. Gbit/s with headers; parts of a "
        "packet at both ends",
    )


def decay(waits: int) -> Check:
    """Two bursts, apart by a number of times at which alpha changes."""
    g = 0.0625
    law = {"g": g, "increase_timer": "10 us", "byte_counter": "1 GB", "add_step": "1 Gbps"}
    found = changes([1000, 1000 + 50 + 55 * waits + 25], "4 ms", **law)
    cuts = [
        (before[1], after[1])
        for before, after in pairwise([(0.0, float(GBPS)), *found])
        if after[1] < before[1]
    ]
    return Check(
        f"part that a third notification takes, {waits} times of alpha after the second",
        (1 - g) ** waits / 2,
        1 - cuts[2][1] / cuts[2][0],
        1e-9,
        "",
        "alpha is 1 after two notifications, and each 55 us without another multiply it by 1 - g; a cut "
        "takes half",
    )


def shares(count: int, kmax: int) -> Check:
    """Long flows at a port with RED."""
    network = star(count + 1, rate=f"{GBPS} Gbps", delay="2 us", buffer="100000 packets")
    network |= {"marking": "red", "mark": "0 packets", "red_kmax": f"{kmax} packets", "red_pmax": 1.0}
    traffic = [{"name": "long", "pattern": "long", "from": f"0..{count}", "to": count}]
    done = run(network, traffic, "400 ms", {"name": "dcqcn"}, warm_up="100 ms")
    sent = done.links.filter(pl.col("dst") == "switch", pl.col("src") != f"host {count}")["packets"]
    return Check(
        f"largest share of {count} flows, Kmax {kmax}",
        1 / count,
        float(sent.max() / sent.sum()),  # type: ignore[arg-type, operator]
        0.1 / count,
        "",
        "flows of one path have the same share of marks, and notifications cut in proportion to the rate; a "
        "tenth of the share, for chance",
    )
