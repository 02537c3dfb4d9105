"""Small multiples: one panel per traffic class."""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from duetime.frames import pl
from duetime.plots import style
from duetime.plots.data import Arm, Results

MAX_PANELS = 12


def by_class(
    results: Results, what: str, classes: Sequence[str] | None = None
) -> tuple[Figure, list[tuple[Axes, str | None]]]:
    """A figure with a panel for each class; a scenario of one class has one large panel.

    More classes than a page has room for share one panel: to leave some out would mislead.
    """
    names: list[str | None] = list(results.classes if classes is None else classes)
    if not names or len(names) > MAX_PANELS:
        names = [None]
    columns = columns_for(len(names))
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
    columns = columns_for(len(panels))
    for i, (axes, _) in enumerate(panels):
        if i % columns:
            axes.set_ylabel("")
        lowest = i + columns >= len(panels)
        axes.tick_params(labelbottom=lowest)
        if not lowest:
            axes.set_xlabel("")
    legend(figure, results)


def columns_for(count: int) -> int:
    """Return the number of panels side by side."""
    return style.side_by_side(2 if count == 4 else min(count, 3))


def row(
    figure: Figure, count: int, ratios: Sequence[float] | None = None, *, sharey: bool = False
) -> list[Axes]:
    """Return panels side by side, or below one another where the figure is too narrow for that."""
    columns = style.side_by_side(count)
    wide = ratios if columns == count else None
    rows = -(-count // columns)
    panels = list(figure.subplots(rows, columns, squeeze=False, width_ratios=wide, sharey=sharey).flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return panels[:count]


def height_of(count: int, height: float) -> float:
    """Return the height of a figure of `row`, from that with all panels side by side."""
    rows = -(-count // style.side_by_side(count))
    return style.HEADLINE + (height - style.HEADLINE) * (1 + 0.85 * (rows - 1))


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
        if bars:
            handles.append(Patch(**look.fill(), label=name))
            continue
        marks = {key: value for key, value in look.along(0).items() if key != "markevery"}
        line = Line2D([], [], color=look.colour, linestyle=look.dash, label=name)
        line.set(linewidth=look.line()["linewidth"], **marks)
        handles.append(line)
    style.legend(figure, handles)
