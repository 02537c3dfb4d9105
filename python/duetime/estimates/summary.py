"""Figures of messages, estimated or simulated: by class and by size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from duetime.estimates.traffic import Column, Traffic
from duetime.frames import pl
from duetime.slowdown import GROUPS, by_size


def messages(traffic: Traffic, completion: Column) -> pl.DataFrame:
    """A row for each message that counts, with the columns of a run's table of messages; times in us."""
    names = [each["name"] for each in traffic.resolved["traffic"]]
    late = (traffic.deadline >= 0) & (completion > traffic.deadline)
    done = np.isfinite(completion)
    frame = pl.DataFrame(
        {
            "class": pl.Series(names)[traffic.classes],
            "from": traffic.sender,
            "to": traffic.receiver,
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
    "class", "from", "to", "bytes", "start_us", "fct_us", "ideal_fct_us", "slowdown", "deadline_us", "missed",
)  # fmt: skip


def of_run(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the counted messages of a run, with the columns of an estimate."""
    return flows.filter("counted").select(COLUMNS)


def figures(found: pl.DataFrame) -> dict[str, Any]:
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


def _figures(found: pl.DataFrame) -> dict[str, Any]:
    """Return the figures; a message undecided at the end has not missed, and is slower than all others."""
    decided, slowdown = found["missed"].drop_nulls().mean(), found["slowdown"].fill_null(float("inf"))
    return {
        "messages": found.height,
        "missed_percent": None if decided is None else 100.0 * decided,  # type: ignore[operator]
        "slowdown": {
            name: _finite(slowdown.quantile(share, "linear")) for name, share in (("p50", 0.5), ("p99", 0.99))
        },
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def errors(estimated: Mapping[str, Any], full: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences of two of these: slowdowns in percent of the full run's, misses in points."""
    found: dict[str, Any] = {
        f"slowdown_{name}_percent": _percent(estimated["slowdown"][name], full["slowdown"][name])
        for name in ("p50", "p99")
    }
    one, other = estimated["missed_percent"], full["missed_percent"]
    found["missed_points"] = None if one is None or other is None else one - other
    return found


def _percent(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else 100.0 * (one / other - 1.0)
