"""Missed deadlines and throughput of groups of traffic classes: the experiment names them in `[options.groups]`."""

from collections.abc import Iterable, Mapping
from typing import Any

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and group."""
    groups: dict[str, list[str]] = study.experiment.options["groups"]

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        for name, classes in groups.items():
            yield {"group": name}, together([run.result["classes"][each] for each in classes])

    return study.rows(sample)


def together(classes: list[Mapping[str, Any]]) -> Metrics:
    """Figures of several classes as if they were one."""
    decided = sum(each["with_deadline"] - each["undecided"] for each in classes)
    missed = sum(each["missed"] for each in classes)
    return {
        "missed_percent": 100 * missed / decided if decided else None,
        "goodput_mbps": sum(each["goodput_mbps"] for each in classes),
        "messages": sum(each["messages"] for each in classes),
    }
