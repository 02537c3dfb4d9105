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

#: More classes than these share their panels: a page has no room for more.
MAX_CLASSES = 4


def draw(results: Results) -> Figure | None:
    """A panel for each class and percentile, a line for each transport; nothing where sizes are all one."""
    every = {arm.name: slowdown.by_class(arm.counted, results.classes) for arm in results.arms}
    names = [name for name in dict.fromkeys(name for each in every.values() for name in each)]
    tables = {
        name: {transport: slowdown.by_size(each[name]) for transport, each in every.items()} for name in names
    }
    several = [name for name in names if max(table.height for table in tables[name].values()) > 1]
    if not several:
        return None
    # All together repeat the only class of several sizes, and classes of one size are points.
    shown = [name for name in several if name != slowdown.ALL] or several
    if len(shown) > MAX_CLASSES or len(results.classes) < 2:
        shown = several[:1]
    what = "Slowdown by message size" + (" (95 % CI over the seeds)" if results.seeds > 1 else "")
    height = 4.6 + 3.1 * (len(shown) - 1)
    count = 2 * len(shown)
    columns = style.side_by_side(2)
    height = style.HEADLINE + (height - style.HEADLINE) * (2 / columns)
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", 9.4, height)
    grid_of = figure.subplots(count // columns, columns, squeeze=False).flat
    looks = style.looks(results.names)
    panels = [(name, column, title) for name in shown for column, title in slowdown.SHOWN.items()]
    for number, (axes, (name, column, title)) in enumerate(zip(grid_of, panels, strict=True)):
        said = title[0].upper() + title[1:]
        axes.set_title(f"{name}: {title}" if len(results.classes) > 1 else said)
        for arm in results.arms:
            table = tables[name][arm.name].filter(pl.col(column).is_not_null())
            axes.plot(
                table["bytes"],
                table[column],
                marker=looks[arm.name].marker,
                markersize=style.points(4.5),
                **looks[arm.name].line(),
            )
            own = every[arm.name][name]
            intervals(axes, arm, own, tables[name][arm.name], column, looks[arm.name].colour)
        scale(axes)
        if any(table[column].null_count() for table in tables[name].values()):
            share = {"p50": 50, "p99": 1}[column]
            text = f"no point: more than {share} % unfinished"
            axes.text(
                0.98,
                0.96,
                text,
                transform=axes.transAxes,
                ha="right",
                va="top",
                fontsize=style.points(8.5),
                color="#555555",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )
        if number % columns == 0:
            axes.set_ylabel("slowdown (FCT / ideal FCT)")
        if number < len(panels) - columns:
            axes.set_xlabel("")
    grid.legend(figure, results)
    return figure


def intervals(
    axes: Axes, arm: Arm, messages: pl.DataFrame, table: pl.DataFrame, column: str, colour: str
) -> None:
    """Bars over the seeds, where there are several: each seed is put into the groups of all."""
    if len(arm.runs) < 2:
        return
    share = {"p50": 0.5, "p99": 0.99}[column]
    before = 0
    for at, edge in table.select("bytes", "up_to").iter_rows():
        group = messages.filter(pl.col("bytes") > before, pl.col("bytes") <= edge)
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
