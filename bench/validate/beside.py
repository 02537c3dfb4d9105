"""The comparison with ns-3: which scenarios, over which seeds, and what the table says of them."""

import os
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any

import polars as pl

from duetime.statistics import half_width
from validate import ns3
from validate.arrivals import Arrivals, Outcome, draw, ours

SETUPS = Path(__file__).parent / "setups"
#: How many seeds. Where deadlines are missed by little, chance decides which are: that takes more runs.
SEEDS = {"answers": 5, "answers-tight": 12, "incast": 5, "join": 4, "mix": 4, "ten": 4}
TRANSPORTS = ("dctcp", "tcp", "cubic")
#: ns-3 with what the page explains made as RFCs and Linux have it; and as it is, over fewer seeds, for the
#: page's explanations.
SIDES: dict[str, Sequence[str]] = {
    "mended": ("reduction", "hystart", *ns3.MENDS),
    "as it is": (),
}
AS_IT_IS = {"answers": 3, "incast": 3}
STEP_SEEDS = 2
#: The definition of agreement: the whole interval of the difference is within this share of ns-3's figure.
WITHIN = 0.05

#: The compared figures of a class.
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
    seeds: int
    ours: float
    theirs: float
    #: ours less theirs, the mean over seeds, and half of its 95 % interval.
    difference: float
    half: float

    @property
    def verdict(self) -> str:
        """Agrees: within 5 %, interval and all. Differs: by more, and surely by something. Else open."""
        most = WITHIN * abs(self.theirs)
        if abs(self.difference) + self.half <= most:
            return "agrees"
        return "differs" if abs(self.difference) > max(most, self.half) else "open"


def mean(values: pl.Series) -> float:
    """Return the mean of numbers."""
    return fsum(values.to_list()) / len(values)


def quantile(messages: pl.DataFrame, share: float) -> float:
    """Return a quantile of the completion times, in ms."""
    found = messages["fct_us"].quantile(share, "nearest")
    return float("nan") if found is None else found / 1e3


def late(messages: pl.DataFrame) -> pl.Series:
    """Return for each message whether it has missed its deadline; one that did not arrive has."""
    return (messages["fct_us"].fill_null(float("inf")) > messages["deadline_us"]).cast(pl.Float64)


def compare(
    only: Sequence[str] = (), transports: Sequence[str] = TRANSPORTS, seeds: int | None = None
) -> Iterable[Line]:
    """Every scenario under every transport, a run on each core; `Absent` where there is no ns-3."""
    program = ns3.build()
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        setups = [
            (path, transport)
            for path in sorted(SETUPS.glob("*.toml"))
            for transport in TRANSPORTS
            if transport in transports and path.stem in SEEDS and (not only or path.stem in only)
        ]
        runs = [
            [
                threads.submit(pairs, path, transport, seed, program, Path(temporary))
                for seed in range(1, (seeds or SEEDS[path.stem]) + 1)
            ]
            for path, transport in setups
        ]
        for (path, transport), made in zip(setups, runs, strict=True):
            yield from lines(path.stem, transport, [run.result() for run in made])


#: What a side gave: of a class or a port, a figure, ours and theirs.
Pairs = Mapping[str, Mapping[tuple[str, str], tuple[float, float]]]


def pairs(path: Path, transport: str, seed: int, program: Path, folder: Path) -> Pairs:
    """Run one scenario under one transport with one seed."""
    arrivals, own = drawn(path, transport, seed, folder)
    mine = figures(ours(arrivals, transport, ns3.ALIKE | ns3.BY_TRANSPORT.get(transport, {})))
    found = {}
    for side, mends in SIDES.items():
        if side == "mended" or seed <= AS_IT_IS.get(path.stem, 0):
            other = figures(ns3.theirs(arrivals, transport, ns3.ALIKE, program, own, mends))
            found[side] = {key: (value, other[key]) for key, value in mine.items()}
    return found


def drawn(path: Path, transport: str, seed: int, folder: Path) -> tuple[Arrivals, Path]:
    """The arrivals, and the folder where they are."""
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    if transport != "dctcp":
        # RED drops what it cannot mark, at K; these are compared at drop-tail ports.
        del scenario["network"]["mark"]
    own = folder / f"{path.stem}-{transport}-{seed}"
    own.mkdir()
    return draw(scenario, seed, own), own


def lines(setup: str, transport: str, made: Sequence[Pairs], sides: Iterable[str] = SIDES) -> Iterable[Line]:
    """Means and differences over seeds."""
    for side in sides:
        runs = [pairs[side] for pairs in made if side in pairs]
        for of, figure in runs[0] if runs else ():
            both = [run[of, figure] for run in runs]
            differences = [one - other for one, other in both]
            mine, other = (fsum(values) / len(both) for values in zip(*both, strict=True))
            difference = fsum(differences) / len(both)
            half = half_width(differences) or 0.0
            yield Line(setup, transport, side, of, figure, len(runs), mine, other, difference, half)


def figures(outcome: Outcome) -> dict[tuple[str, str], float]:
    """Return the compared figures, by the class or port and the name."""
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
    """The outcome of each query when one property is changed to the other simulator's."""

    simulator: str
    what: str
    drops: float
    timeouts: float
    missed: float
    #: The busiest port's, in packets.
    queue: float


MENDED = SIDES["mended"]


def without(*mends: str) -> Sequence[str]:
    """All that is mended but these."""
    return [mend for mend in MENDED if mend not in mends]


#: Either the settings of duetime, or the fixes in ns-3.
Case = tuple[str, str, Mapping[str, Any] | Sequence[str]]
#: The steps that concern any loss.
RECOVERY: list[Case] = [
    ("ns-3", "all mended but its timer", without("timer")),
    ("ns-3", "all mended but what partial ACKs send", without("partial")),
    ("ns-3", "all mended, each packet late by itself", [*MENDED, ns3.APART]),
    ("ns-3", "all mended", MENDED),
]
FOUND = {"transport.lost_retransmissions": "found", "transport.rto_restart": "retransmission"}
STEPS: dict[str, tuple[str, str, list[Case]]] = {
    "incast": (
        "incast",
        "dctcp",
        [
            ("duetime", "no handshake, its default", ns3.ALIKE | {"transport.handshake": False}),
            ("duetime", "handshake", ns3.ALIKE),
            ("duetime", "handshake, a mark's cut at once", ns3.ALIKE | {"transport.cut": "at-once"}),
            ("ns-3", "as it is", ()),
            ("ns-3", "no cut while a loss is repaired", ("echo",)),
            ("ns-3", "Linux's reduction", ("reduction",)),
            ("ns-3", "both", ("echo", "reduction")),
        ],
    ),
    "cubic": (
        "answers-tight",
        "cubic",
        [
            ("duetime", "what is lost again is found, its default", ns3.ALIKE | FOUND),
            ("duetime", "ten times C", ns3.ALIKE | FOUND | {"transport.c": 4.0}),
            ("duetime", "no fast convergence", ns3.ALIKE | FOUND | {"transport.fast_convergence": False}),
            ("duetime", "no Reno-friendly region", ns3.ALIKE | FOUND | {"transport.reno_friendly": False}),
            (
                "duetime",
                "what is lost again waits for the timeout",
                ns3.ALIKE | {"transport.rto_restart": "retransmission"},
            ),
            ("duetime", "and retransmissions do not restart the timer", ns3.ALIKE),
            ("ns-3", "all mended but its count of what is on its way", without("pipe")),
            *RECOVERY,
        ],
    ),
    "tcp": (
        "answers-tight",
        "tcp",
        [
            ("duetime", "told what ns-3 does", ns3.ALIKE),
            ("duetime", "what is lost again is found, its default", ns3.ALIKE | FOUND),
            ("ns-3", "as it is", ()),
            ("ns-3", "all mended but FlightSize", without("flight")),
            *RECOVERY,
        ],
    ),
    "dctcp": (
        "answers-tight",
        "dctcp",
        [
            ("duetime", "told what ns-3 does", ns3.ALIKE | ns3.BY_TRANSPORT["dctcp"]),
            ("ns-3", "all mended but what is DCTCP's own", without(*ns3.OF_DCTCP)),
            ("ns-3", "and the first window is observed", without("order", "loss", "floor", "steps")),
            ("ns-3", "and alpha counts the ACK that cuts", without("loss", "floor", "steps")),
            ("ns-3", "and no cut below two segments", without("loss", "steps")),
            # The last of them: growth. Nothing is lost here.
            ("ns-3", "all mended, each packet late by itself", [*MENDED, ns3.APART]),
            ("ns-3", "all mended", MENDED),
        ],
    ),
}


def steps(name: str) -> Iterable[Step]:
    """Run one setup, each difference by itself."""
    setup, transport, cases = STEPS[name]
    program = ns3.build()
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        arrivals = [
            drawn(SETUPS / f"{setup}.toml", transport, seed, Path(temporary))
            for seed in range(1, STEP_SEEDS + 1)
        ]
        leaves = tomllib.loads((SETUPS / f"{setup}.toml").read_text(encoding="utf-8"))["traffic"][0]["leaves"]
        for simulator, what, how in cases:

            def run(drawn: tuple[Arrivals, Path], how: Any = how) -> Outcome:
                if isinstance(how, Mapping):
                    return ours(drawn[0], transport, how)
                return ns3.theirs(drawn[0], transport, ns3.ALIKE, program, drawn[1], how)

            yield step(simulator, what, list(threads.map(run, arrivals)), leaves)


def step(simulator: str, what: str, made: Sequence[Outcome], leaves: int) -> Step:
    """Average the runs, by the number of messages of a query."""
    queries = sum(len(outcome.messages) for outcome in made) / leaves
    return Step(
        simulator,
        what,
        sum(each.drops for each in made) / queries,
        sum(each.timeouts for each in made) / queries,
        100 * mean(pl.concat([late(outcome.messages) for outcome in made])),
        fsum(each.queue_mean for each in made) / len(made),
    )


def recorded(found: Iterable[Line]) -> list[dict[str, Any]]:
    """Return the lines as JSON, each with its verdict."""
    return [asdict(line) | {"verdict": line.verdict} for line in found]
