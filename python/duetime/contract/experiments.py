"""The objects of an experiment: judged claims, charts, and the whole of ``result.json``."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from duetime.contract.rows import Cell, Row
from duetime.contract.scenarios import Network, RunTable, Traffic, Transport

#: What a paper states: a number, several, or words.
Published: TypeAlias = Cell | list[Cell]
#: The verdict on a claim, one of `experiments.verdicts.STATUSES`.
Status: TypeAlias = Literal["holds", "late", "open", "few", "calibrated", "uncalibrated", "fails"]


class Measured(TypedDict):
    """The measured value of a claim, with the ends of its interval."""

    measured: Cell
    low: Cell
    high: Cell


class Beside(Measured):
    """A claim as it was judged in another regime."""

    regime: str
    holds: bool | None


class Judged(Measured):
    """A claim with its measured value, and whether it holds."""

    claim: str
    published: Published
    unit: str
    holds: bool | None
    rule: str
    why: str
    #: About how many seeds would give a verdict, where too few misses back one.
    seeds: NotRequired[int]


class Counted(TypedDict):
    """The keys of a claim that decide how it is counted."""

    kind: str
    fact: str
    status: str
    holds: bool | None


class Claim(Judged):
    """A judged claim, and what that is worth."""

    beside: NotRequired[Beside]
    kind: str
    fact: str
    late: str
    status: str


class Axis(TypedDict):
    """An axis of a chart; keys without a value are left out."""

    column: str
    label: NotRequired[str]
    unit: NotRequired[str]
    low: NotRequired[str]
    high: NotRequired[str]
    log: bool
    limit: NotRequired[float]
    begin: float


class Series(TypedDict):
    """The column whose values are the series of a chart."""

    column: str


class Stated(TypedDict):
    """A published point of a chart."""

    series: str | None
    x: Cell
    y: Cell
    label: str | None
    bound: NotRequired[str]


class Chart(TypedDict):
    """A chart of a result, with the published points."""

    title: str
    kind: Literal["line", "bar", "points"]
    x: Axis
    y: Axis
    series: Series
    where: Row
    published: list[Stated]


class Parameters(TypedDict):
    """The parameters of the runs: all keys of the first cell, and each transport's own."""

    run: RunTable
    network: Network
    traffic: list[Traffic]
    transports: dict[str, Transport]
    changes: list[str]


class Held(TypedDict):
    """A claim in variants: in how many of them it holds, and in which."""

    claim: str
    as_written: bool | None
    held: int
    of: int
    where: list[str]
    where_not: list[str]


class Robust(TypedDict):
    """All claims in variants of the settings that the scenario leaves open."""

    variants: list[str]
    claims: list[Held]


class Reproduction(TypedDict):
    """The content of ``result.json``."""

    version: str
    id: str
    title: str
    source: str
    question: str
    scale: str
    seeds: list[int]
    regime: str
    #: Compact records have neither scenario nor parameters.
    scenario: NotRequired[str]
    parameters: NotRequired[Parameters]
    versions: dict[str, str]
    runs: int
    charts: list[Chart]
    rows: list[Row]
    published: dict[str, object]
    finding: str
    claims: list[Claim]
    notes: list[str]
    robust: NotRequired[Robust]
    #: Hashes of the engine and of the pictures, of the documentation's records only.
    engine: NotRequired[object]
    pictures: NotRequired[object]


class Real(TypedDict):
    """Rows from a real network."""

    rows: list[Row]
    notes: NotRequired[list[str]]


class KeptBeside(TypedDict, total=False):
    """The verdict of another regime in a compact record."""

    measured: Cell
    low: Cell
    high: Cell
    holds: bool | None


class KeptClaim(TypedDict):
    """A claim in a compact record."""

    claim: str
    #: A hash of the claim and of all that its verdict depends on, besides the rows.
    judged: str
    status: str
    measured: NotRequired[Cell]
    low: NotRequired[Cell]
    high: NotRequired[Cell]
    seeds: NotRequired[int]
    beside: NotRequired[KeptBeside]
    variants: NotRequired[str]


class Header(TypedDict, total=False):
    """The header of a compact record; empty where there is none."""

    version: str
    scale: str
    seeds: list[int]
    runs: int
    versions: dict[str, str]
    finding: str
    engine: object
    pictures: object
    notes: list[str]
    variants: list[str]
    claims: list[KeptClaim]


class Regime(TypedDict):
    """A way to read what the papers leave open, or a named change."""

    help: str
    set: list[str]
    calibrated: NotRequired[object]


class Regimes(TypedDict):
    """The file of regimes."""

    regimes: dict[str, Regime]
    changes: dict[str, Regime]
