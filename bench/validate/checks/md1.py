"""A queue with Poisson arrivals and constant service."""

from collections.abc import Iterable

import polars as pl

from validate.check import MSS, WIRE, Check, run, star

SENDERS = 100


def packets(load: float) -> dict[str, object]:
    """Return the class of messages of one packet from all senders to the host behind them."""
    return {
        "name": "packets",
        "pattern": "poisson",
        "from": f"0..{SENDERS}",
        "to": SENDERS,
        "load": load / SENDERS * MSS / WIRE,
        "size": f"{MSS} B",
    }


def checks() -> Iterable[Check]:
    """Messages of one packet from many hosts to one."""
    for load in (0.5, 0.7):
        done = run(star(SENDERS + 1, buffer="100000 packets"), [packets(load)], "12 s", warm_up="100 ms")
        queue = done.links.filter(pl.col("dst") == f"host {SENDERS}")["queue_mean"][0]
        expected = load**2 / (2 * (1 - load))
        yield Check(
            f"mean queue at load {load:.0%}",
            expected,
            queue,
            expected * 0.03,
            "packets",
            "M/D/1: rho^2 / (2 (1 - rho)) wait. 1 %, as a host's own packets never meet (one in N = 100), "
            "and 2 %, three times the standard error: a queue with a deviation of 1.2 that forgets in 1 / "
            "(1 - rho)^2 packets, over half a million of them",
        )
