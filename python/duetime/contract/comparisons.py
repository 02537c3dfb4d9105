"""The objects of a comparison and of a sweep."""

from __future__ import annotations

from typing import Generic, NotRequired, TypeAlias, TypedDict

from duetime.contract.rows import Row
from duetime.contract.runs import C, ClassSummary, Figure, Judged, Limits, N, OfTransport, Seeds, Summary


class Differences(TypedDict, Generic[C, N]):
    """The differences of one transport to another, seed by seed."""

    drops: C
    #: Left out where neither trimmed a packet.
    trims: NotRequired[C]
    marks: C
    timeouts: C
    retransmits: C
    summary: Summary[C, N]
    classes: dict[str, ClassSummary[C, N]]
    sets: dict[str, Summary[C, N]] | None


#: Differences without and with seeds.
OfPair: TypeAlias = Differences[int, float] | Differences[Seeds, Seeds]


class Judgement(TypedDict):
    """The better of two transports, None where the seeds cannot tell, and the reason as a sentence."""

    better: str | None
    sentence: str


class Verdict(Judgement):
    """A judgement with the transports and the figure that it is of."""

    transport: str
    against: str
    figure: str
    difference: Figure


class Comparison(TypedDict):
    """The object of ``duetime compare --json``."""

    runs: dict[str, OfTransport]
    bound: Limits[int, float] | Limits[Seeds, Seeds] | None
    against: str
    differences: dict[str, OfPair]
    verdicts: list[Verdict]
    limits: NotRequired[list[Judged]]


class SavedComparison(Comparison):
    """The content of ``compare.json``."""

    version: str
    interrupted: bool


class Plan(TypedDict):
    """A sweep's file as the engine reads it."""

    title: str
    scenario: str
    transports: list[str] | None
    seeds: list[int]
    set: list[str]
    axes: list[str]
    points: list[list[object]]
    changes: list[list[str]]


class Sweep(TypedDict):
    """The content of ``sweep.json``."""

    version: str
    title: str
    scenario: str
    shared: list[str]
    axes: list[str]
    keys: list[str]
    points: list[list[object]]
    changes: list[list[str]]
    transports: list[str]
    against: str | None
    seeds: list[int]
    runs: int
    #: Each with the keys of `Place`, one for each axis, and ``error``.
    failures: list[Row]
    results: list[str]
