"""Percentiles of latency as a share of the allowed time.

A message that has not finished counts with at least the time it has already been under way: an unfinished one
is slow and not absent. Messages that were undecided when the run ended are left out.
"""

from collections.abc import Iterable

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study, figure_of
from duetime.frames import pl

PERCENTILES = (50, 90, 99)


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport."""

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        end_us = 1e6 * (run.result["simulated_s"] + run.result["cool_down_s"])
        metrics = percentiles(run.kept.table("flows"), end_us)
        yield {}, metrics | {"bound_percent": figure_of(run.result, "bound.missed_percent")}

    return study.rows(sample, tables=("flows",))


def percentiles(flows: pl.DataFrame, end_us: float) -> dict[str, float | None]:
    """Latency over allowed time in percent, and the share of missed deadlines, of one run's messages."""
    counted = flows.filter(pl.col("counted"), pl.col("missed").is_not_null())
    under_way = pl.coalesce("fct_us", end_us - pl.col("start_us"))
    ratio = counted.select(100 * under_way / pl.col("deadline_us")).to_series()
    missed = counted["missed"].mean()
    found: dict[str, float | None] = {
        f"p{percent}_percent": ratio.quantile(percent / 100, "linear") for percent in PERCENTILES
    }
    found["missed_percent"] = None if missed is None else 100 * float(missed)  # type: ignore[arg-type]
    return found
