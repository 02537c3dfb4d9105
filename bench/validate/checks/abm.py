"""Active buffer management (Addanki et al., SIGCOMM 2022)."""

from collections.abc import Iterable

import polars as pl

from validate.check import MSS, Check, run, star

POOL, EACH, BURST = 120, 12, 100


def checks() -> Iterable[Check]:
    """Classes of a port that is overloaded for long divide a limit by weight."""
    for weights, alpha in (((1,), 1.0), ((1,), 0.5), ((3, 1), 1.0), ((1, 1), 2.0), ((5, 3, 2), 1.0)):
        classes = [
            {
                "name": f"class {index}",
                "pattern": "flows",
                "priority": index,
                "weight": weight,
                "flows": [
                    {"from": sender, "to": EACH, "size": f"{BURST * MSS} B"}
                    for sender in range(index, EACH, len(weights))
                ],
            }
            for index, weight in enumerate(weights)
        ]
        network = star(EACH + 1, buffer=f"{POOL} packets", sharing="abm", dynamic_alpha=alpha)
        done = run(network, classes, "1 ms", {"initial_window": BURST}, cool_down="0 s")
        median = done.links.filter(pl.col("dst") == f"host {EACH}")["queue_p50"][0]
        yield Check(
            f"weights {':'.join(map(str, weights))}, alpha {alpha:g}",
            alpha * POOL / (1 + alpha),
            median,
            len(weights) * (2 + alpha),
            "packets",
            "q_i = alpha (B - sum of q) mu_i, where the shares mu_i of the link's rate add up to 1 and each "
            "class has one congested queue: all q together are alpha B / (1 + alpha), however many classes; "
            "in whole packets",
        )
