"""An estimate corrected by the full run that it was compared with.

In the smaller network each message has an estimated and a true completion time. The excess over the ideal
time is mapped from the distribution of the first to that of the second, by class and size. This is quantile
mapping, as in the correction of weather forecasts. The map is applied to the whole network's messages.
"""

from __future__ import annotations

import numpy as np

from duetime.foreseen import Column
from duetime.frames import pl

#: The minimum number of messages of a map. With fewer the 99th percentile is meaningless for a class, and
#: classes or sizes share one.
LEAST = 100
#: The most groups of size in a class, of equally many messages: delays per byte differ by size.
MAX_GROUPS = 2
#: The value of a message that did not arrive: beyond all others.
NEVER = 1e12
#: Of so many of the largest the ratio is chance: they have that of the quantile below them.
TAIL = 20
#: Ratios are means over so many neighbours on either side.
WINDOW = 5
#: Delays below this part of the ideal time have no ratio that means something.
SMALL = 0.02


def corrected(messages: pl.DataFrame, estimated: pl.DataFrame, full: pl.DataFrame) -> pl.DataFrame:
    """Return the whole's messages, corrected by estimated and true ones of the smaller network."""
    beyond = _beyond(messages)
    found = beyond.copy()
    for name in messages["class"].unique(maintain_order=True):
        mine, theirs, true = (np.asarray(each["class"] == name) for each in (messages, estimated, full))
        if min(theirs.sum(), true.sum()) < LEAST:
            theirs, true = np.ones(len(theirs), bool), np.ones(len(true), bool)
        ends = _ends(estimated["bytes"].to_numpy()[theirs])
        group, theirs_group, true_group = (
            np.searchsorted(ends, each["bytes"].to_numpy(), side="left")
            for each in (messages, estimated, full)
        )
        for number in range(len(ends) + 1):
            at = mine & (group == number)
            x = _beyond(estimated)[theirs & (theirs_group == number)]
            y = _beyond(full)[true & (true_group == number)]
            if at.any() and len(x) and len(y):
                found[at] = _mapped(beyond[at], np.sort(x), np.sort(y))
    return _with(messages, found)


def _ends(sizes: Column) -> Column:
    """The largest size of each group but the last."""
    groups = max(min(len(sizes) // LEAST, MAX_GROUPS), 1)
    ends = np.unique(np.quantile(sizes, np.arange(1, groups) / groups, method="lower"))
    found: Column = ends[ends < sizes.max(initial=0)]
    return found


def _beyond(messages: pl.DataFrame) -> Column:
    """Return the excess of each message over its ideal time, as a multiple of it."""
    slowdown = messages["slowdown"].fill_null(NEVER).to_numpy()
    return np.maximum(slowdown - 1.0, 0.0)


def _mapped(values: Column, estimated: Column, true: Column) -> Column:
    """Correct values by the ratio between the distributions' quantiles at their place."""
    many = len(estimated)
    share = (np.arange(many) + 0.5) / many
    of_true = np.quantile(true, share, method="nearest")
    told = max(
        many - max(TAIL, int((of_true >= NEVER / 2).sum()), int((estimated >= NEVER / 2).sum())), many // 2, 1
    )
    ratio = np.log((of_true[:told] + SMALL) / (estimated[:told] + SMALL))
    shift = of_true[:told] - estimated[:told]
    places, first, count = np.unique(estimated, return_index=True, return_counts=True)
    place = np.interp(values, places, share[first] + (count - 1) / 2 / many)
    by_ratio = (values + SMALL) * np.exp(np.interp(place, share[:told], _smooth(ratio))) - SMALL
    by_shift = values + np.interp(place, share[:told], _smooth(shift))
    nearer = np.where(np.abs(by_ratio - values) < np.abs(by_shift - values), by_ratio, by_shift)
    return np.where(values >= NEVER / 2, values, np.maximum(nearer, 0.0))


def _smooth(values: Column) -> Column:
    padded = np.pad(values, WINDOW, mode="edge")
    found: Column = np.convolve(padded, np.ones(2 * WINDOW + 1) / (2 * WINDOW + 1), "valid")
    return found


def _with(messages: pl.DataFrame, beyond: Column) -> pl.DataFrame:
    """Return the messages with other completion times."""
    done = beyond < NEVER / 2
    slowdown = 1.0 + beyond
    took = slowdown * messages["ideal_fct_us"].to_numpy()
    late = np.asarray(took > messages["deadline_us"].fill_null(float("inf")).to_numpy())
    columns: dict[str, Column] = {"fct_us": took, "slowdown": slowdown}
    frame = messages.with_columns(**{name: pl.Series(each) for name, each in columns.items()})
    return frame.with_columns(
        *(pl.when(pl.Series(done)).then(name).alias(name) for name in columns),
        pl.when(pl.col("deadline_us").is_not_null()).then(pl.Series(late)).alias("missed"),
    )
