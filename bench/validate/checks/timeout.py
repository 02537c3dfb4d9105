"""Checks of retransmission timeouts."""

from collections.abc import Iterable

from validate.check import MSS, WIRE, Check, flows, last_us, run, star, us_on_wire

DELAY = 20.0


def checks() -> Iterable[Check]:
    """Of three packets that meet at a port with room for one beside the one it sends, one is lost."""
    packet = us_on_wire(WIRE, 1)
    message = {"from": "0..3", "to": 3, "size": f"{MSS} B"}
    for initial in (20, 35):
        done = run(star(4, buffer="1 packets"), flows(message), "100 ms", {"rto_initial": f"{initial} ms"})
        yield Check(
            f"a first packet lost, rto_initial {initial} ms",
            initial * 1000 + 2 * packet + 2 * DELAY,
            last_us(done),
            0.001,
            "us",
            "sent again when the timer of its first transmission has run (RFC 6298 5.1, 5.4), then an empty"
            " network",
        )
