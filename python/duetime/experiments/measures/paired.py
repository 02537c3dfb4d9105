"""Transports beside a baseline, run by run: differences on equal arrivals, with their interval.

Keys of ``[options.paired]``:

- ``baseline``: a transport, which may be the value of a label (``"{beside}"``).
- ``points``: new columns -> a figure of the run, whose difference to the baseline's is meant.
- ``times``: new columns -> two figures: the baseline's first, over the transport's second.
- ``values``: new columns -> a figure of each run by itself.
- ``repeats``: how many of the seeds count where a label has a certain value, as
  ``repeats = { fan_in = { "20" = 3 } }``.
"""

from dataclasses import dataclass, field

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study, figure_of, over_seeds
from duetime.experiments.texts import filled

#: Where a figure is in a run's JSON; or places there -> their weights in a sum.
Path = str | dict[str, float]


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.paired]``, which are described above."""

    baseline: str
    points: dict[str, Path] = field(default_factory=dict)
    times: dict[str, list[Path]] = field(default_factory=dict)
    values: dict[str, Path] = field(default_factory=dict)
    repeats: dict[str, dict[str, float]] = field(default_factory=dict)


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport; the baseline's own holds values alone."""
    options = study.experiment.options.of("paired", Options)
    runs = [run for run in study.runs() if run.seed - study.seeds[0] < _repeats(options, run)]
    baseline = {
        run.place: run
        for run in runs
        if run.labels["transport"] == filled(options.baseline, run.labels, "options.paired.baseline")
    }
    samples: list[tuple[Labels, Metrics]] = []
    for run in runs:
        values = {name: figure_of(run.result, path) for name, path in options.values.items()}
        other = baseline.get(run.place)
        if other is not None and other is not run:
            values |= _differences(options, run, other)
        if values:
            samples.append((run.labels, values))
    return over_seeds(samples, options.points.keys())


def _differences(options: Options, run: Run, baseline: Run) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for column, path in options.points.items():
        own, base = figure_of(run.result, path), figure_of(baseline.result, path)
        found[column] = None if own is None or base is None else own - base
    for column, (first, second) in options.times.items():
        base, own = figure_of(baseline.result, first), figure_of(run.result, second)
        found[column] = None if not own or base is None else base / own
    return found


def _repeats(options: Options, run: Run) -> float:
    limits = [
        most[str(run.labels[column])]
        for column, most in options.repeats.items()
        if str(run.labels.get(column)) in most
    ]
    return min(limits, default=float("inf"))
