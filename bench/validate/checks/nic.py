"""The queue of a host with several flows."""

from collections.abc import Iterable

import polars as pl

from validate.check import MSS, WIRE, Check, flows, run, star, us_on_wire

DELAY = 20.0


def checks() -> Iterable[Check]:
    """Shares of the link, what a short message waits for, and how much waits at the port."""
    packet = us_on_wire(WIRE, 1)
    network = star(5, host_queue="fair")
    late = [{"name": "long", "pattern": "long", "from": 0, "to": "1..5", "start": "index * 5 ms"}]
    for name in ("tcp", "dctcp"):
        trace = {"every": "10 ms", "what": ["throughput"]}
        done = run(network, late, "60 ms", {"name": name}, warm_up="20 ms", cool_down="0 s", trace=trace)
        seen = (
            done.trace.filter(pl.col("time_s") > 0.021)
            .group_by("message")
            .agg(pl.col("value").mean())["value"]
            .to_list()
        )
        yield Check(
            f"largest less smallest share of four flows of one host, {name}",
            0,
            max(seen) - min(seen),
            2 * 8 * MSS / 40e-3 / 1e6,
            "Mbit/s",
            "one packet each by turns, whatever the head start: counts of packets in 40 ms differ "
            "by one at the beginning and by one at the end",
        )
        host = done.links.filter(pl.col("src") == "host 0")
        yield Check(
            f"mean queue at the host's port, {name}",
            1,
            host["queue_mean"][0],
            0.01,
            "packets",
            "a port of two packets that is never idle: one is sent, one waits",
        )
    short = 7 * MSS
    beside = flows(
        {"from": 0, "to": 1, "size": "20 MB"}, {"from": 0, "to": 2, "size": f"{short} B", "start": "5 ms"}
    )
    done = run(network, beside, "20 ms", {"name": "dctcp"}, cool_down="1 s")
    yield Check(
        "seven packets beside a long flow of the same host",
        (1.5 + 14) * packet + packet + 2 * DELAY,
        float(done.flows.filter(pl.col("bytes") == short)["fct_us"][0]),
        packet / 2,
        "us",
        "one packet of the long flow waits and half of one is in transmission, more or less half; then "
        "each flow sends one by turns, 14 in all; one more transmission at the switch and two links",
    )
