"""What an experiment measures: one file per measure, one line in `MEASURES`."""

from collections.abc import Callable

from duetime.experiments.measures import (
    capacity,
    estimate,
    fluid,
    groups,
    latency,
    lateness,
    messages,
    observed,
    optimum,
    paired,
    raw,
    signals,
    sizes,
    summary,
    throughput,
    tightening,
    types,
    urgency,
)
from duetime.experiments.study import Row, Study

#: Measures whose rows can be made anew from kept runs without one of the seeds, at no cost.
WITHOUT_SEEDS = {"groups", "summary"}
#: Name in the file of an experiment -> what makes its rows.
MEASURES: dict[str, Callable[[Study], list[Row]]] = {
    "capacity": capacity.rows,
    "estimate": estimate.rows,
    "fluid": fluid.rows,
    "groups": groups.rows,
    "lateness": lateness.rows,
    "latency": latency.rows,
    "messages": messages.rows,
    "observed": observed.rows,
    "optimum": optimum.rows,
    "paired": paired.rows,
    "raw": raw.rows,
    "signals": signals.rows,
    "sizes": sizes.rows,
    "summary": summary.rows,
    "throughput": throughput.rows,
    "tightening": tightening.rows,
    "types": types.rows,
    "urgency": urgency.rows,
}
