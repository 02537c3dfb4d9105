"""The measures of an experiment: one file per measure, one line in `MEASURES`."""

from collections.abc import Callable
from importlib import import_module

from duetime.experiments.study import Row, Study

#: Measures whose rows can be computed from kept runs without one of the seeds, at no cost.
WITHOUT_SEEDS = {"groups", "requests", "summary"}
#: Names in the files of experiments, which are the names of the modules whose `rows` makes the rows.
MEASURES = (
    "capacity",
    "completion",
    "estimate",
    "fluid",
    "groups",
    "lateness",
    "latency",
    "messages",
    "observed",
    "optimum",
    "paired",
    "raw",
    "requests",
    "signals",
    "sizes",
    "summary",
    "throughput",
    "tightening",
    "types",
    "urgency",
)


def measure(name: str) -> Callable[[Study], list[Row]]:
    """Return the function for the rows of one of `MEASURES`; some need libraries that others do without."""
    found: Callable[[Study], list[Row]] = import_module(f"{__name__}.{name}").rows
    return found
