"""The figures of a run over all its classes, and the omniscient bound beside the transports."""

import itertools
from collections.abc import Iterable

from duetime.contract.rows import Cell, number
from duetime.experiments.experiment import Labels
from duetime.experiments.study import BOUND, Metrics, Row, Run, Study, figure_of

#: What every row has; an experiment may ask for more.
METRICS = {
    "missed_percent": "summary.missed_percent",
    "complete_queries_percent": "summary.complete_queries_percent",
    "fct_us_p50": "summary.fct_us.p50",
    "fct_us_p99": "summary.fct_us.p99",
    "goodput_mbps": "summary.goodput_mbps",
    "messages": "summary.messages",
    "drops": "drops",
    "marks": "marks",
    "timeouts": "timeouts",
    "retransmits": "retransmits",
    "bound_percent": "bound.missed_percent",
}


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport, and one for the bound of each cell."""
    return with_bound(study, study.rows(lambda run: sample(study, run)))


def sample(study: Study, run: Run) -> Iterable[tuple[Labels, Metrics]]:
    """The figures of one run."""
    metrics = METRICS | study.experiment.metrics
    found = {name: figure_of(run.result, path) for name, path in metrics.items()}
    missed = found["missed_percent"]
    yield {}, found | {"met_percent": None if missed is None else 100 - missed}


def with_bound(study: Study, rows: list[Row], column: str = "missed_percent") -> list[Row]:
    """Add a row for the bound of each place, named so in ``transport``, and where ``bound_in`` says.

    The arrivals are the same under every transport, but headers and losses on the way are not. So the bounds
    of their runs differ by a little: the lowest is given.
    """
    found: dict[tuple[tuple[str, Cell], ...], Row] = {}
    for row in rows:
        if row.get("bound_percent") is None:
            continue
        labels: Row = {name: row[name] for name in itertools.takewhile(lambda name: name != "runs", row)}
        labels["transport"] = BOUND
        if "bound_in" in study.experiment.options:
            labels[study.experiment.options.text("bound_in")] = BOUND
        bound: Row = {
            **labels,
            "runs": row["runs"],
            **{f"{column}{end}": row[f"bound_percent{end}"] for end in ("", "_low", "_high")},
            **({f"{column}_seeds": row["bound_percent_seeds"]} if "bound_percent_seeds" in row else {}),
        }
        place = tuple(labels.items())
        if place not in found or number(bound, column) < number(found[place], column):
            found[place] = bound
    return [*rows, *found.values()]
