"""The scenario language as the engine declares it: its schema, and the names and keys that it knows."""

from __future__ import annotations

import json
from typing import Any

from duetime import _core


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the scenario language, for editors."""
    found: dict[str, Any] = json.loads(_core.schema())
    return found


def catalog() -> dict[str, Any]:
    """List transports, topologies, patterns, faults, their keys (default, range, unit, source); signals."""
    found: dict[str, Any] = json.loads(_core.catalog())
    return found
