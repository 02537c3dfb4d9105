"""Figures of messages, estimated or simulated: by class and by size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from duetime.estimates.traffic import Traffic
from duetime.foreseen import Column
from duetime.frames import pl
from duetime.slowdown import GROUPS, by_size

if TYPE_CHECKING:
    from duetime.contract.estimates import Errors, Figures, Summaries


def messages(traffic: Traffic, completion: Column) -> pl.DataFrame:
    """A row for each message that counts, with the columns of a run's table of messages; times in us."""
    names = [each["name"] for each in traffic.resolved["traffic"]]
    late = (traffic.deadline >= 0) & (completion > traffic.deadline)
    done = np.isfinite(completion)
    frame = pl.DataFrame(
        {
            "class": pl.Series(names)[traffic.classes],
            "src": traffic.sender,
            "dst": traffic.receiver,
            "bytes": traffic.bytes,
            "start_us": traffic.start / 1e6,
            "fct_us": np.where(done, completion, 0.0) / 1e6,
            "ideal_fct_us": traffic.ideal / 1e6,
            "slowdown": np.where(done, completion, 0.0) / traffic.ideal,
            "deadline_us": traffic.deadline / 1e6,
            "missed": late,
            "done": done,
        }
    ).filter(pl.Series(traffic.counted))
    had = pl.col("deadline_us") >= 0
    return frame.with_columns(
        pl.when("done").then("fct_us").alias("fct_us"),
        pl.when("done").then("slowdown").alias("slowdown"),
        pl.when(had).then("missed").alias("missed"),
        pl.when(had).then("deadline_us").alias("deadline_us"),
    ).drop("done")


#: Columns of a table of messages.
COLUMNS = (
    "class", "src", "dst", "bytes", "start_us", "fct_us", "ideal_fct_us", "slowdown", "deadline_us", "missed",
)  # fmt: skip


def of_run(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the counted messages of a run, with the columns of an estimate."""
    return flows.filter("counted").select(COLUMNS)


def figures(found: pl.DataFrame) -> Summaries:
    """Slowdown and misses over all, by class and by size, of an estimate or a run."""
    ends = by_size(found, GROUPS)["up_to"].to_list()
    return {
        "summary": _figures(found),
        "classes": {
            name: _figures(found.filter(pl.col("class") == name))
            for name in found["class"].unique(maintain_order=True)
        },
        "sizes": [
            {"up_to": end, **_figures(found.filter(pl.col("bytes").is_between(begin, end, closed="right")))}
            for begin, end in zip([0, *ends], ends, strict=False)
        ],
    }


def _figures(found: pl.DataFrame) -> Figures:
    """Return the figures; a message undecided at the end has not missed, and is slower than all others."""
    decided, slowdown = found["missed"].drop_nulls().mean(), found["slowdown"].fill_null(float("inf"))
    missed = 100.0 * decided if isinstance(decided, float) else None
    return {
        "messages": found.height,
        "missed_percent": missed,
        "slowdown": {
            "p50": _finite(slowdown.quantile(0.5, "linear")),
            "p99": _finite(slowdown.quantile(0.99, "linear")),
        },
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def errors(estimated: Figures, full: Figures) -> Errors:
    """Return the differences of two of these: slowdowns in percent of the full run's, misses in points."""
    one, other = estimated["missed_percent"], full["missed_percent"]
    return {
        "slowdown_p50_percent": _percent(estimated["slowdown"]["p50"], full["slowdown"]["p50"]),
        "slowdown_p99_percent": _percent(estimated["slowdown"]["p99"], full["slowdown"]["p99"]),
        "missed_points": None if one is None or other is None else one - other,
    }


def _percent(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else 100.0 * (one / other - 1.0)
