"""The scenario language as the engine declares it: its schema, and the names and keys that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from duetime import _core
from duetime.contract import reading

if TYPE_CHECKING:
    from duetime.contract.catalog import (
        Catalog,
        Entry,
        Family,
        Key,
        Listed,
        Named,
        Pattern,
        Profile,
        Section,
        Topology,
        Transport,
    )

E = TypeVar("E", bound="Named | Entry | Profile")
#: The lists of a section's choices in the catalogue.
FAMILIES: dict[Section, Family] = {
    "network": "topologies",
    "traffic": "patterns",
    "transport": "transports",
    "fault": "faults",
}
#: The lists of keys of the catalogue.
LISTED: tuple[Listed, ...] = ("root", "run", "trace", "network", "traffic", "links", "flows", "fault")


def schema() -> dict[str, object]:
    """Return the JSON Schema of the scenario language, for editors."""
    return reading.schema(_core.schema())


def catalog() -> Catalog:
    """List transports, topologies, patterns, faults, their keys (default, range, unit, source); signals."""
    return reading.catalog(_core.catalog())


@cache
def _declared() -> Catalog:
    """Return the catalogue, read once; it is not to be changed."""
    return catalog()


def transport(name: str) -> Transport:
    """Return the transport of that name."""
    return named(_declared()["transports"], name)


def topology(name: str) -> Topology:
    """Return the topology of that name."""
    return named(_declared()["topologies"], name)


def pattern(name: str) -> Pattern:
    """Return the traffic pattern of that name."""
    return named(_declared()["patterns"], name)


def named(entries: Sequence[E], name: str) -> E:
    """Return the entry of that name; `StopIteration` where there is none."""
    return next(each for each in entries if each["name"] == name)


def easier(key: str) -> str | None:
    """Return "more" or "less", whichever makes deadlines easier to meet; None where that is not known.

    A word without its section, as the name of a parameter, is looked up in all sections. Other words for a
    key mean it too.
    """
    path, _, word = key.rpartition(".")
    meant = {meaning for other, meaning in _declared()["aliases"] if other == word}
    section = path.partition(".")[0]
    found = {each["easier"] for each in _keys(section) if each["name"] in {word, *meant}}
    known = found - {None}
    return known.pop() if len(known) == 1 else None


def _keys(section: str) -> list[Key]:
    """Return the keys of a section with all its choices and tables, or of all sections where it is empty."""
    wanted = {section} if section else {"run", *FAMILIES}
    found = [key for own in LISTED if own in wanted for key in _declared()[own]]
    families = [family for own, family in FAMILIES.items() if own in wanted]
    found += [key for family in families for each in _declared()[family] for key in each["keys"]]
    return [*found, *(inner for each in found for inner in each.get("keys", []))]
