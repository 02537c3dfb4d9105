"""How long messages took: the distribution of flow completion times."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duetime.plots import grid, style
from duetime.plots.data import Results
from duetime.plots.measures import cdf


def draw(results: Results) -> Figure:
    """One panel per class, one line per transport."""
    figure, panels = grid.by_class(results, "Flow completion times")
    for axes, name in panels:
        curves(axes, results, name)
    # The horizontal axis is shared: its limits are known only now.
    for axes, _ in panels:
        if axes.axison:
            style.log_time(axes, "flow completion time")
    grid.finish(figure, results, panels)
    return figure


def curves(axes: Axes, results: Results, name: str | None) -> None:
    """The distribution for one class, or for all messages together."""
    looks = style.looks(results.names)
    drawn, unfinished = 0, 0
    for arm in results.arms:
        messages = arm.counted if name is None else grid.of_class(arm, name)
        finished = messages["fct_us"].drop_nulls().to_numpy().astype(np.float64)
        unfinished += len(messages) - len(finished)
        if len(finished):
            x, y = cdf(finished, len(messages))
            axes.plot(x, y, drawstyle="steps-post", **looks[arm.name].line())
            drawn += 1
    if not drawn:
        style.sentence(axes, "No message finished.")
        return
    style.percent(axes, "share of messages", 0, 101)
    if unfinished:
        text = f"{style.plural(unfinished, 'message')} unfinished at the end"
        axes.text(0.98, 0.03, text, transform=axes.transAxes, ha="right", fontsize=8.5, color="#555555")
