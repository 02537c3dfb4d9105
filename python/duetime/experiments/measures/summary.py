"""The figures of a run over all its classes, and the omniscient bound beside the transports."""

from collections.abc import Iterable

from duetime.experiments.experiment import Labels
from duetime.experiments.study import BOUND, Metrics, Row, Run, Study, figure_of

#: What every row has; an experiment may ask for more.
METRICS = {
    "missed_percent": "summary.missed_percent",
    "complete_queries_percent": "summary.complete_queries_percent",
    "fct_p50_us": "summary.fct_us.p50",
    "fct_p99_us": "summary.fct_us.p99",
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
    metrics = METRICS | study.experiment.metrics
    # The arrivals are those of every transport, so any of them tells the bound.
    first = study.transports[0]

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        yield {}, {name: figure_of(run.result, path) for name, path in metrics.items()}
        bound = figure_of(run.result, METRICS["bound_percent"])
        if run.labels["transport"] == first and bound is not None:
            yield {"transport": BOUND}, {"missed_percent": bound, "bound_percent": bound}

    return study.rows(sample)
