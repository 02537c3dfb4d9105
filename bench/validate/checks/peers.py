"""Published statements about PDQ, pFabric, Homa and SIRD, at the speed of their papers and at 100 Gbps."""

from collections.abc import Iterable
from typing import Any

import duetime as dt
from validate.check import MSS, WIRE, Check, flows, known, last_us, mean_fct, run, star, us_on_wire

#: Delay of a link, in microseconds: round trips near the papers' at their speeds.
DELAY = {1.0: 20.0, 10.0: 2.0, 100.0: 1.0}


def network(hosts: int, gbps: float, **more: Any) -> dict[str, Any]:
    """A star with deep ports, unless told otherwise."""
    deep = {"buffer": "16 MB", "rate": f"{gbps:g} Gbps", "delay": f"{DELAY[gbps]:g} us"}
    return star(hosts, **(deep | more))


def product(gbps: float) -> float:
    """The bandwidth-delay product of such a star, in bytes."""
    return gbps * 1e3 / 8 * (4 * DELAY[gbps] + 2 * us_on_wire(WIRE, gbps) + 2 * us_on_wire(40, gbps))


def checks() -> Iterable[Check]:
    """Two statements of each paper."""
    for gbps in (1.0, 100.0):
        yield from pdq(gbps)
    for gbps in (10.0, 100.0):
        yield from pfabric(gbps)
        yield from homa(gbps)
        yield from sird(gbps)


def pdq(gbps: float) -> Iterable[Check]:
    """Flows one after the other, and what that saves beside equal shares."""
    unit = 1_000_000 * gbps
    alone = us_on_wire(WIRE, gbps) * unit / MSS
    trip = 4 * DELAY[gbps]
    listed = [
        {
            "from": number,
            "to": 3,
            "size": f"{(number + 1) * unit:.0f} B",
            "start": f"{number * trip / 8:g} us",
        }
        for number in range(3)
    ]
    in_turn = run(network(4, gbps), flows(*listed), f"{20 * alone:.0f} us", {"name": "pdq"})
    yield Check(
        f"pdq: mean of flows of 1, 2 and 3, in the time of 1, {gbps:g} Gbps",
        (1 + 3 + 6) / 3,
        mean_fct(in_turn) / alone,
        0.06 * (1 + 3 + 6) / 3,
        "times",
        "PDQ, figure 1: one after the other they end at 1, 3 and 6. 6 %: what a port takes off its rate "
        "while a packet is queued (3.3.3), at most 57 Mbit/s at 1 Gbps, and a round trip for each flow",
    )
    fair = run(network(4, gbps), flows(*listed), f"{20 * alone:.0f} us", {"name": "rcpdc"})
    yield Check(
        f"pdq: share of the mean that it saves beside equal shares, {gbps:g} Gbps",
        0.30,
        1 - mean_fct(in_turn) / mean_fct(fair),
        0.05,
        "share",
        "PDQ, abstract: about 30 %; by its figure 1 from 4.67 to 3.33, 29 %. Five points for the rates of "
        "both",
    )


def pfabric(gbps: float) -> Iterable[Check]:
    """A short flow beside long ones, and small buffers that keep the link full."""
    buffer = f"{2 * product(gbps):.0f} B"
    size, count = round(200 * gbps) * MSS, 4
    long = [{"from": number, "to": count + 1, "size": f"{size} B"} for number in range(count)]
    at = 20 * DELAY[gbps] * 4
    short = {"from": count, "to": count + 1, "size": f"{MSS} B", "start": f"{at:g} us"}
    alone = 2 * DELAY[gbps] + 2 * us_on_wire(WIRE, gbps)
    whole = us_on_wire(WIRE, gbps) * (count * size / MSS)
    sizes = {"name": "pfabric", "priority": "size"}
    done = run(network(count + 2, gbps, buffer=buffer), flows(*long, short), f"{10 * whole:.0f} us", sizes)
    times = done.flows.sort("bytes")["fct_us"]
    yield Check(
        f"pfabric: a packet beside four long flows, {gbps:g} Gbps",
        alone + us_on_wire(WIRE, gbps) / 2,
        float(times[0]),
        us_on_wire(WIRE, gbps) / 2 + 0.001,
        "us",
        "pFabric 4.1: ports send the flow with the least left first, so that it waits for no more than the "
        "packet in transmission, half of one on average",
    )
    yield Check(
        f"pfabric: the last of four long flows over the link's time, ports of two products, {gbps:g} Gbps",
        1.0,
        last_us(done) / (whole + alone),
        0.05,
        "times",
        "pFabric 5.1: two products of buffer suffice. 5 %: a drop costs three round trips of its flow, and "
        "the last flow has none beside it meanwhile",
    )


def loaded(gbps: float, transport: dict[str, Any], **more: Any) -> dt.Result:
    """Web search at 80 % between sixteen hosts, with messages of 100 B beside it."""
    traffic = [
        {"name": "search", "pattern": "poisson", "load": "79.96%", "size": "cdf(websearch)"},
        {"name": "tiny", "pattern": "poisson", "load": "0.04%", "size": "100 B"},
    ]
    ms = 60 * 10 / gbps
    timing = {"warm_up": f"{ms / 6:g} ms", "cool_down": f"{ms / 2:g} ms", "wait_for": "deadlines", "seed": 1}
    marks = {"mark": f"{1.25 * product(gbps):.0f} B"}
    return run(network(16, gbps, **(marks | more)), traffic, f"{ms:g} ms", transport, **timing)


def homa(gbps: float) -> Iterable[Check]:
    """The tail of short messages, and grants that make up for lost ones."""
    done = loaded(gbps, {"name": "homa"})
    packet = us_on_wire(WIRE, gbps)
    yield Check(
        f"homa: messages of 100 B at a load of 80 %, p99 over their time alone, {gbps:g} Gbps",
        1 + 2 * packet / (2 * DELAY[gbps] + 2 * us_on_wire(140, gbps)),
        known(done.data["classes"]["tiny"]["slowdown"]["p99"]),
        2 * packet / (2 * DELAY[gbps] + 2 * us_on_wire(140, gbps)),
        "times",
        "Homa, abstract: round trips of short messages below 15 us at the 99th percentile, at 10 Gbps. They "
        "have the first priority, so that at each of two ports they wait for the packet in transmission, and "
        "hardly for another of their kind",
    )
    listed = [{"from": 0, "to": 1, "size": f"{2000 * MSS} B"}]
    lost = [{"kind": "loss", "of": "control", "probability": "1%"}]
    sections: dict[str, Any] = {"title": "check", "profile": "classic", "run": {"duration": "50 ms"}}
    sections |= {"network": network(2, gbps), "fault": lost, "transport": {"name": "homa"}}
    alone = us_on_wire(WIRE, gbps) * 2000 + 2 * DELAY[gbps] + packet
    done = dt.run(sections | {"traffic": flows(*listed)})
    yield Check(
        f"homa: a long message, 1 % of control lost on each link, over its time without, {gbps:g} Gbps",
        1.0,
        mean_fct(done) / alone,
        0.02,
        "times",
        "Homa 3.3: a grant says up to which byte a message may be sent, so that the next one, a packet's "
        "time later, makes up for it. 2 %: the link idles for a packet's time after each of forty",
    )


def sird(gbps: float) -> Iterable[Check]:
    """Credit of 1.5 products fills the link, and its excess is all that is queued."""
    count = 8
    listed = [{"from": number, "to": count, "size": f"{3000 * MSS} B"} for number in range(count)]
    whole = us_on_wire(WIRE, gbps) * 3000 * count
    done = run(network(count + 1, gbps), flows(*listed), f"{3 * whole:.0f} us", {"name": "sird"})
    yield Check(
        f"sird: eight long messages into one host over the link's time, {gbps:g} Gbps",
        1.0,
        last_us(done) / whole,
        0.01,
        "times",
        "SIRD: credit of 1.5 products keeps the receiver's link full. 1 %: the first round trips, and "
        "requests",
    )
    queued = known(done.data["busiest_queue"])["p99"] * WIRE / product(gbps)
    yield Check(
        f"sird: queue of these at the 99th percentile, {gbps:g} Gbps",
        0.25,
        queued,
        0.25 + WIRE / product(gbps),
        "bandwidth-delay products",
        "SIRD: of credit of 1.5 products one is on its way, so that no more than half a product is queued; a "
        "packet more, as credit is in whole packets",
    )
