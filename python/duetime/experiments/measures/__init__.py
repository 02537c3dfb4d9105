"""What an experiment measures: one file per measure, one line in `MEASURES`."""

from collections.abc import Callable

from duetime.experiments.measures import (
    capacity,
    estimate,
    groups,
    latency,
    lateness,
    messages,
    paired,
    raw,
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
    "groups": groups.rows,
    "lateness": lateness.rows,
    "latency": latency.rows,
    "messages": messages.rows,
    "paired": paired.rows,
    "raw": raw.rows,
    "sizes": sizes.rows,
    "summary": summary.rows,
    "throughput": throughput.rows,
    "tightening": tightening.rows,
    "types": types.rows,
    "urgency": urgency.rows,
}
