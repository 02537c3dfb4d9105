"""Requests of stages: the goals that they reached, their times and the parts of these, and the bound.

Keys of ``[options.requests]``:

- ``beside``: labels -> the value that they have in the run to compare with, as in ``{ policy = "none" }``.
  The column ``late_more_points`` has the share of late requests less the share there, with equal arrivals.
- ``transfers``: stages of messages. ``NAME_ms`` is the mean time of a message of this stage,
  ``NAME_alone_ms`` that in an empty network, and ``NAME_mb`` its mean size.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from duetime.contract.rows import Cell
from duetime.contract.runs import Requests
from duetime.experiments.experiment import Labels
from duetime.experiments.measures.summary import with_bound
from duetime.experiments.study import Metrics, Row, Run, Study, over_seeds
from duetime.frames import pl

#: The parts of the time of requests, each over all stages.
PARTS = ("network_percent", "work_percent", "waiting_percent")


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.requests]``, which are described above."""

    beside: dict[str, Cell] = field(default_factory=dict)
    transfers: list[str] = field(default_factory=list)


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport, and one for the bound of each cell."""
    options = study.experiment.options.of("requests", Options)
    runs = study.runs(("flows",) if options.transfers else ())
    late = {_place(run.labels, run.seed): late_percent(_requests(run)) for run in runs}

    def sample(run: Run) -> Metrics:
        own = late[_place(run.labels, run.seed)]
        other = late.get(_place({**run.labels, **options.beside}, run.seed))
        beside = {"late_more_points": None if own is None or other is None else own - other}
        return (
            figures(_requests(run))
            | {name: value for stage in options.transfers for name, value in transfers(run, stage).items()}
            | (beside if options.beside else {})
        )

    samples = ((run.labels, sample(run)) for run in runs)
    return with_bound(study, over_seeds(samples, ["late_more_points"]), "late_percent")


def figures(requests: Requests[int, float]) -> dict[str, float | None]:
    """The figures of one run."""
    bound, times = requests["bound"], requests["time_us"]
    return {
        "late_percent": late_percent(requests),
        "attained_percent": requests["all_goals_percent"],
        "bound_percent": bound["missed_percent"] if bound else None,
        "goodput_per_s": requests["goodput_per_s"],
        "requests": requests["number"],
        "time_mean_ms": _ms(times["mean"]),
        "time_p50_ms": _ms(times["p50"]),
        "time_p99_ms": _ms(times["p99"]),
        "network_percent": _sum(stage["network_percent"] for stage in requests["stages"].values()),
        "work_percent": _sum(stage["work_percent"] for stage in requests["stages"].values()),
        "waiting_percent": _sum(stage["waiting_percent"] for stage in requests["stages"].values()),
    }


def transfers(run: Run, stage: str) -> dict[str, float | None]:
    """The mean time of a stage's messages, in the run and alone, and their mean size.

    A message in flight at the end of the run leaves its time unknown, and so the mean.
    """
    flows = run.kept.table("flows").filter(pl.col("stage") == stage)
    return {
        f"{stage}_ms": None if flows["fct_us"].null_count() else _mean(flows["fct_us"], 1e3),
        f"{stage}_alone_ms": _mean(flows["ideal_fct_us"], 1e3),
        f"{stage}_mb": _mean(flows["bytes"], 1e6),
    }


def late_percent(requests: Requests[int, float]) -> float | None:
    """The share of decided requests that missed a goal; none where no request is decided."""
    attained = requests["all_goals_percent"]
    return None if attained is None else 100 - attained


def _requests(run: Run) -> Requests[int, float]:
    return run.result["summary"]["requests"]


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1000


def _place(labels: Labels, seed: int) -> tuple[tuple[tuple[str, Cell], ...], int]:
    return tuple(sorted(labels.items())), seed


def _sum(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) if known else None


def _mean(values: pl.Series, unit: float) -> float | None:
    return float(values.sum()) / unit / len(values) if len(values) else None
