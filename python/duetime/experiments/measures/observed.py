"""Observations of one sender over time: signals of the trace side by side.

``[options.observed]``: ``quantities``, signals of ``run.trace``. With ``estimate`` also the time that D2TCP
expects its message to need, T_c = d times the time left, beside what it took when the run was over.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study, over_seeds
from duetime.frames import pl


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.observed]``, which are described above."""

    quantities: list[str]
    estimate: bool = False


#: Signals whose columns have another name, for their unit.
COLUMNS = {"srtt": "srtt_us"}
#: Replaces the transport's name where the estimate is compared with the truth.
TRUTH = "what it took"


def rows(study: Study) -> list[Row]:
    """A row for each instant with all quantities; with ``estimate`` also ``what`` and ``value`` to draw."""
    options = study.experiment.options.of("observed", Options)
    tables = ("flows", "trace")
    estimate = options.estimate
    found = over_seeds(
        ({**run.labels, "time_ms": time_ms}, metrics)
        for run in study.runs(tables)
        for time_ms, metrics in instants(run, options.quantities, estimate=estimate)
    )
    return [*found, *drawn(found)] if estimate else found


def instants(run: Run, quantities: list[str], *, estimate: bool) -> Iterable[tuple[float, Metrics]]:
    """The signals of the first message at each time that it has all of them."""
    samples = run.kept.table("trace").filter(pl.col("message") == 0, pl.col("what").is_in(quantities))
    wide = samples.pivot("what", index="time_s", values="value").drop_nulls().sort("time_s")
    flow = run.kept.table("flows").row(0, named=True)
    for sample in wide.iter_rows(named=True):
        metrics: dict[str, float | None] = {COLUMNS.get(name, name): sample[name] for name in quantities}
        if estimate:
            since_ms = 1e3 * sample["time_s"] - flow["start_us"] / 1e3
            metrics["t_c_ms"] = sample["d"] * (flow["deadline_us"] / 1e3 - since_ms)
            metrics["took_ms"] = None if flow["fct_us"] is None else flow["fct_us"] / 1e3 - since_ms
        yield round(1e3 * sample["time_s"], 4), metrics


def drawn(found: list[Row]) -> Iterable[Row]:
    """Curves of the window and of the estimates, and once the truth."""
    first = found[0]["transport"] if found else ""
    for row in found:
        labels: Labels = {"transport": row["transport"], "time_ms": row["time_ms"]}
        yield labels | {"what": "cwnd", "value": row["cwnd"]}
        yield labels | {"what": "rest", "value": row["t_c_ms"]}
        if row["transport"] == first:
            yield labels | {"transport": TRUTH, "what": "rest", "value": row["took_ms"]}
