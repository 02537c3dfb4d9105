"""Every message by itself: for experiments of a few large ones."""

from collections.abc import Iterable

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and message, numbered in the order of their senders."""

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        for number, flow in enumerate(run.kept.table("flows").sort("from", "start_us").to_dicts()):
            yield (
                {"flow": number},
                {
                    "fct_ms": None if flow["fct_us"] is None else flow["fct_us"] / 1e3,
                    "deadline_ms": None if flow["deadline_us"] is None else flow["deadline_us"] / 1e3,
                    "size_mb": flow["bytes"] / 1e6,
                    "missed": None if flow["missed"] is None else int(flow["missed"]),
                },
            )

    return study.rows(sample, tables=("flows",))
