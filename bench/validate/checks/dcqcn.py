"""DCQCN's cuts, its way back by the timer and by the byte counter, and its queue under RED (SIGCOMM 2015)."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import duetime as dt
import polars as pl

from validate.check import MSS, WIRE, Check, run, star, us_on_wire

GBPS = 10
#: A message at line rate that takes a port above the threshold for less than a notification's interval.
BURST = {"name": "burst", "pattern": "flows"}
#: No increase within a run.
NEVER = "1 s"


def checks() -> Iterable[Check]:
    """A flow that bursts of another one cut, and long flows under RED."""
    yield from halvings()
    yield by_bytes()
    for waits in (10, 30):
        yield decay(waits)
    for count, pmax in ((4, 0.1), (8, 0.1), (8, 0.02)):
        yield from shares(count, pmax)


def cut(bursts: list[int], duration: str, **law: Any) -> dt.Result:
    """Run a long flow, which bursts at these milliseconds cut, and return its rate of each microsecond."""
    network = star(3, rate=f"{GBPS} Gbps", delay="10 us", buffer="4000 packets", mark="10 packets")
    listed = [{"start": f"{ms} ms", "from": 1, "to": 2, "size": "40 KB"} for ms in bursts]
    traffic = [{"name": "long", "pattern": "long", "from": 0, "to": 2}, BURST | {"flows": listed}]
    trace = {"every": "1 us", "what": ["rate"], "class": "long"}
    return run(network, traffic, duration, {"name": "dcqcn"} | law, trace=trace)


def steps(done: dt.Result) -> list[tuple[float, float]]:
    """Return the times in microseconds and the rates in Gbit/s from each change of the rate on."""
    rows = done.trace.filter(pl.col("class") == "long").select("time_s", "value").rows()
    times = [(time * 1e6, rate / 1e3) for time, rate in rows]
    return times[:1] + [after for before, after in pairwise(times) if after[1] != before[1]]


def halvings() -> Iterable[Check]:
    """One notification at line rate, and the increases by the timer after it."""
    found = steps(cut([1], "2 ms", increase_timer="100 us", byte_counter="1 GB"))
    expected = [GBPS, GBPS / 2] + [GBPS - GBPS / 2 / 2**count for count in range(1, 6)]
    yield Check(
        "rate after five increases by the timer",
        expected[6],
        found[6][1],
        1e-9,
        "Gbit/s",
        "the first notification halves the rate, alpha being 1; each of five increases halves the way back to "
        "the rate before it: R (1 - 1/2^6)",
    )
    yield Check(
        "time from the cut to the fifth increase",
        500,
        found[6][0] - found[1][0],
        1,
        "us",
        "five times the timer; the trace has a sample per microsecond",
    )


def by_bytes() -> Check:
    """One notification, and the increases by the byte counter after it."""
    counter = 300_000
    found = steps(cut([1], "4 ms", increase_timer=NEVER, byte_counter=f"{counter} B"))
    rates = [GBPS - GBPS / 2 / 2**count for count in range(5)]
    packets = counter / MSS
    return Check(
        "time from the cut to the fifth increase, by bytes",
        sum(packets * us_on_wire(WIRE, rate) for rate in rates),
        found[6][0] - found[1][0],
        5 * us_on_wire(WIRE, GBPS / 2) + 1,
        "us",
        "300 KB of payload at each of the rates 5, 7.5, 8.75 .. Gbit/s with headers; a packet each",
    )


def decay(waits: int) -> Check:
    """Two notifications so many times of alpha apart."""
    g = 0.0625
    apart = 55 * waits + 25
    listed = cut([1], "2 ms", g=g)
    del listed
    network = star(3, rate=f"{GBPS} Gbps", delay="10 us", buffer="4000 packets", mark="10 packets")
    flows = [
        {"start": f"{start} us", "from": 1, "to": 2, "size": "40 KB"} for start in (1000, 1000 + apart)
    ]
    traffic = [{"name": "long", "pattern": "long", "from": 0, "to": 2}, BURST | {"flows": flows}]
    law = {"name": "dcqcn", "g": g, "increase_timer": "10 us", "byte_counter": "1 GB", "add_step": "1 Gbps"}
    done = run(network, traffic, "4 ms", law, trace={"every": "1 us", "what": ["rate"], "class": "long"})
    changes = steps(done)
    cuts = [(before[1], after[1]) for before, after in pairwise(changes) if after[1] < before[1]]
    alpha = (1 - g) ** waits
    return Check(
        f"second cut, {waits} times of alpha after the first",
        alpha / 2,
        1 - cuts[1][1] / cuts[1][0],
        1e-9,
        "",
        "alpha stays 1 at the first notification and is multiplied by 1 - g after each 55 us without another; "
        "the cut takes half of it",
    )


def shares(count: int, pmax: float) -> Iterable[Check]:
    """Long flows at a port with RED, in a network that drops nothing."""
    kmin, kmax = 20, 400
    network = star(count + 1, rate=f"{GBPS} Gbps", delay="2 us", buffer="100000 packets")
    network |= {"marking": "red", "mark": f"{kmin} packets", "red_kmax": f"{kmax} packets", "red_pmax": pmax}
    traffic = [{"name": "long", "pattern": "long", "from": f"0..{count}", "to": count}]
    trace = {"every": "20 us", "what": ["queue"]}
    done = run(network, traffic, "400 ms", {"name": "dcqcn"}, warm_up="100 ms", trace=trace)
    link = done.links.filter(pl.col("dst") == f"host {count}")
    queue = done.trace.filter((pl.col("what") == "queue") & (pl.col("dst") == f"host {count}"))
    inside = queue.filter(pl.col("time_s") > 0.1)["value"]
    marked = link["marks"][0] / link["packets"][0]
    yield Check(
        f"mean queue of {count} flows, Pmax {pmax:g}",
        kmin + marked * (kmax - kmin) / pmax,
        float(inside.mean()),  # type: ignore[arg-type]
        0.1 * kmax,
        "packets",
        "the mark's probability is linear in the queue, and so are the means",
    )
