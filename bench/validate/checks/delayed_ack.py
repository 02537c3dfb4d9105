"""The timer of delayed acknowledgements."""

from collections.abc import Iterable

from validate.check import ACK, MSS, WIRE, Check, first_us, flows, run, star, us_on_wire

DELAY = 20.0


def checks() -> Iterable[Check]:
    """A lone packet is acknowledged when the timer says so."""
    packet, ack = us_on_wire(WIRE, 1), us_on_wire(ACK, 1)
    alone = 2 * packet + 2 * DELAY + 1000 + 2 * ack + 2 * DELAY
    yield Check(
        "3 packets, first window 1, ACKs of two packets within 1 ms",
        alone + 2 * packet + 2 * DELAY + packet,
        first_us(
            run(
                star(2),
                flows({"from": 0, "to": 1, "size": f"{3 * MSS} B"}),
                "10 ms",
                {"initial_window": 1, "ack_every": 2, "ack_delay": "1 ms"},
            )
        ),
        0.001,
        "us",
        "the first packet's ACK waits for its 1 ms (RFC 5681 4.2), then two packets go at once",
    )
