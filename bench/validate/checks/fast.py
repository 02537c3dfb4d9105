"""100 Gbps with links of 1 us."""

from collections.abc import Iterable

from validate.check import ACK, MSS, WIRE, Check, first_us, flows, known, run, star, us_on_wire

GBPS, DELAY = 100.0, 1.0
EXACT = 0.001


def checks() -> Iterable[Check]:
    """A window clocked by acknowledgements, and the queue of two flows."""
    network = star(3, rate="100 Gbps", delay="1 us")
    packet, ack = us_on_wire(WIRE, GBPS), us_on_wire(ACK, GBPS)
    first_ack = 2 * packet + 2 * ack + 4 * DELAY
    yield Check(
        "30 packets in slow start at 100 Gbps",
        first_ack + 20 * packet + 2 * DELAY + packet,
        first_us(run(network, flows({"from": 0, "to": 1, "size": f"{30 * MSS} B"}), "1 ms")),
        EXACT,
        "us",
        "after the first ten the host waits for the first ACK; each lets two go, so that its "
        "link is busy for twenty",
    )
    mark = 65
    traffic = [{"name": "long", "pattern": "long", "from": [0, 1], "to": 2, "start": "index * 1 us"}]
    swings = network | {"mark": f"{mark} packets", "host_jitter": "0.12 us"}
    done = run(swings, traffic, "20 ms", {"name": "dctcp"}, warm_up="5 ms", cool_down="0 s")
    yield Check(
        "goodput of two DCTCP flows at 100 Gbps",
        1e3 * GBPS * MSS / WIRE,
        known(done.data["summary"]["goodput_mbps"]),
        1e3 * GBPS * 0.002,
        "Mbit/s",
        "K = 65 is more than a seventh of C RTT = 35 packets, so the link is never idle; 0.2 % is what "
        "the first and the last round trip may cost",
    )
    yield Check(
        "queue's top, two flows, K = 65, 100 Gbps",
        mark + 2,
        known(done.data["busiest_queue"])["p99"],
        3,
        "packets",
        "K + N: each window grows by one in the round trip until the mark is heard of; marks "
        "are whole packets",
    )
