"""The object of ``duetime estimate --json`` and of ``estimate.json``."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

#: A figure that has a range, and how errors call it.
Name: TypeAlias = Literal["missed_percent", "slowdown_p50", "slowdown_p99"]


class Slowdown(TypedDict):
    """Percentiles of the slowdown; None beyond the messages that arrived."""

    p50: float | None
    p99: float | None


class Figures(TypedDict):
    """The figures of some messages."""

    messages: int
    missed_percent: float | None
    slowdown: Slowdown


class OfSize(Figures):
    """The figures of the messages up to a size, in bytes."""

    up_to: int


class Summaries(TypedDict):
    """The figures over all messages, by class and by size."""

    summary: Figures
    classes: dict[str, Figures]
    sizes: list[OfSize]


class Errors(TypedDict):
    """The differences of two figures: slowdowns in percent, misses in points."""

    slowdown_p50_percent: float | None
    slowdown_p99_percent: float | None
    missed_points: float | None


class CheckErrors(Errors):
    """The errors over all messages, and of each class."""

    classes: dict[str, Errors]


class Check(TypedDict):
    """An estimate of a smaller network, beside its full run."""

    set: list[str]
    packet_hops: int
    dropped: float
    estimated: Summaries
    full: Summaries
    errors: CheckErrors


class Links(TypedDict):
    """The numbers of simulated links."""

    of: int
    clusters: int
    simulated: int
    packet_hops: int
    packet_hops_of_all: int


class Cost(TypedDict):
    """The packet-hops that a full run, the links and the check should take."""

    run: int
    links: int
    check: int


#: The ends of the range of each figure; None where the check says too little.
Ranges: TypeAlias = dict[Name, list[float] | None]


class AllRanges(TypedDict):
    """The ranges over all messages, and of each class."""

    summary: Ranges
    classes: dict[str, Ranges]


class Made(TypedDict):
    """How an estimate was made."""

    method: Literal["run", "links"]
    links: Links | None
    ranges: AllRanges | None
    warnings: list[str]
    check: Check | None


class Estimate(Summaries, Made):
    """An estimate, how it was made, and its cost."""

    title: str
    seed: int
    transport: str | None
    cost: Cost
    notes: list[str]
    #: Of the process that made it; not saved.
    cpu_s: NotRequired[float]
    #: In ``estimate.json`` only.
    version: NotRequired[str]


class Coverage(TypedDict):
    """The networks of a profile that ranges were tested with, and how many of them all ranges held in."""

    tested: int
    held: int
