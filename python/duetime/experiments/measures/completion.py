"""Completion times of the messages of each class, and its missed deadlines.

``[options.completion]``: ``classes``, and the ``percents`` of their completion times that are reported, as
``CLASS_us_p95``. A message that has not finished when the run ends, or was aborted, counts with the time from
its start to that end: it is slow and not absent.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study, figure_of


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.completion]``, which are described above."""

    classes: list[str]
    percents: list[float]


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport."""
    options = study.experiment.options.of("completion", Options)

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        end_us = 1e6 * (run.result["simulated_s"] + run.result["cool_down_s"])
        counted = run.kept.table("flows").filter(pl.col("counted"))
        metrics: dict[str, float | None] = {}
        for name in options.classes:
            own = counted.filter(pl.col("class") == name)
            metrics |= {
                f"{name}_missed_percent": figure_of(run.result, f"classes.{name}.missed_percent"),
                f"{name}_unfinished": own["fct_us"].null_count(),
                f"{name}_messages": own.height,
                **{
                    f"{name}_us_p{percent:g}": percentile(own, end_us, percent)
                    for percent in options.percents
                },
            }
        yield {}, metrics

    return study.rows(sample, tables=("flows",))


def percentile(flows: pl.DataFrame, end_us: float, percent: float) -> float | None:
    """Return a percentile of completion times; a message without one takes until `end_us` at least."""
    under_way = flows.select(pl.coalesce("fct_us", end_us - pl.col("start_us"))).to_series()
    return under_way.quantile(percent / 100, "higher")
