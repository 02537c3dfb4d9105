"""The distribution of flow completion times."""

from collections.abc import Sequence

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
    drawn, unfinished, shares = 0, 0, []
    for number, arm in enumerate(results.arms):
        messages = arm.counted if name is None else grid.of_class(arm, name)
        finished = messages["fct_us"].drop_nulls().to_numpy().astype(np.float64)
        unfinished += len(messages) - len(finished)
        shares.append(100 * (1 - len(finished) / max(1, len(messages))))
        if len(finished):
            x, y = cdf(finished, len(messages))
            look = looks[arm.name]
            axes.plot(x, y, drawstyle="steps-post", **look.line(), **look.along(number))
            drawn += 1
    if not drawn:
        style.sentence(axes, "No message finished.")
        return
    style.percent(axes, "share of messages", 0, 101)
    thresholds(axes, results, name)
    if unfinished:
        text = f"{unfinished_share(unfinished, shares)} unfinished at the end"
        axes.text(
            0.98,
            0.03,
            text,
            transform=axes.transAxes,
            ha="right",
            fontsize=style.points(8.5),
            color="#555555",
        )


def thresholds(axes: Axes, results: Results, name: str | None) -> None:
    """Mark the percentiles of ``--fail-if`` in their panels."""
    for percentile in (50, 90, 99):
        for text, (of_class, at) in results.thresholds(f"fct_us.p{percentile}").items():
            if of_class == name or results.classes == [name]:
                axes.plot([at, at], [0, percentile], **style.THRESHOLD)
                axes.plot(at, percentile, marker="<", color=style.INK, markersize=style.points(6))
                style.label(axes, text, (at, percentile), (-7, 0), ha="right", va="center")


def unfinished_share(count: int, shares: Sequence[float]) -> str:
    """Return the unfinished messages: their number in one run, the share under several transports."""
    if len(shares) == 1:
        return style.plural(count, "message")
    low, high = style.number(min(shares)), style.number(max(shares))
    return f"{high} %" if low == high else f"{low} to {high} %"
