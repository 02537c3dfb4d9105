"""Throughput over time of an experiment with a few large messages that starts with all of them under way.

Samples are read from the trace (``run.trace`` with ``throughput``). For each message there is also its share
of the bandwidth until the first of them has finished.
"""

import math
from collections.abc import Iterable

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study
from duetime.frames import pl


def rows(study: Study) -> list[Row]:
    """Rows with ``time_ms`` and ``mbps`` for each message, and one with ``share_percent``."""

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        flows, samples = run.kept.table("flows"), run.kept.table("trace")
        order = flows.with_row_index("message").sort("src", "start_us")["message"].to_list()
        samples = samples.filter(pl.col("what") == "throughput")
        first_s = min((us / 1e6 for us in flows["fct_us"] if us is not None), default=math.inf)
        until = samples.filter(pl.col("time_s") <= first_s)
        total = float(until["value"].sum())
        for number, message in enumerate(order):
            own = samples.filter(pl.col("message") == message).sort("time_s")
            share = float(until.filter(pl.col("message") == message)["value"].sum())
            yield {"flow": number}, {"share_percent": 100 * share / total if total else None}
            for time_s, mbps in zip(own["time_s"], own["value"], strict=True):
                yield {"flow": number, "time_ms": round(1e3 * time_s, 3)}, {"mbps": mbps}

    return study.rows(sample, tables=("flows", "trace"))
