"""The queue as senders estimate it, beside the real queue.

``[options.estimate]``: ``from_s`` and ``until_s``, between which samples count. They are read from the trace
(``run.trace`` with ``queue`` and ``queue_estimate``) of a network in which one queue is traced.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study
from duetime.frames import pl


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.estimate]``, which are described above."""

    from_s: float
    until_s: float


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport, with means in packets."""
    options = study.experiment.options.of("estimate", Options)

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        samples = run.kept.table("trace").filter(pl.col("time_s").is_between(options.from_s, options.until_s))
        queue = samples.filter(pl.col("what") == "queue")
        estimates = samples.filter(pl.col("what") == "queue_estimate")
        yield (
            {},
            {"queue_packets": _mean(queue["value"]), "estimate_packets": _mean(estimates["value"])},
        )

    return study.rows(sample, tables=("trace",))


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return None if mean is None else float(mean)  # type: ignore[arg-type]
