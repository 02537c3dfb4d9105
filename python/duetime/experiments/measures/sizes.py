"""Misses, slowdowns by the size of messages, and the goodput of the background, of one run.

``[options.sizes]``: ``background``, the class whose goodput is reported, and ``bands``, each a name with the
smallest size and the first that is too large, in bytes. A message that has not finished when the run ends, or
was aborted, counts with the time from its start to that end: it is slow and not absent.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.experiments.experiment import Labels
from duetime.experiments.measures.summary import with_bound
from duetime.experiments.study import Metrics, Row, Run, Study, figure_of
from duetime.frames import pl


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.sizes]``, which are described above."""

    background: str
    bands: dict[str, list[int]]


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport, and one for the bound of each cell."""
    options = study.experiment.options.of("sizes", Options)

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        end_us = 1e6 * (run.result["simulated_s"] + run.result["cool_down_s"])
        metrics = {
            "missed_percent": figure_of(run.result, "summary.missed_percent"),
            "bound_percent": figure_of(run.result, "bound.missed_percent"),
            "background_mbps": figure_of(run.result, f"classes.{options.background}.goodput_mbps"),
            "drops": figure_of(run.result, "drops"),
            "timeouts": figure_of(run.result, "timeouts"),
        }
        yield {}, metrics | slowdowns(run.kept.table("flows"), end_us, options.bands)

    return with_bound(study, study.rows(sample, tables=("flows",)))


def slowdowns(flows: pl.DataFrame, end_us: float, bands: dict[str, list[int]]) -> dict[str, float | None]:
    """The 50th and 99th percentile of FCT over the time on an empty network, for each band of sizes."""
    under_way = pl.coalesce("fct_us", end_us - pl.col("start_us"))
    counted = flows.filter(pl.col("counted"), pl.col("ideal_fct_us").is_not_null())
    known = counted.select("bytes", slowdown=under_way / pl.col("ideal_fct_us"))
    found: dict[str, float | None] = {}
    for name, (least, beyond) in bands.items():
        own = known.filter(pl.col("bytes") >= least, pl.col("bytes") < beyond)["slowdown"]
        for percent in (50, 99):
            found[f"{name}_p{percent}"] = own.quantile(percent / 100, "higher")
    return found
