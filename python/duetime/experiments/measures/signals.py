"""One signal of the trace over time, and how it is spread.

Keys of ``[options.signals]``:

- ``what``: a signal of ``run.trace``.
- ``senders``: name -> the host whose messages are meant; or ``links``: name -> a link as the trace names it.
- ``shown_ms``: the window whose samples become rows.
- ``counted_ms``: the window that mean and percentiles are taken over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from duetime.errors import Mistaken
from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Run, Study
from duetime.frames import pl


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.signals]``, which are described above."""

    what: str
    shown_ms: list[float]
    counted_ms: list[float]
    senders: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


PERCENTILES = {"p1": 0.01, "p50": 0.5, "p99": 0.99}


def rows(study: Study) -> list[Row]:
    """A row with ``time_ms`` and ``value`` for each sample shown, and one for each spread."""
    options = study.experiment.options.of("signals", Options)
    column = "link" if options.links else "src"
    named: Mapping[str, int | str] = options.links or options.senders
    if not named:
        raise Mistaken(f"{study.experiment.path}: [options.signals]: needs `senders` or `links`")

    def sample(run: Run) -> Iterable[tuple[Labels, Metrics]]:
        samples = run.kept.table("trace").filter(pl.col("what") == options.what)
        for name, place in named.items():
            own = samples.filter(pl.col(column) == place).sort("time_s")
            counted = _within(own, options.counted_ms)["value"]
            if counted.len():
                yield {"of": name}, _spread(counted)
            shown = _within(own, options.shown_ms)
            for time_s, value in zip(shown["time_s"], shown["value"], strict=True):
                yield {"of": name, "time_ms": round(1e3 * time_s, 4)}, {"value": value}

    return study.rows(sample, tables=("trace",))


def _within(samples: pl.DataFrame, window_ms: list[float]) -> pl.DataFrame:
    low, high = window_ms
    return samples.filter((pl.col("time_s") > low / 1e3) & (pl.col("time_s") <= high / 1e3))


def _spread(values: pl.Series) -> Metrics:
    found = values.cast(pl.Float64).to_numpy()
    whole = {"mean": float(found.mean()), "least": float(found.min()), "most": float(found.max())}
    return whole | {name: float(np.quantile(found, share)) for name, share in PERCENTILES.items()}
