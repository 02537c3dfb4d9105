"""The scenario language as the engine declares it: its schema, and the names and keys that it knows."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from duetime import _core

#: The lists of a section's choices in the catalogue.
FAMILIES = {"network": "topologies", "traffic": "patterns", "transport": "transports", "fault": "faults"}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the scenario language, for editors."""
    found: dict[str, Any] = json.loads(_core.schema())
    return found


def catalog() -> dict[str, Any]:
    """List transports, topologies, patterns, faults, their keys (default, range, unit, source); signals."""
    found: dict[str, Any] = json.loads(_core.catalog())
    return found


@cache
def _declared() -> dict[str, Any]:
    """Return the catalogue, read once; it is not to be changed."""
    return catalog()


def transport(name: str) -> dict[str, Any]:
    """Return the transport of that name."""
    return _named("transports", name)


def topology(name: str) -> dict[str, Any]:
    """Return the topology of that name."""
    return _named("topologies", name)


def pattern(name: str) -> dict[str, Any]:
    """Return the traffic pattern of that name."""
    return _named("patterns", name)


def _named(family: str, name: str) -> dict[str, Any]:
    return next(each for each in _declared()[family] if each["name"] == name)


def easier(key: str) -> str | None:
    """Return "more" or "less", whichever makes deadlines easier to meet; None where that is not known.

    A word without its section, as the name of a parameter, is looked up in all sections. Other words for a
    key mean it too.
    """
    path, _, word = key.rpartition(".")
    meant = {meaning for other, meaning in _declared()["aliases"] if other == word}
    found = {each["easier"] for each in _keys(path.partition(".")[0]) if each["name"] in {word, *meant}}
    known = found - {None}
    return known.pop() if len(known) == 1 else None


def _keys(section: str) -> list[dict[str, Any]]:
    """Return the keys of a section with all its choices and tables, or of all sections where it is empty."""
    found: list[dict[str, Any]] = []
    for own in [section] if section else ["run", *FAMILIES]:
        found += _declared().get(own, [])
        for each in _declared().get(FAMILIES.get(own, ""), []):
            found += each["keys"]
    return [*found, *(inner for each in found for inner in each.get("keys", ()))]
