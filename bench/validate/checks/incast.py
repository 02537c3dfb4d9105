"""Answers that meet at one port."""

from collections.abc import Iterable

from validate.check import MSS, Check, flows, run, star

ANSWERS, WINDOW = 40, 10


def checks() -> Iterable[Check]:
    """Packets that a port neither holds nor sends while first windows arrive are lost."""
    for buffer in (100, 300):
        message = {"from": f"0..{ANSWERS}", "to": ANSWERS, "size": f"{WINDOW * MSS} B"}
        done = run(star(ANSWERS + 1, buffer=f"{buffer} packets"), flows(message), "15 ms", cool_down="0 s")
        yield Check(
            f"drops of {ANSWERS} first windows of {WINDOW} packets, {buffer} fit",
            ANSWERS * WINDOW - buffer - WINDOW,
            done.data["drops"],
            1,
            "packets",
            "forty arrive in each packet's time and one leaves: all but what fits and the ten that leave; "
            "one more or less, as the last leaves just when the last arrive",
        )
