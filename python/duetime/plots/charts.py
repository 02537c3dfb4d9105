"""The charts of a report as a picture: results of a sweep, a search, variants or a reproduction."""

import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from duetime.plots import style
from duetime.plots.grid import columns_for
from duetime.report.model import Chart, Experiment, Place, Point, Series

#: Inches of a panel.
WIDTH, HEIGHT = 4.6, 3.4
#: More words than this along an axis are written upright.
UPRIGHT = 6
#: Characters of a panel's title in a line.
TITLE = 38
#: Lines of more points than this have no markers.
DENSE = 30
#: The share of a place that its bars take.
BARS = 0.8


def draw(experiment: Experiment) -> Figure | None:
    """A panel for each chart; what the source states is hollow. None where there is no chart."""
    charts = [chart for chart in experiment.charts if chart.series]
    if not charts:
        return None
    columns = columns_for(len(charts))
    rows = -(-len(charts) // columns)
    said = experiment.source or ", ".join(f"{name} {value}" for name, value in _facts(experiment))
    figure = style.figure(experiment.title, said, max(WIDTH * columns, 6.4), HEIGHT * rows + 1.4)
    panels = figure.subplots(rows, columns, squeeze=False)
    names = style.in_order(list(dict.fromkeys(series.name for chart in charts for series in chart.series)))
    looks = style.families(names)
    for axes, chart in itertools.zip_longest(panels.flat, charts):
        if chart is None:
            axes.set_axis_off()
        else:
            _chart(axes, chart, looks)
    bars = all(chart.kind == "bar" for chart in charts)
    handles = [_handle(name, looks[name], bars=bars) for name in names]
    if any(series.published for chart in charts for series in chart.series):
        handles.append(Line2D([], [], **HOLLOW, color=style.INK, linestyle="", label="published"))
    style.legend(figure, handles, 3 * columns)
    return figure


def _handle(name: str, look: style.Look, *, bars: bool) -> Artist:
    if bars:
        return Patch(**look.fill(), label=name)
    return Line2D([], [], **look.line(), marker=look.marker, markersize=style.points(5), label=name)


#: How a value is marked that the source states.
HOLLOW: style.Hollow = {"marker": "o", "markerfacecolor": "white", "markersize": 8}


def _facts(experiment: Experiment) -> list[tuple[str, object]]:
    return [(name, value) for name, value in experiment.facts.items() if isinstance(value, int | float | str)]


def _chart(axes: Axes, chart: Chart, looks: Mapping[str, style.Look]) -> None:
    axes.set_title(textwrap.fill(chart.title, TITLE))
    ordered = {name: place for place, name in enumerate(looks)}
    drawn = sorted(chart.series, key=lambda series: ordered[series.name])
    axes.set_xlabel(chart.x.text)
    axes.set_ylabel(style.wrapped(chart.y.text))
    places = chart.places
    words = chart.kind == "bar" or any(isinstance(place, str) for place in places)
    at: dict[Place, float] = {place: float(i) if words else float(place) for i, place in enumerate(places)}
    for number, series in enumerate(drawn):
        if chart.kind == "bar":
            # Where no two series share a place, each has it to itself.
            alone = sum(len(each.points) for each in chart.series) == len(places)
            shift, width = (0.0, BARS / 2) if alone else _bar(number, len(chart.series))
            _bars(axes, series, at, looks[series.name], shift, width)
        else:
            shift = 0.0
            _line(axes, chart.kind, series, at, looks[series.name])
        for point in series.published:
            colour = looks[series.name].colour
            axes.plot(at[point.x] + shift, point.y, **HOLLOW, color=colour, linestyle="", zorder=4)
    if words:
        written = [place if isinstance(place, str) else f"{place:g}" for place in places]
        upright = len(places) > UPRIGHT or max(map(len, written)) * len(places) > 40
        axes.set_xticks(range(len(places)), written, rotation=90 if upright else 0)
    for mark in chart.marks:
        (axes.axhline if mark.axis == "y" else axes.axvline)(mark.at, **style.THRESHOLD)
    stated = [point.y for series in chart.series for point in series.published]
    if chart.kind != "points" and min(map(_least(chart), _points(chart)), default=-1) >= 0:
        ends = [point.y if point.high is None else point.high for point in _points(chart)]
        # Markers are inside whole, not cut in half by the edge.
        greatest = max([*ends, *(ROOM * each for each in stated)])
        axes.set_ylim(min(0, *(ROOM * each for each in stated), 0), max(axes.get_ylim()[1], 1.05 * greatest))
    if not words and numbers_far_apart(places):
        axes.set_xscale("log")
        ticks = style.log_ticks(float(places[0]), float(places[-1]))
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())


#: The ratio of the largest number to the smallest from which an axis is logarithmic.
FAR = 100
#: How far above the highest published value an axis ends.
ROOM = 1.04


def numbers_far_apart(places: Sequence[Place]) -> bool:
    """Return whether a logarithmic axis tells numbers apart better; a report has the same rule."""
    numbers = [place for place in places if not isinstance(place, str)]
    return len(numbers) > 3 and min(numbers) > 0 and max(numbers) / min(numbers) >= FAR


def _points(chart: Chart) -> list[Point]:
    return [point for each in chart.series for point in each.points]


def _least(chart: Chart) -> Callable[[Point], float]:
    """Return how far down a point reaches: below zero only if it is a difference, or below zero itself."""

    def least(point: Point) -> float:
        below = chart.y.signed or point.y < 0
        return point.y if point.low is None else min(point.y, point.low) if below else max(point.low, 0.0)

    return least


def _bar(number: int, of: int) -> tuple[float, float]:
    """The place of a series among the bars of a place, and their width."""
    width = BARS / of
    return (number - (of - 1) / 2) * width, width


def _bars(
    axes: Axes, series: Series, at: Mapping[Place, float], look: style.Look, shift: float, width: float
) -> None:
    xs, ys = [at[point.x] + shift for point in series.points], [point.y for point in series.points]
    axes.bar(xs, ys, width * 0.92, zorder=2, **look.fill())
    _whiskers(axes, xs, series.points, style.INK)


def _line(axes: Axes, kind: str, series: Series, at: Mapping[Place, float], look: style.Look) -> None:
    xs, ys = [at[point.x] for point in series.points], [point.y for point in series.points]
    if kind == "points":
        axes.plot(xs, ys, linestyle="", marker=look.marker, color=look.colour, markersize=style.points(4))
        return
    steps = "steps-post" if kind == "step" else "default"
    marker = None if kind == "step" or len(xs) > DENSE else look.marker
    axes.plot(xs, ys, **look.line(), marker=marker, markersize=style.points(5), drawstyle=steps)
    _whiskers(axes, xs, series.points, look.colour)


def _whiskers(axes: Axes, xs: Sequence[float], points: Sequence[Point], colour: str) -> None:
    for x, point in zip(xs, points, strict=True):
        if point.low is not None and point.high is not None:
            axes.plot([x, x], [point.low, point.high], color=colour, linewidth=1.2, zorder=3)
