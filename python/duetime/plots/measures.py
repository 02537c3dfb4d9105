"""The numbers that pictures show, computed from the messages."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from duetime.plots.data import Arm

Floats = npt.NDArray[np.float64]

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
T95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)
NORMAL95 = 1.960


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with half the width of its 95 % interval; none for a single seed."""

    mean: float
    half: float | None

    @staticmethod
    def of(values: Sequence[float]) -> "Estimate | None":
        """The estimate from one value per seed; none without values."""
        count = len(values)
        if count == 0:
            return None
        if count == 1:
            return Estimate(values[0], None)
        t = T95[count - 2] if count - 2 < len(T95) else NORMAL95
        return Estimate(float(np.mean(values)), t * float(np.std(values, ddof=1)) / count**0.5)


def missed_percent(arm: Arm, name: str | None) -> Estimate | None:
    """Deadlines missed, in percent of those whose outcome is known; of one class, or of all."""
    values = []
    for run in arm.runs:
        missed = run.counted.filter(pl.col("class") == name) if name is not None else run.counted
        share = missed["missed"].cast(pl.Float64).mean()
        if isinstance(share, float):
            values.append(100 * share)
    return Estimate.of(values)


def answers_in_time(arm: Arm) -> pl.DataFrame:
    """For each query of each class and seed the `share` of its answers that met their deadlines.

    Queries of which an answer's outcome is still open at the end are left out.
    """
    return (
        arm.counted.filter(pl.col("query").is_not_null(), pl.col("deadline_us").is_not_null())
        .group_by("seed", "class", "query")
        .agg(share=1 - pl.col("missed").cast(pl.Float64).mean(), open=pl.col("missed").is_null().any())
        .filter(~pl.col("open"))
        .sort("seed", "class", "query")
    )


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
