"""Every message by itself: for experiments of a few large ones.

``[options.messages]``: ``baseline``, a transport. The rows say how much earlier messages end than under it,
run by run.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.messages]``, which are described above."""

    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a run."""

    fct_us: float | None
    deadline_us: float | None
    bytes: int
    missed: bool | None


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and message, numbered in the order of their senders."""
    options = study.experiment.options
    baseline = options.of("messages", Options).baseline if "messages" in options else None
    runs = [] if baseline is None else study.runs(("flows",))
    former = {run.place: _messages(run) for run in runs if run.labels["transport"] == baseline}

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        before = former.get(run.place)
        for number, flow in enumerate(_messages(run)):
            base = before[number].fct_us if before and run.labels["transport"] != baseline else None
            yield (
                {"flow": number},
                {
                    "fct_ms": None if flow.fct_us is None else flow.fct_us / 1e3,
                    "deadline_ms": None if flow.deadline_us is None else flow.deadline_us / 1e3,
                    "size_mb": flow.bytes / 1e6,
                    "missed": None if flow.missed is None else int(flow.missed),
                    "earlier_percent": None
                    if base is None or flow.fct_us is None
                    else 100 * (1 - flow.fct_us / base),
                },
            )

    return study.rows(sample, tables=("flows",))


def _messages(run: Run) -> list[Message]:
    flows = run.kept.table("flows").sort("src", "start_us")
    return [Message(*row) for row in flows.select("fct_us", "deadline_us", "bytes", "missed").iter_rows()]
