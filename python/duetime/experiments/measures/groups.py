"""Missed deadlines and throughput of groups of traffic classes, which may run on different transports.

``[options.groups]`` names the groups. ``[options.transfer]`` names one of them whose messages all have so
many ``bytes``. Their bandwidth is this size over their mean completion time. With a ``baseline`` it is also
given as a share of that transport's, seed by seed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from duetime.experiments.experiment import Labels
from duetime.experiments.measures.summary import with_bound
from duetime.experiments.study import Metrics, Row, Run, Study, over_seeds

Classes = list[Mapping[str, Any]]


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and group."""
    groups: dict[str, list[str]] = study.experiment.options["groups"]
    transfer = study.experiment.options.get("transfer", {})
    runs = study.runs()
    bandwidths = {_place(run): _bandwidth(run, groups, transfer) for run in runs}

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        for name, classes in groups.items():
            metrics = together([run.result["classes"][each] for each in classes])
            metrics["bound_percent"] = _bound(run.result.get("bound"), classes, run.result)
            if name == transfer.get("group"):
                metrics["flow_mbps"] = own = bandwidths[_place(run)]
                first = bandwidths.get(_place(run, transfer.get("baseline")))
                metrics["of_baseline_percent"] = 100 * own / first if own and first else None
            yield {"part": name}, metrics

    samples = (({**run.labels, **labels}, metrics) for run in runs for labels, metrics in sample(run))
    return with_bound(study, over_seeds(samples))


def together(classes: Classes) -> dict[str, float | None]:
    """Figures of several classes as if they were one."""
    decided = sum(each["with_deadline"] - each["undecided"] for each in classes)
    missed = sum(each["missed"] for each in classes)
    return {
        "missed_percent": 100 * missed / decided if decided else None,
        "goodput_mbps": sum(each["goodput_mbps"] for each in classes),
        "messages": sum(each["messages"] for each in classes),
    }


def _bound(bound: Mapping[str, Any] | None, classes: list[str], result: Mapping[str, Any]) -> float | None:
    """The sum of the classes' bounds, which no schedule of them together can be below."""
    own = [(bound or {}).get("classes", {}).get(name) for name in classes]
    with_deadline = sum(result["classes"][name]["with_deadline"] for name in classes)
    decided = with_deadline - sum(result["classes"][name]["undecided"] for name in classes)
    return 100 * sum(each["missed"] for each in own if each) / decided if decided and any(own) else None


def _bandwidth(run: Run, groups: Mapping[str, list[str]], transfer: Mapping[str, Any]) -> float | None:
    classes = [run.result["classes"][each] for each in groups.get(transfer.get("group", ""), [])]
    completed = sum(each["completed"] for each in classes)
    means = [(each["completed"], each["fct_us"]["mean"]) for each in classes if each["completed"]]
    # A mean is none where a transfer was under way when the run ended.
    if not completed or any(mean is None for _, mean in means):
        return None
    total_us = sum(many * mean for many, mean in means)
    return float(8 * transfer["bytes"] * completed / total_us)


def _place(run: Run, transport: str | None = None) -> tuple[Any, ...]:
    labels = run.labels if transport is None else {**run.labels, "transport": transport}
    return (*sorted(labels.items(), key=lambda label: label[0]), run.seed)
