"""Slowdown by size of message: median and 99th percentile."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from duetime import slowdown
from duetime.frames import pl
from duetime.plots import grid, style
from duetime.plots.data import Arm, Results
from duetime.statistics import estimate


def draw(results: Results) -> Figure | None:
    """A panel for each percentile, a line for each transport; nothing where all messages have one size."""
    tables = {arm.name: slowdown.by_size(arm.counted) for arm in results.arms}
    if max(table.height for table in tables.values()) < 2:
        return None
    what = "Slowdown by size of message" + (" (95 % interval over the seeds)" if results.seeds > 1 else "")
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", 9.4, 4.6)
    panels = figure.subplots(1, 2, squeeze=False, sharex=True)[0]
    looks = style.looks(results.names)
    for axes, (column, title) in zip(panels, slowdown.SHOWN.items(), strict=True):
        axes.set_title(title[0].upper() + title[1:])
        for arm in results.arms:
            table = tables[arm.name].filter(pl.col(column).is_not_null())
            axes.plot(
                table["bytes"],
                table[column],
                marker=looks[arm.name].marker,
                markersize=4.5,
                **looks[arm.name].line(),
            )
            intervals(axes, arm, tables[arm.name], column, looks[arm.name].colour)
        scale(axes)
        if any(table[column].null_count() for table in tables.values()):
            share = {"p50": 50, "p99": 1}[column]
            text = f"no point: more than {share} % unfinished"
            axes.text(
                0.98,
                0.96,
                text,
                transform=axes.transAxes,
                ha="right",
                va="top",
                fontsize=8.5,
                color="#555555",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )
    panels[0].set_ylabel("completion time / least possible")
    grid.legend(figure, results)
    return figure


def intervals(axes: Axes, arm: Arm, table: pl.DataFrame, column: str, colour: str) -> None:
    """Bars over the seeds, where there are several: each seed is put into the groups of all."""
    if len(arm.runs) < 2:
        return
    share = {"p50": 0.5, "p99": 0.99}[column]
    before = 0
    for at, edge in table.select("bytes", "up_to").iter_rows():
        group = arm.counted.filter(pl.col("bytes") > before, pl.col("bytes") <= edge)
        slowest = pl.col("slowdown").fill_null(float("inf")).quantile(share, "higher")
        each = group.group_by("seed").agg(slowest)["slowdown"].to_list()
        # Of the seeds that ended an interval would be too low.
        found = estimate(each) if np.isfinite(each).all() else None
        low, high = found["ci95"] if found is not None else (None, None)
        if low is not None and high is not None:
            # Nothing is faster than on an empty network, whatever the interval says.
            axes.plot([at, at], [max(low, 1.0), high], color=colour, linewidth=1.2, zorder=1.5)
        before = edge


def scale(axes: Axes) -> None:
    """Sizes and, where they differ much, slowdowns on logarithmic axes."""
    axes.set_xscale("log")
    axes.set_xlabel("message size")
    low, high = axes.get_xlim()
    ticks = style.log_ticks(low, high)
    axes.set_xticks(ticks, [style.size(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    if axes.get_ylim()[1] > 20:
        axes.set_yscale("log")
        bottom, top = axes.get_ylim()
        ticks = style.log_ticks(max(bottom, 0.9), top)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0)
