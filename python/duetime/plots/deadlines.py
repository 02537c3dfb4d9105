"""How close messages came to their deadlines: the distribution of completion time over allowed time."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duetime.plots import grid, misses, style
from duetime.plots.data import Results
from duetime.plots.measures import cdf


def draw(results: Results) -> Figure:
    """One panel per class with deadlines, one line per transport, a vertical line at the deadline."""
    figure, panels = grid.by_class(
        results, "Completion time over allowed time", misses.with_deadlines(results)
    )
    for axes, name in panels:
        curves(axes, results, name)
    grid.finish(figure, results, panels)
    return figure


def curves(axes: Axes, results: Results, name: str | None) -> None:
    """The distribution for one class, or for all messages together."""
    looks = style.looks(results.names)
    drawn = []
    for arm in results.arms:
        messages = arm.counted if name is None else grid.of_class(arm, name)
        messages = messages.filter(pl.col("missed").is_not_null())
        ratio = messages.select(pl.col("fct_us") / pl.col("deadline_us")).drop_nulls().to_series()
        if len(ratio):
            drawn.append(ratio.to_numpy().astype(np.float64))
            x, y = cdf(drawn[-1], len(messages))
            look = looks[arm.name]
            axes.plot(x, y, color=look.colour, linestyle=look.dash, drawstyle="steps-post")
    if not drawn:
        style.sentence(axes, "No message with a deadline finished.")
        return
    style.percent(axes, "share of messages", 0, 101)
    axes.set_xlabel("completion time / allowed time")
    largest = max(float(np.quantile(values, 0.999)) for values in drawn)
    if largest > 4:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    else:
        axes.set_xlim(0, max(1.25, largest * 1.05))
    axes.axvline(1, color=style.INK, linewidth=1.2)
    axes.annotate(
        "deadline", (1, 0.02), (-4, 0), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
        ha="right", va="bottom", rotation=90, fontsize=9,
    )  # fmt: skip
