"""The mean of D2TCP's d for each message in windows of time.

Samples are read from the trace (``run.trace`` with ``d``). ``[options.urgency]``: ``windows_ms``, pairs of
begin and end.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study
from duetime.frames import pl


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.urgency]``, which are described above."""

    windows_ms: list[list[float]]


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport, message and window in which the message was under way."""
    windows = study.experiment.options.of("urgency", Options).windows_ms

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        flows, samples = run.kept.table("flows"), run.kept.table("trace")
        order = flows.with_row_index("message").sort("src", "start_us")["message"].to_list()
        samples = samples.filter(pl.col("what") == "d")
        for number, message in enumerate(order):
            own = samples.filter(pl.col("message") == message)
            for low, high in windows:
                inside = own.filter((pl.col("time_s") > low / 1e3) & (pl.col("time_s") <= high / 1e3))[
                    "value"
                ]
                if inside.len():
                    mean = inside.mean()
                    yield {"flow": number, "window": f"{low} to {high} ms"}, {"d": mean}  # type: ignore[dict-item]

    return study.rows(sample, tables=("flows", "trace"))
