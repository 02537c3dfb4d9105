"""Completion time of a message on an empty network."""

from collections.abc import Iterable

from validate.check import ACK, MSS, WIRE, Check, first_us, flows, run, star, us_on_wire

DELAY = 20.0
#: Times are whole picoseconds; the table has them in microseconds with six digits.
EXACT = 0.001


def checks() -> Iterable[Check]:
    """One window, and two of which the second is clocked by acknowledgements."""
    message = {"from": 0, "to": 1, "size": f"{10 * MSS} B"}
    packet = us_on_wire(WIRE, 1)
    yield Check(
        "10 packets in one window",
        10 * packet + 2 * DELAY + packet,
        first_us(run(star(2), flows(message), "10 ms")),
        EXACT,
        "us",
        "ten transmissions at the host, two links, one more transmission at the switch",
    )
    packet, ack = us_on_wire(WIRE, 10), us_on_wire(ACK, 10)
    first_ack = 2 * packet + 2 * ack + 4 * DELAY
    yield Check(
        "30 packets in slow start at 10 Gbps",
        first_ack + 20 * packet + 2 * DELAY + packet,
        first_us(run(star(2, rate="10 Gbps"), flows(message | {"size": f"{30 * MSS} B"}), "10 ms")),
        EXACT,
        "us",
        "after the first ten the host waits for the first ACK; from there each ACK, one per packet's time, "
        "lets two packets go, so that the host's link is busy for twenty",
    )
