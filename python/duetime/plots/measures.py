"""The numbers that pictures show: means over seeds, distributions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from duetime.plots.data import Arm
from duetime.statistics import of_figure, trials

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with the ends of its 95 % interval; none for a single seed."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def top(self) -> float:
        """How high it reaches."""
        return self.mean if self.high is None else self.high


def reported(arm: Arm, *path: str) -> Estimate | None:
    """A number that the runs report, found under `path` in `run.json`; none where no run has it.

    The interval is that of the tables: of shares it stays between 0 and 100.
    """
    # A figure in an object of shares is itself a share.
    name = next((key for key in path if key.endswith("_percent")), path[-1])
    parents = [_at(run.about, path[: path.index(name)]) for run in arm.runs]
    values = [_at(run.about, path) for run in arm.runs]
    numbers = [float(value) if isinstance(value, int | float) else None for value in values]
    found = of_figure(name, numbers, trials(name, parents))
    if found is None:
        return None
    low, high = found["ci95"] if arm.seeds_differ else (None, None)
    return Estimate(found["mean"], low, high)


def _at(part: object, path: Sequence[str]) -> object:
    for key in path:
        part = part.get(key) if isinstance(part, dict) else None
    return part


def missed_percent(arm: Arm, name: str | None) -> Estimate | None:
    """Return the missed deadlines in percent of those with a known outcome; of one class, or of all."""
    part = ("summary",) if name is None else ("classes", name)
    return reported(arm, *part, "missed_percent")


def min_missed_percent(arms: Sequence[Arm], name: str | None) -> Estimate | None:
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
        # Readers look for the tail: every one of its last values stays.
        body = np.linspace(0, len(values) - 1, most - 100).astype(int)
        keep = np.union1d(body, np.arange(len(values) - 100, len(values)))
        values, ranks = values[keep], ranks[keep]
    return np.concatenate([values[:1], values]), np.concatenate([[0.0], 100.0 * ranks / total])
