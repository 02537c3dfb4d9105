"""Missed deadlines and throughput of groups of traffic classes, which may run on different transports.

``[options.groups]`` names the groups. ``[options.transfer]`` names one of them whose messages all have so
many ``bytes``. Their bandwidth is this size over their mean completion time. With a ``baseline`` it is also
given as a share of that transport's, seed by seed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from duetime.contract.rows import Cell
from duetime.contract.runs import ClassSummary
from duetime.experiments.experiment import Labels
from duetime.experiments.measures.summary import with_bound
from duetime.experiments.study import Metrics, Row, Run, Study, over_seeds

Classes = Sequence[ClassSummary[int, float]]


@dataclass(frozen=True)
class Transfer:
    """The keys of ``[options.transfer]``, which are described above."""

    group: str = ""
    bytes: int = 0
    baseline: str | None = None


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and group."""
    options = study.experiment.options
    groups = options.lists("groups")
    transfer = options.of("transfer", Transfer) if "transfer" in options else Transfer()
    runs = study.runs()
    bandwidths = {_place(run): _bandwidth(run, groups, transfer) for run in runs}

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        for name, classes in groups.items():
            metrics = together([run.result["classes"][each] for each in classes])
            metrics["bound_percent"] = _bound(run, classes)
            if name == transfer.group:
                metrics["flow_mbps"] = own = bandwidths[_place(run)]
                first = bandwidths.get(_place(run, transfer.baseline))
                metrics["of_baseline_percent"] = 100 * own / first if own and first else None
            yield {"part": name}, metrics

    samples = (({**run.labels, **labels}, metrics) for run in runs for labels, metrics in sample(run))
    return with_bound(study, over_seeds(samples))


def together(classes: Classes) -> dict[str, float | None]:
    """Figures of several classes as if they were one."""
    decided = sum(each["with_deadline"] - each["undecided"] for each in classes)
    missed = sum(each["missed"] for each in classes)
    goodputs = [each["goodput_mbps"] for each in classes]
    known = [goodput for goodput in goodputs if goodput is not None]
    return {
        "missed_percent": 100 * missed / decided if decided else None,
        "goodput_mbps": None if None in goodputs else sum(known),
        "messages": sum(each["messages"] for each in classes),
    }


def _bound(run: Run, classes: Sequence[str]) -> float | None:
    """The sum of the classes' bounds, which no schedule of them together can be below."""
    bound, result = run.result.get("bound"), run.result
    own = [each for name in classes if bound and (each := bound["classes"].get(name))]
    with_deadline = sum(result["classes"][name]["with_deadline"] for name in classes)
    decided = with_deadline - sum(result["classes"][name]["undecided"] for name in classes)
    return 100 * sum(each["missed"] for each in own) / decided if decided and own else None


def _bandwidth(run: Run, groups: Mapping[str, list[str]], transfer: Transfer) -> float | None:
    every = [run.result["classes"][each] for each in groups.get(transfer.group, [])]
    classes = [each for each in every if each["completed"]]
    known = [(each["completed"], mean) for each in classes if (mean := each["fct_us"]["mean"]) is not None]
    # A mean is none where a transfer was under way when the run ended.
    if not classes or len(known) < len(classes):
        return None
    completed = sum(many for many, _ in known)
    total_us = sum(many * mean for many, mean in known)
    return float(8 * transfer.bytes * completed / total_us)


def _place(run: Run, transport: str | None = None) -> tuple[tuple[tuple[str, Cell], ...], int]:
    labels = run.labels if transport is None else {**run.labels, "transport": transport}
    return tuple(sorted(labels.items(), key=lambda label: label[0])), run.seed
