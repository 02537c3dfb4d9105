"""From the results of several seeds to means with their 95 % confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

#: Keys that name a run or its parts and are no measurements.
NAMES = {"title", "transport", "seed", "from", "to", "side", "method", "kernel"}


def over_seeds(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put objects of the JSON contract, one for each seed, into one.

    Each number becomes ``{"mean", "ci95": [low, high], "values": [one for each seed]}``; null where no seed
    has one. ``seeds`` lists the seeds, ``seed`` is the first of them.
    """
    merged: dict[str, Any] = {}
    for key, value in objects[0].items():
        if key == "seed":
            merged["seed"] = value
            merged["seeds"] = [each["seed"] for each in objects]
        else:
            merged[key] = _merge(key, value, [each.get(key) for each in objects])
    return merged


def _merge(key: str, first: Any, values: list[Any]) -> Any:
    parts = [value for value in values if isinstance(value, dict)]
    if parts:
        # Where a seed has no such part (no queue, say), it has no values in it either.
        keys = list(parts[0])
        columns = {k: [v.get(k) if isinstance(v, dict) else None for v in values] for k in keys}
        return {k: _merge(k, parts[0][k], columns[k]) for k in keys}
    if key in NAMES:
        return first if all(value == first for value in values) else values
    return estimate(values)


def estimate(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Mean and 95 % confidence interval (Student's t) of the values that are there."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    n = len(present)
    mean = math.fsum(present) / n
    interval: list[float | None] = [None, None]
    if n > 1:
        variance = math.fsum((value - mean) ** 2 for value in present) / (n - 1)
        half = t_quantile(n - 1) * math.sqrt(variance / n)
        interval = [mean - half, mean + half]
    return {"mean": mean, "ci95": interval, "values": list(values)}


def t_quantile(degrees: int) -> float:
    """The 97.5th percentile of Student's t: 95 % of the values lie within plus and minus this."""
    low, high = 1.0, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        if _within(middle, degrees) < 0.95:
            low = middle
        else:
            high = middle
    return high


def _within(t: float, degrees: int) -> float:
    """The probability that Student's t lies within +-`t` (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    theta = math.atan(t / math.sqrt(degrees))
    cos, term, total = math.cos(theta), 1.0, 0.0
    if degrees % 2:
        term = cos
        for j in range(3, degrees + 1, 2):
            total += term
            term *= cos * cos * (j - 1) / j
        return 2 / math.pi * (theta + math.sin(theta) * total)
    for j in range(2, degrees + 1, 2):
        total += term
        term *= cos * cos * (j - 1) / j
    return math.sin(theta) * total
