"""The comparison with ns-3: which scenarios, over which seeds, and what the table says of them."""

import os
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any

import polars as pl

from duetime.statistics import half_width
from validate import ns3

SETUPS = Path(__file__).parent / "setups"
SEEDS = range(1, 6)
TRANSPORTS = ("dctcp", "tcp", "cubic")
#: ns-3 as it is, and with what the page explains made as RFCs and Linux have it.
SIDES: dict[str, Sequence[str]] = {"as it is": (), "mended": ("echo", "reduction", "hystart")}

#: What is compared of a class.
FIGURES: dict[str, Callable[[pl.DataFrame], float]] = {
    "missed, %": lambda messages: 100 * mean(late(messages)),
    "FCT p50, ms": lambda messages: quantile(messages, 0.5),
    "FCT p90, ms": lambda messages: quantile(messages, 0.9),
}


@dataclass(frozen=True)
class Line:
    """One figure under both simulators: means over seeds, and the paired difference."""

    setup: str
    transport: str
    side: str
    of: str
    figure: str
    ours: float
    theirs: float
    #: ours less theirs, the mean over seeds, and half of its 95 % interval.
    difference: float
    half: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within 5 % of theirs, or its interval holds none."""
        return abs(self.difference) <= max(0.05 * abs(self.theirs), self.half)


def mean(values: pl.Series) -> float:
    """Of numbers."""
    return fsum(values.to_list()) / len(values)


def quantile(messages: pl.DataFrame, share: float) -> float:
    """Of the completion times, in ms."""
    found = messages["fct_us"].quantile(share, "nearest")
    return float("nan") if found is None else found / 1e3


def late(messages: pl.DataFrame) -> pl.Series:
    """Which messages have missed their deadline; one that did not arrive has."""
    return (messages["fct_us"].fill_null(float("inf")) > messages["deadline_us"]).cast(pl.Float64)


def compare(only: Sequence[str] = ()) -> Iterable[Line]:
    """Every scenario under every transport; `Absent` where there is no ns-3."""
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        folder = Path(temporary)
        program = ns3.build(folder)
        tasks = [
            (path, transport)
            for path in sorted(SETUPS.glob("*.toml"))
            for transport in TRANSPORTS
            if not only or path.stem in only
        ]
        for lines in threads.map(lambda task: list(lines_of(task[0], task[1], program, folder)), tasks):
            yield from lines


def lines_of(path: Path, transport: str, program: Path, folder: Path) -> Iterable[Line]:
    """One scenario under one transport."""
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    if transport != "dctcp":
        # RED drops what it cannot mark, at K; these are compared at drop-tail ports.
        del scenario["network"]["mark"]
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for seed in SEEDS:
        own = folder / f"{path.stem}-{transport}-{seed}"
        own.mkdir()
        arrivals = ns3.draw(scenario, seed, own)
        ours = figures(ns3.ours(arrivals, transport, ns3.ALIKE))
        for side, mends in SIDES.items():
            theirs = figures(ns3.theirs(arrivals, transport, ns3.ALIKE, program, own, mends))
            for key, value in ours.items():
                found.setdefault((side, *key), []).append((value, theirs[key]))
    for (side, of, figure), pairs in found.items():
        differences = [one - other for one, other in pairs]
        ours_mean, theirs_mean = (fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
        difference = fsum(differences) / len(pairs)
        half = half_width(differences) or 0.0
        yield Line(path.stem, transport, side, of, figure, ours_mean, theirs_mean, difference, half)


def figures(outcome: ns3.Outcome) -> dict[tuple[str, str], float]:
    """What is compared, by what it is of."""
    found = {}
    for (name,), messages in outcome.messages.group_by(["class"], maintain_order=True):
        for figure, of in FIGURES.items():
            found[str(name), figure] = of(messages)
    found["busiest port", "queue's mean, packets"] = outcome.queue_mean
    found["busiest port", "queue's p99, packets"] = outcome.queue_p99
    found["all ports", "drops"] = float(outcome.drops)
    return found


@dataclass(frozen=True)
class Step:
    """Drops and late answers of each query of the incast when one thing is made as the other has it."""

    simulator: str
    what: str
    drops: float
    missed: float


def steps() -> Iterable[Step]:
    """The incast of forty under DCTCP, each difference by itself."""
    scenario = tomllib.loads((SETUPS / "incast.toml").read_text(encoding="utf-8"))
    cases: list[tuple[str, str, dict[str, Any] | Sequence[str]]] = [
        ("duetime", "no handshake, its default", ns3.ALIKE | {"transport.handshake": False}),
        ("duetime", "handshake", ns3.ALIKE),
        ("duetime", "handshake, a mark's cut at once", ns3.ALIKE | {"transport.cut": "at-once"}),
        ("ns-3", "as it is", ()),
        ("ns-3", "no cut while a loss is repaired", ("echo",)),
        ("ns-3", "Linux's reduction", ("reduction",)),
        ("ns-3", "both", ("echo", "reduction")),
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        program = ns3.build(folder)
        drawn = []
        for seed in SEEDS:
            own = folder / str(seed)
            own.mkdir()
            drawn.append((ns3.draw(scenario, seed, own), own))
        for simulator, what, how in cases:
            made = [
                ns3.ours(arrivals, "dctcp", how)
                if isinstance(how, dict)
                else ns3.theirs(arrivals, "dctcp", ns3.ALIKE, program, own, how)
                for arrivals, own in drawn
            ]
            queries = sum(len(outcome.messages) for outcome in made) / scenario["traffic"][0]["leaves"]
            missed = mean(pl.concat([late(outcome.messages) for outcome in made]))
            yield Step(simulator, what, sum(each.drops for each in made) / queries, 100 * missed)


def recorded(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """As JSON, with whether they agree."""
    return [asdict(line) | {"agrees": line.agrees} for line in lines]
