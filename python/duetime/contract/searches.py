"""The object of a search: what `tighten`, `capacity` and `need` print and save."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from duetime.contract.runs import Mean

Question: TypeAlias = Literal["tighten", "capacity", "need"]
#: The key of an answer's value, one for each question.
Found: TypeAlias = Literal["tighter_percent", "largest", "smallest"]
#: A value that was tried: a percentage, a number, or a quantity with its unit.
Level: TypeAlias = float | str


class Tried(TypedDict):
    """A value that was tried, and the misses there; None where the scenario is impossible."""

    value: Level
    missed_percent: Mean | None


class Value(TypedDict, total=False):
    """The value of an answer: one of these, by the question."""

    tighter_percent: Level | None
    largest: Level | None
    smallest: Level | None


class TooFew(TypedDict, total=False):
    """About how many seeds would do, where misses are too few to rely on an answer."""

    seeds: int


class Direction(TypedDict, total=False):
    """The direction in which misses grow."""

    #: Misses fall towards the values taken for harder.
    turned: bool


class Answer(Value, TooFew, Direction):
    """The answer for one transport."""

    transport: str | None
    #: The lower end first.
    ci95: list[Level | None]
    #: The values that the answer is known to be between: one that holds and the nearest that does not, the
    #: lower first. None where there is none, or none was tried.
    between: list[Level | None]
    missed_percent: Mean | None
    bound_percent: Mean | None
    as_written_missed_percent: Mean
    ends_with: str | None
    uneven: bool
    tried: list[Tried]


class Asked(TypedDict):
    """A question, and the share that may be missed."""

    question: Question
    target_percent: float | None
    against: NotRequired[str | None]
    step_percent: NotRequired[float]
    against_missed_percent: NotRequired[Mean | None]
    over: NotRequired[str]
    #: The goal of requests that is judged, in place of messages' deadlines.
    goal: NotRequired[str]


class Search(Asked):
    """A question and its answers."""

    version: str
    title: str
    seeds: list[int]
    answers: list[Answer]
