"""The excess of late messages over their deadlines, and single messages for a scatter plot.

``[options.lateness]``: ``dots``, how many messages of the first seeds are shown for each transport, ``only``
where the labels are these.
"""

from dataclasses import dataclass, field

import numpy as np

from duetime.contract.rows import Cell
from duetime.experiments.experiment import Labels
from duetime.experiments.study import BOUND, Metrics, Row, Study, figure_of, over_seeds
from duetime.frames import pl


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.lateness]``, which are described above."""

    dots: int
    only: dict[str, Cell] = field(default_factory=dict)


def rows(study: Study) -> list[Row]:
    """A row for each transport, one for the bound, and one for each message shown."""
    options = study.experiment.options.of("lateness", Options)
    samples: list[tuple[Labels, Metrics]] = []
    shown: dict[Cell, list[Row]] = {}
    for run in study.runs(("flows",)):
        flows = run.kept.table("flows").filter(pl.col("counted"), pl.col("missed").is_not_null())
        bound = figure_of(run.result, "bound.missed_percent")
        samples.append((run.labels, exceeded(flows) | {"bound_percent": bound}))
        if run.labels["transport"] == study.transports[0]:
            # The messages are the same under all transports.
            samples.append((run.labels | {"transport": BOUND}, {"missed_percent": bound}))
        if options.only.items() <= run.labels.items():
            dots = shown.setdefault(run.labels["transport"], [])
            finished = flows.filter(pl.col("fct_us").is_not_null())
            for flow in finished.head(options.dots - len(dots)).to_dicts():
                outcome = "late" if flow["missed"] else "in time"
                times = {"deadline_ms": flow["deadline_us"] / 1e3, "fct_ms": flow["fct_us"] / 1e3}
                dots.append({**run.labels, "outcome": outcome, **times})
    return over_seeds(samples) + [row for dots in shown.values() for row in dots]


def exceeded(flows: pl.DataFrame) -> dict[str, float | None]:
    """Share of messages that are late, and by what part of the deadline the finished ones are."""
    late = flows.filter(pl.col("missed"), pl.col("fct_us").is_not_null())
    beyond = late.select(100 * (pl.col("fct_us") / pl.col("deadline_us") - 1)).to_series().to_numpy()
    return {
        "missed_percent": 100 * float(flows["missed"].sum()) / flows.height if flows.height else None,
        "exceeded_percent_mean": float(np.mean(beyond)) if late.height else None,
        "exceeded_percent_p95": float(np.percentile(beyond, 95)) if late.height else None,
    }
