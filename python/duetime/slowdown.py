"""Slowdown by size of message: how the field shows whom a transport serves."""

from __future__ import annotations

import polars as pl

#: Messages are put into so many groups of growing size, as equal in number as their sizes allow.
GROUPS = 10
#: Column -> how it is called.
SHOWN = {"p50": "median", "p99": "99th percentile"}


def by_size(messages: pl.DataFrame, groups: int = GROUPS) -> pl.DataFrame:
    """Give a row for each group of sizes: ``bytes`` (the largest), ``messages``, ``p50`` and ``p99``.

    A slowdown is a completion time over the least possible on an empty network. `messages` has the columns
    ``bytes`` and ``slowdown``; what did not finish is infinitely slow, so that a percentile among it is null.
    """
    known = messages.select("bytes", pl.col("slowdown").fill_null(float("inf"))).sort("bytes")
    if not len(known):
        return pl.DataFrame(
            schema={"bytes": pl.Int64, "messages": pl.UInt32, "p50": pl.Float64, "p99": pl.Float64}
        )
    sizes = known["bytes"].to_numpy()
    edges = sorted({int(sizes[min(len(sizes) - 1, (i + 1) * len(sizes) // groups)]) for i in range(groups)})
    edges = sorted({*edges[:-1], int(sizes[-1])})
    group = pl.Series(edges, dtype=pl.Int64).search_sorted(known["bytes"].cast(pl.Int64), side="left")
    rows = known.with_columns(bytes=pl.Series(edges, dtype=pl.Int64).gather(group))
    found = rows.group_by("bytes", maintain_order=True).agg(
        messages=pl.len(),
        **{
            name: pl.col("slowdown").quantile(share, "higher")
            for name, share in (("p50", 0.5), ("p99", 0.99))
        },
    )
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in SHOWN]
    return found.with_columns(finite)


def table(by_transport: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Put the groups of several transports below one another, each row with its transport."""
    parts = [
        by_size(messages).with_columns(transport=pl.lit(name)) for name, messages in by_transport.items()
    ]
    return pl.concat(parts).select("transport", "bytes", "messages", *SHOWN)
