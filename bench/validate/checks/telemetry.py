"""HPCC's utilisation, PowerTCP's queue, and their shares: what their papers say of the steady state."""

from collections.abc import Iterable

import polars as pl

from duetime.contract.runs import Queue
from validate.check import ACK, MSS, WIRE, Check, known, run, star, us_on_wire

#: Links, and the parameters of the laws as shares of what a host's link carries in a round trip.
GBPS, DELAY_US = 25, 10
ETA, ADDED, BETA = 0.95, 0.002, 0.01
HPCC = {"name": "hpcc", "header": f"{WIRE - MSS} B", "eta": ETA, "additive_increase": ADDED}
POWERTCP = {"name": "powertcp", "header": f"{WIRE - MSS} B", "additive_increase": BETA}
#: The round trip without queues, and what a link carries in it.
BASE_US = 4 * DELAY_US + 2 * (us_on_wire(WIRE, GBPS) + us_on_wire(ACK, GBPS))
PRODUCT = BASE_US / us_on_wire(WIRE, GBPS)


def checks() -> Iterable[Check]:
    """The utilisation and the queue of one flow and of several, their shares, and an incast beside DCTCP."""
    for count in (1, 8, 16):
        yield from hpcc(count)
    for count in (4, 16):
        yield from powertcp(count)
    yield from incast()


def settled(
    count: int, law: dict[str, object], mark: int | None = None
) -> tuple[float, Queue[int, float], float]:
    """Return the use of a link, its queue and Jain's index of the shares of long flows."""
    network = star(count + 1, rate=f"{GBPS} Gbps", delay=f"{DELAY_US} us")
    network |= {"mark": f"{mark} packets"} if mark else {}
    traffic = [
        {"name": "long", "pattern": "long", "from": f"0..{count}", "to": count, "start": "index * 97 us"}
    ]
    trace = {"every": "1 ms", "what": ["throughput"]}
    done = run(network, traffic, "150 ms", law, warm_up="100 ms", trace=trace)
    late = done.trace.filter(pl.col("time_s") > 0.1).group_by("src").agg(pl.col("value").mean())["value"]
    shares = late.to_numpy()
    use = float(shares.sum()) * WIRE / MSS / (GBPS * 1e3)
    jain = float(shares.sum() ** 2 / (count * (shares**2).sum()))
    return use, known(done.data["busiest_queue"]), jain


def hpcc(count: int) -> Iterable[Check]:
    """HPCC keeps the link below full, and so without a queue."""
    use, queue, jain = settled(count, HPCC)
    where = f"{count} flows" if count > 1 else "one flow"
    yield Check(
        f"use of the link, {where} of HPCC",
        ETA + count * ADDED - queue["mean"] / 2 / PRODUCT,
        use,
        (1 + queue["mean"] / 2) / PRODUCT,
        "",
        "W = W eta / U + W_AI, and U = N W / (B T): U = eta + N W_AI / (B T). The queue takes its share, "
        "by the shorter of two records: between none and the mean. A packet of what the link carries in a "
        "round trip, by which records and windows are whole",
    )
    yield Check(
        f"queue's mean, {where} of HPCC",
        (count - 1) / 4,
        queue["mean"],
        (count - 1) / 4 + 0.25,
        "packets",
        "paced flows below the link's rate have at most a packet each in the time of one packet of each: "
        "N - 1 queued at the worst phases, half of that on average over these",
    )
    if count > 1:
        yield Check(
            f"Jain's index of the shares, {where} of HPCC",
            1,
            jain,
            0.03,
            "",
            "a difference of windows fades by W_AI / W per round trip, to nothing in 100 ms; then W = W_AI / "
            "(1 - eta / U): a quarter of a packet more in the queue that a flow meets is a fifth of U - eta",
        )


def powertcp(count: int) -> Iterable[Check]:
    """PowerTCP fills the link, with a queue of the sum of all increments."""
    use, queue, jain = settled(count, POWERTCP)
    where = f"{count} flows of PowerTCP"
    added = count * BETA * PRODUCT
    yield Check(f"use of the link, {where}", 1, use, 0.01, "", "it has a queue")
    yield Check(
        f"queue's mean, {where}",
        added,
        queue["mean"],
        1 + added * added / (PRODUCT - added),
        "packets",
        "W = W / (1 + Q / (B T)) + beta over N flows: Q = N beta if windows bound the data in flight "
        "(theorem 1), and N beta / (1 - N beta / (B T)) if their pace does; a packet, as records are of "
        "departures",
    )
    yield Check(
        f"Jain's index of the shares, {where}",
        1,
        jain,
        0.01,
        "",
        "a difference of windows fades by beta / W per round trip: to nothing in 100 ms, or 2400 round trips",
    )


def incast() -> Iterable[Check]:
    """The longest queue of 32 flows into one link, beside DCTCP's, whose marks need one."""
    count, mark = 32, 65
    _, dctcp, _ = settled(count, {"name": "dctcp"}, mark)
    _, own, _ = settled(count, HPCC | {"additive_increase": (1 - ETA) / 100})
    yield Check(
        f"longest queue, {count} flows of DCTCP, K = {mark}",
        mark + count,
        dctcp["max"],
        count / 2,
        "packets",
        "K + N (Alizadeh et al. 2010, 3.3); flows that are not synchronised add less",
    )
    yield Check(
        f"longest queue, {count} flows of HPCC",
        (count - 1) / 2,
        own["max"],
        (count - 1) / 2,
        "packets",
        "at most a packet of each other flow",
    )
