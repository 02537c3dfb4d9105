"""Small multiples: one panel per traffic class."""

from collections.abc import Sequence

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from duetime.plots import style
from duetime.plots.data import Arm, Results

MOST_PANELS = 12


def by_class(
    results: Results, what: str, classes: Sequence[str] | None = None
) -> tuple[Figure, list[tuple[Axes, str | None]]]:
    """A figure with a panel for each class; a scenario of one class has one large panel.

    With more classes than panels the last panel would hide what it leaves out, so all messages share one.
    """
    names: list[str | None] = list(results.classes if classes is None else classes)
    if not names or len(names) > MOST_PANELS:
        names = [None]
    columns = min(len(names), 3 if len(names) != 4 else 2)
    rows = -(-len(names) // columns)
    width = 8.2 if columns == 1 else 1.0 + 3.9 * columns
    height = 4.9 if len(names) == 1 else 1.3 + 2.9 * rows
    figure = style.figure(results.title or what, f"{what}; {results.conditions}".rstrip("; "), width, height)
    all_axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flatten()
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    panels = list(zip(all_axes, names, strict=False))
    if len(panels) > 1:
        for axes, name in panels:
            axes.set_title(str(name))
    return figure, panels


def finish(figure: Figure, results: Results, panels: Sequence[tuple[Axes, str | None]]) -> None:
    """Labels at the outer panels only, and a legend."""
    drawn = [axes for axes, _ in panels if axes.axison]
    columns = min(3, len(panels)) if len(panels) != 4 else 2
    for i, axes in enumerate(drawn):
        subplot = axes.get_subplotspec()
        if subplot is not None and not subplot.is_first_col():
            axes.set_ylabel("")
        axes.tick_params(labelbottom=i + columns >= len(panels))
        if i + columns < len(panels):
            axes.set_xlabel("")
    legend(figure, results)


def of_class(arm: Arm, name: str) -> pl.DataFrame:
    """The messages of one class that count."""
    return arm.counted.filter(pl.col("class") == name)


def legend(figure: Figure, results: Results, *, bars: bool = False) -> None:
    """One legend for all panels, at the bottom; a single transport is named in the subtitle."""
    if len(results.arms) < 2:
        return
    looks = style.looks(results.names)
    handles: list[Artist] = []
    for name, look in looks.items():
        line = Line2D([], [], color=look.colour, linestyle=look.dash, label=name)
        handles.append(Patch(color=look.colour, label=name) if bars else line)
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 8))
