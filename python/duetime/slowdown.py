"""Slowdown by message size: the usual way to show which messages a transport favours."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.frames import pl

#: Messages are put into so many groups of growing size, as equal in number as their sizes allow.
GROUPS = 10
#: Column -> how it is called.
SHOWN = {"p50": "median", "p99": "99th percentile"}
#: How all classes together are called.
ALL = "all"


def by_size(messages: pl.DataFrame, groups: int = GROUPS) -> pl.DataFrame:
    """Return a row for each group of sizes: ``bytes`` (median), ``up_to``, ``messages``, ``p50``, ``p99``.

    A slowdown is a completion time over the least possible on an empty network. `messages` has the columns
    ``bytes`` and ``slowdown``; what did not finish is infinitely slow, so that a percentile among it is null.
    """
    known = messages.select("bytes", pl.col("slowdown").fill_null(float("inf")))
    found = (
        known.with_columns(up_to=_largest(known["bytes"], groups))
        .group_by("up_to")
        .agg(
            pl.col("bytes").median(),
            pl.len().alias("messages"),
            p50=pl.col("slowdown").quantile(0.5, "higher"),
            p99=pl.col("slowdown").quantile(0.99, "higher"),
        )
        .sort("up_to")
    )
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in SHOWN]
    return found.select("bytes", "up_to", "messages", *finite)


def _largest(sizes: pl.Series, groups: int) -> pl.Series:
    """Return for each size the largest of its group."""
    ordered = sizes.sort()
    last = len(ordered) - 1
    ends = {int(ordered[min(last, (i + 1) * len(ordered) // groups)]) for i in range(groups) if last >= 0}
    edges = pl.Series("up_to", sorted(ends), dtype=pl.Int64)
    return edges.gather(edges.search_sorted(sizes.cast(pl.Int64), side="left"))


def table(by_transport: dict[str, pl.DataFrame], classes: Sequence[str]) -> pl.DataFrame:
    """Put the groups of transports and classes below one another, each row with its transport and class.

    With several classes there are rows of all messages together too, of the class `ALL`.
    """
    parts = []
    for transport, messages in by_transport.items():
        for name, own in by_class(messages, classes).items():
            about = (pl.lit(transport).alias("transport"), pl.lit(name).alias("class"))
            parts.append(by_size(own).with_columns(*about))
    return pl.concat(parts).select("transport", "class", "bytes", "up_to", "messages", *SHOWN)


def by_class(messages: pl.DataFrame, classes: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the messages of each class; and all together, first, where there are several."""
    own = {name: messages.filter(pl.col("class") == name) for name in classes}
    if len(own) < 2:
        return own
    return {ALL: messages, **{f"class {name}" if name == ALL else name: each for name, each in own.items()}}
