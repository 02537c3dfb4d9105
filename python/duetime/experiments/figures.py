"""Draws the charts of a result: ours as lines and bars, published values as hollow diamonds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypedDict, cast

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWNBASE, CARETUPBASE
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import ScaledTranslation, Transform

from duetime.contract.rows import Cell, Row, number
from duetime.experiments.experiment import Chart, Coordinate, Point
from duetime.plots import style
from duetime.plots.grid import columns_for

#: Words longer than this, or more of them than that, are placed below one another.
LONG_NAME, MANY_NAMES = 12, 12
#: For the bars of one transport.
HATCHES = ("", "///", "...")
#: The same where dots replace bars: marker, and whether it is filled.
DOTS = (("o", True), ("o", False), ("s", True))
#: Inches that a group takes where bars are horizontal, a dot in it if there are several, and a panel beside
#: its groups.
GROUP, DOT, AROUND = 0.27, 0.1, 0.7
#: Lines with more points than this are drawn without markers.
MAX_MARKERS = 15
#: A published value above this multiple of our largest is written as text: it would flatten all curves.
TOO_HIGH = 4.0
#: The part of a horizontal axis that is added on both sides where it has published values.
BESIDE = 0.03
#: Points between two published values that would hide each other.
APART = 9.0


class _Diamond(TypedDict):
    marker: str
    markersize: float
    markerfacecolor: str
    markeredgewidth: float
    linestyle: Literal["none"]
    clip_on: bool
    zorder: float


class _Aside(TypedDict):
    linestyle: str
    zorder: float
    clip_on: bool
    transform: Transform


class _Dot(TypedDict):
    color: str
    marker: str
    markersize: float
    markerfacecolor: str


class _Marker(TypedDict, total=False):
    marker: str
    markersize: float


def published() -> _Diamond:
    """Return the arguments for the hollow diamond of a published value."""
    size = 4.5 if style.output().paper else 8
    return {
        "marker": "D",
        "markersize": size,
        "markerfacecolor": "white",
        "markeredgewidth": size / 5,
        "linestyle": "none",
        "clip_on": False,
        "zorder": 5,
    }


def draw(charts: Sequence[Chart], rows: Sequence[Row], title: str, subtitle: str) -> Figure:
    """One picture of some charts."""
    chosen = [_rows_of(chart, rows) for chart in charts]
    series = list(
        dict.fromkeys(row[chart.series] for chart, some in zip(charts, chosen, strict=True) for row in some)
    )
    looks = _looks(series)
    lying = any(_lies(chart, some) for chart, some in zip(charts, chosen, strict=True))
    columns = columns_for(len(charts))
    lines = -(-len(charts) // columns)
    width = 8.2 if columns == 1 else 1.0 + 4.2 * columns
    bars = max((len(_values(some, chart.x)) for chart, some in zip(charts, chosen, strict=True)), default=0)
    if lying:
        height = AROUND + (AROUND + max(GROUP, DOT * len(series)) * bars) * lines
    else:
        height = 1.4 + (3.4 if len(charts) == 1 else 3.1) * lines
    figure = style.figure(title, subtitle, width, height)
    sharex, sharey = _shared(charts, lying)
    panels = figure.subplots(lines, columns, squeeze=False, sharex=sharex, sharey=sharey).flatten()
    for axes in panels[len(charts) :]:
        axes.set_axis_off()
    for axes in panels[max(0, len(charts) - columns) : len(charts)]:
        axes.tick_params(labelbottom=True)
    drawn: list[tuple[Axes, Chart]] = []
    for axes, chart, some in zip(panels, charts, chosen, strict=False):
        if len(charts) > 1:
            axes.set_title(chart.title)
        if not some:
            style.sentence(axes, "nothing was measured")
        elif chart.kind == "bar":
            _bars(axes, chart, some, looks)
        else:
            _lines(axes, chart, some, looks)
            drawn.append((axes, chart))
    # Panels with their axes in common have one range, which is known when all are drawn.
    for axes, chart in drawn[:1] if sharey else drawn:
        together = [each for each, _ in drawn] if sharey else [axes]
        _limit(axes, chart, min(float(each.dataLim.y0) for each in together))
    _legend(figure, charts, looks, lying)
    return figure


def _limit(axes: Axes, chart: Chart, least: float) -> None:
    """Set where the vertical axis of curves begins and ends: at zero, or lower where a value is."""
    if not chart.y.log:
        bottom, top = axes.get_ylim()
        axes.set_ylim(
            (bottom if least < 0 else 0.0) if not chart.y.begin else chart.y.begin,
            top + 0.04 * (top - bottom),
        )
    if chart.y.limit is not None:
        axes.set_ylim(top=min(axes.get_ylim()[1], chart.y.limit))


def _shared(charts: Sequence[Chart], lying: bool) -> tuple[bool, bool]:
    """Return whether panels share their axes: where they show the same."""
    if lying or len({chart.kind for chart in charts}) > 1:
        return False, False
    x, y = (len({getattr(chart, key) for chart in charts}) == 1 for key in ("x", "y"))
    return x and charts[0].kind != "bar", y


def _rows_of(chart: Chart, rows: Sequence[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if all(row.get(column) == value for column, value in chart.where.items())
        and row.get(chart.x.column) is not None
        and row.get(chart.y.column) is not None
        and row.get(chart.series) is not None
    ]


def _looks(series: Sequence[Cell]) -> dict[Cell, style.Look]:
    names = [name for name in series if isinstance(name, str)]
    if len(names) < len(series):
        return dict(zip(series, style.CYCLE, strict=False))
    return {name: look for name, look in style.families(style.in_order(names)).items()}


def _lines(axes: Axes, chart: Chart, rows: Sequence[Row], looks: Mapping[Cell, style.Look]) -> None:
    for name, look in looks.items():
        own = [row for row in rows if row[chart.series] == name]
        if not own:
            continue
        x = _places(row[chart.x.column] for row in own)
        y = [number(row, chart.y.column) for row in own]
        if chart.kind == "points":
            axes.plot(
                x, y, color=look.colour, linestyle="none", marker="o", markersize=style.points(4), alpha=0.7
            )
        else:
            marker: style.Marks = {"marker": look.marker, "markersize": style.points(4.5)}
            if len(own) > MAX_MARKERS:
                marker = look.along(list(looks).index(name))
            axes.plot(x, y, **look.line(), **marker)
        low, high = _interval(chart.y, own)
        if low is not None and high is not None:
            if chart.kind == "line" and len(own) > 1:
                axes.fill_between(x, low, high, color=look.colour, alpha=0.16, linewidth=0)
            else:
                axes.errorbar(x, y, _errors(y, low, high), color=look.colour, linestyle="none", capsize=3)
    for point, aside in _apart(_within_reach(axes, chart)):
        edge = looks[point.series].colour if point.series in looks else style.INK
        _mark(axes, (_x(point), _y(point)), edge, point.bound, aside)
    if all(isinstance(value, str) for value in _values(rows, chart.x)):
        axes.tick_params(axis="x", rotation=30 if len(_values(rows, chart.x)) > 4 else 0)
    _scale(axes, chart.x, "x")
    _scale(axes, chart.y, "y")
    values = _values(rows, chart.x)
    ticks = [value for value in values if isinstance(value, int | float)]
    if len(values) <= 9 and len(ticks) == len(values):
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()


def _bars(axes: Axes, chart: Chart, rows: Sequence[Row], looks: Mapping[Cell, style.Look]) -> None:
    """A group for each value of x, a bar for each series."""
    groups = _values(rows, chart.x)
    present = [name for name in looks if any(row[chart.series] == name for row in rows)]
    width = 0.82 / len(present)
    lying = _lies(chart, rows)
    alike = _alike(looks)
    for i, name in enumerate(present):
        for row in rows:
            if row[chart.series] != name:
                continue
            at = groups.index(row[chart.x.column]) - 0.41 + (i + 0.5) * width
            value, colour = number(row, chart.y.column), looks[name].colour
            low, high = _interval(chart.y, [row])
            errors = None if low is None or high is None else _errors([value], low, high)
            if lying:
                # Many groups: dots take less room than bars.
                axes.errorbar(value, at, xerr=errors, linewidth=1.2, **_dot(colour, alike[name]))
            else:
                axes.bar(at, value, width * 0.9, **looks[name].fill(HATCHES[alike[name] % len(HATCHES)]))
                axes.errorbar(at, value, yerr=errors, color=style.INK, capsize=3, linewidth=1.2)
    stated = [point for point in chart.published if _x(point) in groups and point.series in present]
    for point in _low_enough(axes, chart, stated, "x" if lying else "y"):
        at = groups.index(_x(point)) - 0.41 + (present.index(point.series) + 0.5) * width
        where = (_y(point), at) if lying else (at, _y(point))
        axes.update_datalim([where])
        _mark(axes, where, style.INK, point.bound, 0.0)
    axes.autoscale_view()
    words = [f"{group:g}" if isinstance(group, int | float) else str(group) for group in groups]
    if lying:
        axes.set_yticks(range(len(groups)), words)
        axes.set_ylim(len(groups) - 0.4, -0.6)
        _scale(axes, chart.y, "x")
    else:
        axes.set_xticks(range(len(groups)), words)
        axes.grid(axis="x", visible=False)
        axes.set_xlabel(_label(chart.x))
        positive = [value for row in rows if (value := number(row, chart.y.column)) > 0]
        if chart.y.log and positive:
            # A bar has no length on its own value: the axis begins at the power of ten below.
            axes.set_ylim(bottom=chart.y.begin or 10.0 ** math.floor(math.log10(0.999 * min(positive))))
        _scale(axes, chart.y, "y")


def _within_reach(axes: Axes, chart: Chart) -> Sequence[Point]:
    """Return the published points to draw, and make room for them; a note tells of higher ones."""
    near = _low_enough(axes, chart, chart.published, "y")
    if near:
        # Words are places too, once something was drawn at them.
        convert: Callable[[object], float] = axes.convert_xunits
        places = [float(convert(_x(point))) for point in near]
        axes.update_datalim(list(zip(places, map(_y, near), strict=True)))
        axes.autoscale_view()
        if not chart.x.log:
            # Markers of equal values are drawn beside each other: the outer ones need room too.
            low, high = axes.get_xlim()
            axes.set_xlim(low - BESIDE * (high - low), high + BESIDE * (high - low))
    return near


def _low_enough(axes: Axes, chart: Chart, stated: Sequence[Point], along: Literal["x", "y"]) -> list[Point]:
    """Return the published points that are not far above our values; a note tells of others."""
    top = float(axes.dataLim.y1 if along == "y" else axes.dataLim.x1)
    high = sorted(_y(point) for point in stated if not chart.y.log and _y(point) > TOO_HIGH * top > 0)
    if high:
        text = f"{high[0]:g}" if high[0] == high[-1] else f"{high[0]:g} to {high[-1]:g}"
        axes.annotate(
            f"published: {text} {chart.y.unit}".rstrip() + ", above this axis",
            (0.03, 0.96),
            xycoords="axes fraction",
            fontsize=style.points(8),
            va="top",
            color="#555555",
        )
    return [point for point in stated if not high or _y(point) < high[0]]


def _apart(published: Sequence[Point]) -> Iterator[tuple[Point, float]]:
    """Each published point with how far aside it is drawn, so that equal ones do not hide each other."""
    for point in published:
        same = [each for each in published if (each.x, each.y) == (point.x, point.y)]
        yield point, APART * (same.index(point) - (len(same) - 1) / 2)


def _mark(axes: Axes, where: tuple[Cell, Cell], edge: str, bound: str | None, aside: float) -> None:
    """A hollow diamond; for a bound a line across with an arrow to where the value may be."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "the axes stand in a figure"
    shifted = axes.transData + ScaledTranslation(aside / 72, 0, figure.dpi_scale_trans)
    x, y = (_places([place]) for place in where)
    if bound is None:
        axes.plot(x, y, markeredgecolor=edge, transform=shifted, **published())
        return
    lines: _Aside = {"linestyle": "none", "zorder": 5, "clip_on": False, "transform": shifted}
    axes.plot(
        x, y, marker="_", markersize=style.points(13), markeredgewidth=style.points(2.2), color=edge, **lines
    )
    arrow = CARETDOWNBASE if bound == "upper" else CARETUPBASE
    axes.plot(x, y, marker=arrow, markersize=style.points(8), color=edge, **lines)


def _alike(looks: Mapping[Cell, style.Look]) -> dict[Cell, int]:
    """Return the number of same colours before each, so that hatches or markers can distinguish them."""
    found: dict[Cell, int] = {}
    for name, look in looks.items():
        found[name] = sum(looks[other].colour == look.colour for other in found)
    return found


def _dot(colour: str, alike: int) -> _Dot:
    marker, filled = DOTS[alike % len(DOTS)]
    return {
        "color": colour,
        "marker": marker,
        "markersize": 4.5,
        "markerfacecolor": colour if filled else "white",
    }


def _lies(chart: Chart, rows: Sequence[Row]) -> bool:
    names = _values(rows, chart.x)
    long = any(len(str(name)) > LONG_NAME for name in names) and len(names) > 2
    return chart.kind == "bar" and (long or len(names) > MANY_NAMES)


def _x(point: Point) -> Cell:
    assert not isinstance(point.x, list), "charts have single points when they are drawn"
    return point.x


def _y(point: Point) -> float:
    assert isinstance(point.y, int | float), f"{point.y!r} is published as a number"
    return point.y


def _places(values: Iterable[Cell]) -> list[float]:
    """Return places along an axis: numbers, or words (categories), which matplotlib takes too."""
    return cast("list[float]", list(values))


def _values(rows: Sequence[Row], coordinate: Coordinate) -> list[Cell]:
    return list(dict.fromkeys(row[coordinate.column] for row in rows))


def _interval(coordinate: Coordinate, rows: Sequence[Row]) -> tuple[list[float] | None, list[float] | None]:
    if not coordinate.low or not coordinate.high:
        return None, None
    if all(row.get(coordinate.low) is None for row in rows):
        return None, None
    ends = (
        [_or_value(row, end, coordinate.column) for row in rows] for end in (coordinate.low, coordinate.high)
    )
    low, high = ends
    return low, high


def _or_value(row: Row, end: str, column: str) -> float:
    return number(row, column if row.get(end) is None else end)


def _errors(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[list[float]]:
    return [
        [max(0.0, value - end) for value, end in zip(values, low, strict=True)],
        [max(0.0, end - value) for value, end in zip(values, high, strict=True)],
    ]


def _scale(axes: Axes, coordinate: Coordinate, which: str) -> None:
    (axes.set_xlabel if which == "x" else axes.set_ylabel)(_label(coordinate))
    if coordinate.log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_minor_formatter(NullFormatter())
        low, high = axis.get_view_interval()
        if sum(low <= tick <= high for tick in axis.get_majorticklocs()) < 2:
            # Powers of ten alone would tell nothing of such a short axis.
            ticks = style.log_ticks(low, high)
            axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])


def _label(coordinate: Coordinate) -> str:
    return f"{coordinate.label} ({coordinate.unit})" if coordinate.unit else coordinate.label


def _legend(
    figure: Figure,
    charts: Sequence[Chart],
    looks: Mapping[Cell, style.Look],
    lying: bool,
) -> None:
    handles: list[Artist] = []
    bars = all(chart.kind == "bar" for chart in charts)
    points = all(chart.kind == "points" for chart in charts)
    alike = _alike(looks)
    for name in looks:
        look, label = looks[name], f"{name:g}" if isinstance(name, float) else str(name)
        if bars and lying:
            handles.append(Line2D([], [], linestyle="none", label=label, **_dot(look.colour, alike[name])))
        elif bars:
            handles.append(Patch(**look.fill(HATCHES[alike[name] % len(HATCHES)]), label=label))
        elif points:
            handles.append(Line2D([], [], color=look.colour, linestyle="none", marker="o", label=label))
        else:
            marker: _Marker = {"marker": look.marker, "markersize": style.points(4.5)}
            width = look.line()["linewidth"]
            handles.append(
                Line2D([], [], color=look.colour, label=label, linestyle=look.dash, linewidth=width, **marker)
            )
    bounds = {point.bound for chart in charts for point in chart.published}
    if None in bounds:
        handles.append(Line2D([], [], markeredgecolor=style.INK, label="published", **published()))
    for bound, arrow, word in (("upper", CARETDOWNBASE, "most"), ("lower", CARETUPBASE, "least")):
        if bound in bounds:
            said = f"published: at {word} this"
            line = Line2D([], [], label=said, color=style.INK, linestyle="none", markersize=style.points(8))
            line.set(marker=arrow)
            handles.append(line)
    if len(handles) > 1:
        longest = max(len(str(handle.get_label())) for handle in handles)
        room = int(figure.get_figwidth() / (0.75 + 0.085 * longest))
        style.legend(figure, handles, max(room, 1) if style.output().width is None else len(handles))
