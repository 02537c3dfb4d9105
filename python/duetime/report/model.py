"""The content of a report, whatever the kind of its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from duetime.contract.experiments import Beside, Published
from duetime.contract.rows import Cell

#: A place on the horizontal axis: a number, or a word where the axis has categories.
Place = float | str


@dataclass(frozen=True)
class Point:
    """One value with its 95 % confidence interval, where there is one."""

    x: Place
    y: float
    low: float | None = None
    high: float | None = None
    #: How the source puts it, where it gives no exact number.
    label: str = ""
    #: ``upper`` or ``lower``: the source states a bound and no value.
    bound: str = ""


@dataclass(frozen=True)
class Series:
    """One line, or the bars of one colour."""

    name: str
    points: tuple[Point, ...]
    #: What the source states for the same places.
    published: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Axis:
    """The quantity along an axis."""

    label: str
    unit: str = ""
    #: Whether a value below zero means something, as that of a difference does.
    signed: bool = field(default=False, kw_only=True)

    @property
    def text(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Mark:
    """A line across a chart: a deadline, a target."""

    axis: Literal["x", "y"]
    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """Series over the same axes."""

    title: str
    #: `step`: a series keeps its value up to its next place.
    kind: Literal["line", "step", "bar", "points"]
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()

    @property
    def places(self) -> list[Place]:
        """Every place on the horizontal axis: numbers in their order, words in order of appearance."""
        found = list(dict.fromkeys(point.x for one in self.series for point in (*one.points, *one.published)))
        return found if any(isinstance(place, str) for place in found) else sorted(found)


@dataclass(frozen=True)
class Picture:
    """A drawing that is no chart of values."""

    title: str
    #: What it shows, in words.
    description: str
    svg: bytes


@dataclass(frozen=True)
class Claim:
    """A statement of the source, and the measured value."""

    claim: str
    published: Published
    measured: Cell
    #: None: not measured.
    holds: bool | None
    #: Why it does not hold, or was not measured.
    why: str = ""
    #: When it counts as holding.
    rule: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    #: The verdict, one of `experiments.verdicts.STATUSES`.
    status: str = "open"
    #: claim; setup: an echo of the configuration; own: an expectation of ours.
    kind: str = "claim"
    #: Claims of one fact count once.
    fact: str = ""
    #: The same in another regime: its name, the measured value, and whether it holds.
    beside: Beside | None = None


@dataclass(frozen=True)
class Table:
    """Rows that no chart shows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    #: How many rows there are, when not all of them are here.
    of: int = 0
    title: str = "Figures"


@dataclass(frozen=True)
class Experiment:
    """One section of a report."""

    id: str
    title: str
    source: str = ""
    question: str = ""
    #: The finding, in a sentence.
    finding: str = ""
    #: Which transport is better, and what the seeds can tell: a sentence each.
    verdicts: tuple[str, ...] = ()
    #: How it was run, as words: scale, seeds, regime.
    facts: Mapping[str, object] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    pictures: tuple[Picture, ...] = ()
    table: Table | None = None
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    scenario: str = ""
