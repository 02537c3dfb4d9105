"""Every message by itself: for experiments of a few large ones.

``[options.messages]``: ``baseline``, a transport. The rows say how much earlier messages end than under it,
run by run.
"""

from collections.abc import Iterable
from typing import Any

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and message, numbered in the order of their senders."""

    baseline = study.experiment.options.get("messages", {}).get("baseline")
    runs = [] if baseline is None else study.runs(("flows",))
    former = {run.place: _messages(run) for run in runs if run.labels["transport"] == baseline}

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        before = former.get(run.place)
        for number, flow in enumerate(_messages(run)):
            base = before[number]["fct_us"] if before and run.labels["transport"] != baseline else None
            yield (
                {"flow": number},
                {
                    "fct_ms": None if flow["fct_us"] is None else flow["fct_us"] / 1e3,
                    "deadline_ms": None if flow["deadline_us"] is None else flow["deadline_us"] / 1e3,
                    "size_mb": flow["bytes"] / 1e6,
                    "missed": None if flow["missed"] is None else int(flow["missed"]),
                    "earlier_percent": None
                    if base is None or flow["fct_us"] is None
                    else 100 * (1 - flow["fct_us"] / base),
                },
            )

    return study.rows(sample, tables=("flows",))


def _messages(run: Run) -> list[dict[str, Any]]:
    return run.kept.table("flows").sort("from", "start_us").to_dicts()
