"""Requests of several stages: collectives, a chain of hosts, and clients that wait for their answers."""

from collections.abc import Iterable
from typing import Any

import duetime as dt
from validate.check import MSS, WIRE, Check, known, run, star, us_on_wire

#: The collectives' network: 100 Gbps, 1 us a link, packets of 9000 B of which 40 B are headers.
GBPS, DELAY, PAYLOAD, FRAME = 100, 1.0, 8960, 9000
#: Of a message of these, in packets.
PACKETS = 250


def checks() -> Iterable[Check]:
    """Everything of the table of closed forms for applications that needs no trace."""
    yield from ring()
    yield from slow_rank()
    yield from all_to_all()
    yield from chain()
    yield from clients()


def step_us(gbps: float = GBPS, beyond: float = GBPS) -> float:
    """Return the time of one step of a ring, in us: a message on a link, a packet on the next, two delays."""
    return PACKETS * us_on_wire(FRAME, gbps) + us_on_wire(FRAME, beyond) + 2 * DELAY


def stages(network: dict[str, Any], duration: str, traffic: dict[str, Any], **transport: Any) -> dt.Result:
    """Simulate one class of requests, with windows that never end and nothing dropped or marked."""
    window = {"name": "dctcp", "initial_window": 100_000}
    named = {"name": "requests", "pattern": "stages"}
    return run(network, [named | traffic], duration, window | transport, cool_down="10 s")


def flat(hosts: int) -> dict[str, Any]:
    """Return the star of the collectives, in which nothing is dropped or marked."""
    return star(hosts, rate=f"{GBPS} Gbps", delay=f"{DELAY:g} us", buffer="100 MB", mark="100 MB")


def collective(hosts: int, operation: str, network: dict[str, Any] | None = None) -> dt.Result:
    """Simulate one collective of all hosts, in messages of `PACKETS` packets; `network` changes the star."""
    bytes_of_each = PACKETS * PAYLOAD
    traffic = {
        "count": 1,
        "every": "1 ms",
        "roles": {"rank": {"hosts": f"0..{hosts}", "pick": "all"}},
        "stage": [
            {
                "name": "step",
                "at": "rank",
                "collective": operation,
                "size": f"{bytes_of_each * (hosts if operation == 'all-reduce' else 1)} B",
            }
        ],
    }
    return stages(flat(hosts) | (network or {}), "1 s", traffic, mss=f"{PAYLOAD} B")


def time_us(result: dt.Result) -> float:
    """Return the time of the first request, in us."""
    return float(known(result.requests["time_us"][0]))


def ring() -> Iterable[Check]:
    """A ring all-reduce has 2 (N - 1) steps, in each of which every host sends a part to the next."""
    for hosts in (4, 8, 64):
        expected = 2 * (hosts - 1) * step_us()
        yield Check(
            f"ring all-reduce, {hosts} hosts",
            expected,
            time_us(collective(hosts, "all-reduce")),
            0.005 * expected,
            "us",
            "2 (N - 1) (S / N / B + latency of a hop): a host sends what it has just received, so the steps "
            "follow one another. A hop is two delays, and a packet that the switch stores; headers count. "
            "0.5 %: acknowledgements share the links",
        )


def slow_rank() -> Iterable[Check]:
    """A host whose links have half the rate paces the whole ring."""
    hosts, slow = 8, 3
    network = {
        "topology": "custom",
        "hosts": hosts,
        "switches": ["switch"],
        "links": [
            {"from": f"0..{slow}", "to": "switch"},
            {"from": slow, "to": "switch", "rate": f"{GBPS // 2} Gbps"},
            {"from": f"{slow + 1}..{hosts}", "to": "switch"},
        ],
    }
    result = collective(hosts, "all-reduce", network)
    expected = 2 * (hosts - 1) * step_us(GBPS / 2)
    yield Check(
        "ring all-reduce, 8 hosts, one of them at B / 2",
        expected,
        time_us(result),
        0.01 * expected,
        "us",
        "the slow host receives and sends a part in each step, in twice the time; the others wait for it. "
        "1 %: acknowledgements, and the first and the last step beside it",
    )
    yield Check(
        "the straggler of this ring",
        slow,
        known(result.summary["requests"])["stragglers"][0]["host"],
        0,
        "is the host's number",
        "the longest message on the way to the end is one to or from the slow host, and its link is the "
        "slower one",
    )


def all_to_all() -> Iterable[Check]:
    """Each host sends to each other one."""
    for hosts in (4, 8, 16):
        expected = (hosts - 1) * PACKETS * us_on_wire(FRAME, GBPS) + 2 * DELAY + us_on_wire(FRAME, GBPS)
        yield Check(
            f"all-to-all, {hosts} hosts",
            expected,
            time_us(collective(hosts, "all-to-all")),
            0.01 * expected,
            "us",
            "(N - 1) S / B and the latency of a hop: each host's link carries N - 1 messages. 1 %: "
            "acknowledgements, and receivers that not all senders reach at once",
        )


def chain() -> Iterable[Check]:
    """A request of three hosts in a row: no message is sent before it is received."""
    works, sizes = (30.0, 70.0), (3 * MSS, 1 * MSS, 5 * MSS)
    traffic = {
        "count": 3,
        "every": "1 ms",
        "pieces": True,
        "roles": {"a": 0, "b": 1, "c": 2},
        "stage": [
            {"name": "ask", "from": "a", "to": "b", "size": f"{sizes[0]} B"},
            {"name": "think", "at": "b", "time": f"{works[0]:g} us"},
            {"name": "pass on", "from": "b", "to": "c", "size": f"{sizes[1]} B"},
            {"name": "work", "at": "c", "time": f"{works[1]:g} us"},
            {"name": "answer", "from": "c", "to": "a", "size": f"{sizes[2]} B"},
        ],
    }
    result = stages(star(3, rate="10 Gbps", delay="1 us"), "10 ms", traffic)
    packet = us_on_wire(WIRE, 10)
    expected = sum(works) + sum((size // MSS + 1) * packet + 2 * DELAY for size in sizes)
    yield Check(
        "a request that three hosts pass on",
        expected,
        max(result.requests["time_us"].to_list()),
        0.001,
        "us",
        "the sum of its stages in an empty network: works, and for each message its packets, one more at the "
        "switch, and two delays; to the nanosecond",
    )
    pieces = result.pieces.sort("request", "ready_us")
    gaps = [
        later - earlier
        for before, own, earlier, later in zip(
            pieces["request"][:-1],
            pieces["request"][1:],
            pieces["end_us"][:-1],
            pieces["began_us"][1:],
            strict=True,
        )
        if before == own
    ]
    yield Check(
        "least time from a stage's end to the next one's start",
        0,
        min(gaps),
        0.001,
        "us",
        "nothing is sent before it is received, and nothing waits in an empty network",
    )


def clients() -> Iterable[Check]:
    """Clients that wait for their answers, in a network in which nothing queues."""
    work, think, packet = 200.0, 100.0, us_on_wire(WIRE, 10)
    for count in (1, 6):
        traffic = {
            "clients": count,
            "think": f"exponential({think:g} us)",
            "roles": {"client": {"hosts": "0..6", "pick": "round-robin"}, "store": 6},
            "stage": [
                {"name": "ask", "from": "client", "to": "store", "size": f"{MSS} B"},
                {"name": "work", "at": "store", "time": f"{work:g} us"},
                {"name": "answer", "from": "store", "to": "client", "size": f"{MSS} B"},
            ],
        }
        network = 2 * (2 * packet + 2 * DELAY)
        for thinks, pause in (("", 0.0), (" that think", think)):
            chosen = traffic if thinks else {key: value for key, value in traffic.items() if key != "think"}
            result = stages(star(7, rate="10 Gbps", delay="1 us"), "4 s" if thinks else "200 ms", chosen)
            expected = count / ((work + network + pause) / 1e6)
            yield Check(
                f"requests per second of {count} client{'s' if count > 1 else ''}{thinks}",
                expected,
                known(known(result.summary["requests"])["finished_per_s"]),
                0.01 * expected,
                "requests/s",
                "Little: c clients have c requests under way, each of which takes work, network and a pause. "
                "1 %: packets of two clients that meet at the store's link, and the draws of pauses",
            )
