"""The margin of messages to their deadlines: the distribution of completion time over allowed time."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from duetime.frames import pl
from duetime.plots import grid, misses, style
from duetime.plots.data import Results
from duetime.plots.measures import Floats, cdf


def draw(results: Results) -> Figure | None:
    """One panel per class with deadlines, one line per transport, a vertical line at the deadline."""
    classes = misses.with_deadlines(results)
    if not classes:
        return None
    figure, panels = grid.by_class(results, "Completion time over allowed time", classes)
    drawn = [ratios for axes, name in panels for ratios in curves(axes, results, name)]
    for axes, _ in panels:
        if axes.axison:
            scale(axes, drawn)
    grid.finish(figure, results, panels)
    return figure


def curves(axes: Axes, results: Results, name: str | None) -> list[Floats]:
    """Draw the distribution for one class, or for all messages together; return the values drawn."""
    looks = style.looks(results.names)
    drawn = []
    for number, arm in enumerate(results.arms):
        messages = arm.counted if name is None else grid.of_class(arm, name)
        messages = messages.filter(pl.col("missed").is_not_null())
        ratio = messages.select(pl.col("fct_us") / pl.col("deadline_us")).drop_nulls().to_series()
        if len(ratio):
            drawn.append(ratio.to_numpy().astype(np.float64))
            x, y = cdf(drawn[-1], len(messages))
            look = looks[arm.name]
            axes.plot(x, y, drawstyle="steps-post", **look.line(), **look.along(number))
    if not drawn:
        style.sentence(axes, "No message with a deadline finished.")
        return drawn
    style.percent(axes, "share of messages", 0, 101)
    axes.set_xlabel("completion time / allowed time")
    axes.axvline(1, color=style.INK, linewidth=1.2)
    axes.text(
        1,
        0.02,
        "deadline ",
        transform=axes.get_xaxis_transform(),
        ha="right",
        va="bottom",
        rotation=90,
        fontsize=style.points(9),
    )
    return drawn


def scale(axes: Axes, drawn: Sequence[Floats]) -> None:
    """Choose the horizontal axis for all values: logarithmic where messages were far too late, or early."""
    smallest = min(float(ratios.min()) for ratios in drawn)
    largest = max(float(np.quantile(ratios, 0.999)) for ratios in drawn)
    if largest > 4 or largest < 0.1:
        axes.set_xscale("log")
        ticks = style.log_ticks(*axes.get_xlim())
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        # From a round number below the smallest.
        axes.set_xlim(np.floor(5 * min(smallest, 1)) / 5, max(1.2, largest * 1.05))
