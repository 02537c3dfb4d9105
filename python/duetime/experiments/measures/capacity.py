"""How far an axis can be turned up while enough deadlines are met.

``[options.capacity]`` names the ``axis`` and the share of deadlines ``met_percent`` that must be exceeded there
and at every smaller value. Beside the rows of the whole grid there is one with ``capacity`` for each transport.
"""

from collections import defaultdict
from typing import Any

from duetime.experiments.measures.summary import sample, with_bound
from duetime.experiments.study import BOUND, Row, Study, over_seeds


def rows(study: Study) -> list[Row]:
    """The rows of the grid, and capacities."""
    options = study.experiment.options["capacity"]
    axis: str = options["axis"]
    runs = study.runs()
    samples = [({**run.labels, **labels}, metrics) for run in runs for labels, metrics in sample(study, run)]
    met: dict[tuple[Any, ...], dict[float, float]] = defaultdict(dict)
    for run in runs:
        place = tuple((name, value) for name, value in run.labels.items() if name != axis)
        for transport, missed in (
            (run.labels["transport"], run.result["summary"]["missed_percent"]),
            (BOUND, (run.result.get("bound") or {}).get("missed_percent")),
        ):
            if missed is not None:
                labels = dict(place) | {"transport": transport}
                met[(*labels.items(), ("seed", run.seed))][run.labels[axis]] = 100 - missed
    found = []
    for place, values in met.items():
        labels = {name: value for name, value in place if name != "seed"}
        found.append((labels, {"capacity": largest(values, options["met_percent"])}))
    return with_bound(over_seeds(samples)) + over_seeds(found)


def largest(met: dict[float, float], target: float) -> float:
    """The largest value up to which all have more than `target`; 0 when not even the first has."""
    capacity = 0.0
    for value in sorted(met):
        if not met[value] > target:
            break
        capacity = value
    return capacity
