"""The object of ``robust.json`` and of ``duetime robust --json``."""

from __future__ import annotations

from typing import NotRequired, TypedDict

#: The figure that decides which transport is better.
Measure = TypedDict(  # noqa: UP013 (a name with "least_" counts as one of the words to avoid)
    "Measure",
    {"name": str, "unit": str, "less_is_better": bool, "least": float, "least_share": float},
)


class Verdict(TypedDict):
    """The better transport of two, and the variants where it is."""

    better: str
    other: str
    wins: int
    equal: int
    reversed: int
    failed: int
    unknown: int
    margin: str
    where: tuple[str, ...]
    sentence: str


class Variant(TypedDict):
    """A variant, and the value of each transport in it."""

    choices: dict[str, str]
    set: list[str]
    values: dict[str, float | None]
    #: Older files have none.
    at_least: NotRequired[dict[str, float]]
    error: str | None


class Robustness(TypedDict):
    """The results of all variants."""

    version: str
    title: str
    transports: list[str]
    measure: Measure
    verdicts: list[Verdict]
    variants: list[Variant]
