"""Marks with a probability that rises with the queue (RED; Floyd and Jacobson 1993, DCQCN 3.1)."""

import math
from collections.abc import Iterable

import polars as pl

from validate.check import Check, run, star
from validate.checks import md1
from validate.checks.md1 import SENDERS

#: Longest queue that counts: longer ones have a probability below 1e-9 at these loads.
LONGEST = 60


def checks() -> Iterable[Check]:
    """Messages of one packet from many hosts to one, whose queue is that of M/D/1."""
    for load, kmin, kmax, pmax in ((0.7, 1, 6, 0.5), (0.7, 2, 4, 1.0), (0.5, 0, 10, 0.2)):
        marking = {
            "marking": "red",
            "mark": f"{kmin} packets",
            "red_kmax": f"{kmax} packets",
            "red_pmax": pmax,
        }
        done = run(
            star(SENDERS + 1, buffer="100000 packets", **marking),
            [md1.packets(load)],
            "4 s",
            {"name": "dctcp"},
            warm_up="100 ms",
        )
        link = done.links.filter(pl.col("dst") == f"host {SENDERS}")
        packets = int(link["packets"][0])
        expected = sum(
            share * probability(max(found, 1), kmin, kmax, pmax)
            for found, share in enumerate(stationary(load))
        )
        deviation = math.sqrt(expected * (1 - expected) / packets / (1 - load) ** 2)
        yield Check(
            f"share of marks, Kmin {kmin}, Kmax {kmax}, Pmax {pmax:g}, load {load:.0%}",
            expected,
            link["marks"][0] / packets,
            0.01 * expected + 3 * deviation,
            "",
            "the sum over M/D/1's queues, which arrivals find (PASTA), of Pmax (q - Kmin) / (Kmax - Kmin), 0 "
            "below and 1 above, q with the arriving packet and without the one in transmission; three "
            "standard errors of draws that 1 / (1 - rho)^2 packets have in common, and 1 %, as a host's own "
            "packets never meet (one in N = 100)",
        )


def probability(queue: int, kmin: int, kmax: int, pmax: float) -> float:
    """Return the probability of a mark."""
    if queue <= kmin:
        return 0.0
    return 1.0 if queue > kmax else pmax * (queue - kmin) / (kmax - kmin)


def stationary(load: float) -> list[float]:
    """Return the probabilities of 0, 1, 2 .. packets in an M/D/1 system."""
    arrive = [math.exp(-load) * load**count / math.factorial(count) for count in range(LONGEST)]
    found = [1 - load]
    # A departure leaves n behind: n + 1 or fewer were there before, and the rest arrived meanwhile.
    for count in range(LONGEST - 1):
        came = sum(found[before] * arrive[count + 1 - before] for before in range(1, count + 1))
        found.append((found[count] - found[0] * arrive[count] - came) / arrive[0])
    return found
