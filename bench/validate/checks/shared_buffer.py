"""Dynamic thresholds (Choudhury and Hahne 1998)."""

from collections.abc import Iterable

import polars as pl

from validate.check import MSS, Check, run, star

POOL, EACH = 1000, 12


def checks() -> Iterable[Check]:
    """n ports that are overloaded for long share the pool so that each holds alpha of the free part."""
    for ports, alpha in ((1, 1.0), (2, 1.0), (3, 1.0), (1, 4.0), (2, 0.5)):
        senders = EACH * ports
        classes = [
            {
                "name": f"to {port}",
                "pattern": "flows",
                "flows": [
                    {
                        "from": f"{EACH * port}..{EACH * (port + 1)}",
                        "to": senders + port,
                        "size": f"{2 * POOL * MSS} B",
                    }
                ],
            }
            for port in range(ports)
        ]
        network = star(senders + ports, buffer=f"{POOL} packets", sharing="dynamic", dynamic_alpha=alpha)
        done = run(network, classes, "3 ms", {"initial_window": POOL}, cool_down="0 s")
        longest = done.links.filter(pl.col("dst") == f"host {senders}")["queue_max"][0]
        yield Check(
            f"{ports} full ports, alpha {alpha:g}",
            alpha * POOL / (1 + ports * alpha),
            longest,
            ports + alpha + 1,
            "packets",
            "Q = alpha (B - n Q) gives Q = alpha B / (1 + n alpha); in whole packets, which n ports take in"
            " turns",
        )
