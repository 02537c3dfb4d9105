"""The numbers that pictures show: means over seeds, distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from duetime.plots.data import Arm
from duetime.statistics import estimate

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with half the width of its 95 % interval; none for a single seed."""

    mean: float
    half: float | None

    @staticmethod
    def of(values: Sequence[float]) -> "Estimate | None":
        """The estimate from one value per seed; none without values."""
        found = estimate(values)
        if found is None:
            return None
        high = found["ci95"][1]
        return Estimate(found["mean"], None if high is None else high - found["mean"])


def reported(arm: Arm, *path: str) -> Estimate | None:
    """A number that the runs report, found under `path` in `run.json`; none where no run has it."""
    values = []
    for run in arm.runs:
        value: Any = run.about
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int | float):
            values.append(float(value))
    return Estimate.of(values)


def missed_percent(arm: Arm, name: str | None) -> Estimate | None:
    """Deadlines missed, in percent of those whose outcome is known; of one class, or of all."""
    part = ("summary",) if name is None else ("classes", name)
    return reported(arm, *part, "missed_percent")


def least_missed_percent(arms: Sequence[Arm], name: str | None) -> Estimate | None:
    """No schedule misses a smaller share, of one class or of all: the least that any transport's runs say."""
    part = () if name is None else ("classes", name)
    found = [reported(arm, "bound", *part, "missed_percent") for arm in arms]
    return min((each for each in found if each), key=lambda each: each.mean, default=None)


def cdf(finished: Floats, total: int, most: int = 1500) -> tuple[Floats, Floats]:
    """Points of the share of `total`, in percent, that stayed at or below each value.

    Thinned to at most about `most` points, evenly in rank and always with both ends.
    """
    values = np.sort(finished)
    if len(values) == 0:
        return np.empty(0), np.empty(0)
    ranks = np.arange(1, len(values) + 1)
    if len(values) > most:
        # The tail is what readers look for: every one of its last values stays.
        body = np.linspace(0, len(values) - 1, most - 100).astype(int)
        keep = np.union1d(body, np.arange(len(values) - 100, len(values)))
        values, ranks = values[keep], ranks[keep]
    return np.concatenate([values[:1], values]), np.concatenate([[0.0], 100.0 * ranks / total])
