"""The common style of all pictures: colours, line styles, titles, axes."""

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, NullLocator

from duetime.quantities import counted, short

INK = "#222222"
FAINT = "#8C8C8C"
GRID = "#E4E4E4"

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "savefig.dpi": 150,
    "svg.hashsalt": "duetime",
    "svg.fonttype": "none",
}

Dash = Literal["-"] | tuple[float, tuple[float, ...]]


class Line(TypedDict):
    """Arguments for a solid line."""

    color: str
    linewidth: float
    zorder: float


class Curve(Line):
    """Arguments for the line of a transport."""

    linestyle: Dash


class Hollow(TypedDict):
    """Arguments for a hollow marker."""

    marker: str
    markerfacecolor: str
    markersize: float


#: The style of a threshold: no transport is drawn so.
THRESHOLD: Line = {"color": INK, "linewidth": 1.0, "zorder": 3}


@dataclass(frozen=True)
class Look:
    """How one line or bar is drawn everywhere."""

    colour: str
    dash: Dash = "-"
    marker: str = "o"

    def line(self) -> Curve:
        """Return arguments for a line. A solid one is below the others, so that equal curves both show."""
        solid = self.dash == "-"
        width, order = (2.4, 2.0) if solid else (2.0, 2.1)
        return {"color": self.colour, "linestyle": self.dash, "linewidth": width, "zorder": order}


# The colours of Okabe and Ito, which colour-blind readers can tell apart, and a grey.
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, GREY, BLACK = "#56B4E9", "#CC79A7", "#757575", "#000000"
#: Not theirs: there are more transports than eight. Where two of them are near each other, to colour-blind
#: readers too, they are seldom in one picture, and dashes and markers tell them as well.
BROWN, OLIVE, MOSS, FOREST = "#7A4B2A", "#8C8A1F", "#6B8E23", "#1B6E37"
JADE = "#66C2A5"
INDIGO, VIOLET, WINE, ROSE = "#332288", "#7B5FC7", "#882255", "#D1567A"
MAGENTA, TEAL, PETROL, SLATE, GOLD = "#B0359C", "#2AA6A6", "#1F6F8B", "#4A5560", "#B58A00"
SOLID: Dash = "-"
DOTS: Dash = (0, (1, 1.3))
DASHES: Dash = (0, (5, 1.6))
DASH_DOT: Dash = (0, (6, 1.5, 1, 1.5))
#: For the curves of one transport.
FAMILY: tuple[Dash, ...] = (SOLID, DASHES, DOTS)
DASH_DOT_DOT: Dash = (0, (5, 1.3, 1, 1.3, 1, 1.3))
LONG: Dash = (0, (9, 2))

# A transport looks the same in every picture.
TRANSPORTS = {
    "tcp": Look(GREY, DOTS, "s"),
    "cubic": Look(OLIVE, DASH_DOT, "^"),
    "dctcp": Look(VERMILLION, DASHES, "D"),
    "d2tcp": Look(BLUE),
    "d2tcp_plus": Look(GREEN, SOLID, "s"),
    "d2tcp_wait": Look(JADE, LONG, "o"),
    "xdctcp": Look(MOSS, DASH_DOT_DOT, "v"),
    "d3": Look(ORANGE, LONG, "P"),
    "tcppr": Look(BROWN, LONG, "X"),
    "rcpdc": Look(GOLD, DASH_DOT, "h"),
    "mcp": Look(PURPLE, SOLID, "^"),
    "mcp-opt": Look(WINE, DASHES, "*"),
    "karuna": Look(INDIGO, DASHES, "d"),
    "jit": Look(SKY, DOTS, "<"),
    "adm": Look(SLATE, DASH_DOT, ">"),
    "hull": Look(ROSE, DOTS, "p"),
    "pfabric": Look(MAGENTA, LONG, "*"),
    "pdq": Look(FOREST, DOTS, "v"),
    "edf-grants": Look(TEAL, SOLID, "D"),
    "homa": Look(VIOLET, DASH_DOT, "X"),
    "sird": Look(PETROL, DASH_DOT_DOT, "h"),
    "bound": Look(BLACK, DOTS),
}
# For names that the table above does not know, and for things without a name of their own (flows, classes).
CYCLE = [
    Look(colour, dash)
    for dash in (SOLID, DASHES, DOTS, DASH_DOT)
    for colour in (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
]


def context() -> AbstractContextManager[None]:
    """Draw with these settings inside the block."""
    return rc_context(RC)


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A look for each transport of a picture, no two alike."""
    known = {name: TRANSPORTS[name] for name in names if name in TRANSPORTS}
    if len(names) == 1:
        # One line needs no dashes to be told from others.
        return {name: Look(known[name].colour if known else BLUE) for name in names}
    free: Iterator[Look] = (look for look in CYCLE if look not in known.values())
    return {name: known[name] if name in known else next(free) for name in names}


def families(names: Sequence[str]) -> dict[str, Look]:
    """As `looks`, but several curves of a transport ("d2tcp, real") share its colour and differ in dashes."""
    if all(name.split(", ")[0] in TRANSPORTS for name in names):
        ends = list(dict.fromkeys(name.partition(", ")[2] for name in names))
        if len(ends) > 1 or "" not in ends:
            return {
                name: Look(TRANSPORTS[first].colour, FAMILY[ends.index(end) % len(FAMILY)])
                for name, (first, _, end) in ((name, name.partition(", ")) for name in names)
            }
    return looks(names)


def figure(title: str, subtitle: str, width: float, height: float) -> Figure:
    """Create a figure with a headline; its axes are made by `figure.subplots`."""
    headline = 0.72 / height
    room = (0.008, 0.012, 0.98, 0.988 - headline)
    figure = Figure(
        figsize=(width, height), layout=ConstrainedLayoutEngine(rect=room, w_pad=0.06, h_pad=0.05)
    )
    x = 0.13 / width
    figure.text(x, 1 - 0.13 / height, title, fontsize=14, fontweight="bold", va="top")
    figure.text(x, 1 - 0.42 / height, subtitle, fontsize=10, color="#555555", va="top")
    return figure


def settle(figure: Figure) -> None:
    """Fix the layout: its solver's last bits vary from run to run, and the ids in an SVG follow them."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(tuple(round(edge, 5) for edge in axes.get_position().bounds))


def threshold(axes: Axes, at: float, text: str, across: tuple[float, float] | None = None) -> None:
    """Draw a line at a threshold, from edge to edge unless it is to reach `across`."""
    low, high = axes.get_xlim() if across is None else across
    axes.plot([low, high], [at, at], **THRESHOLD)
    label(axes, text, (low, at), (3, 3), ha="left", va="bottom")


def label(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    aside: tuple[float, float],
    *,
    ha: Literal["left", "center", "right"],
    va: Literal["baseline", "bottom", "center"] = "baseline",
) -> None:
    """Name a line, readable over bars and curves; `aside` is in points."""
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.2, "alpha": 0.85}
    axes.annotate(
        text, at, aside, textcoords="offset points", fontsize=8, bbox=behind, zorder=6, ha=ha, va=va
    )


def sentence(axes: Axes, text: str) -> None:
    """Say in words why there is nothing to see."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color="#555555", wrap=True, transform=axes.transAxes)


def percent(axes: Axes, label: str, low: float = 0, high: float = 100) -> None:
    """A vertical axis in percent."""
    axes.set_ylabel(label)
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")


def log_time(axes: Axes, label: str) -> None:
    """A logarithmic horizontal axis in microseconds, written in the unit that reads best.

    To be called after the data has been drawn.
    """
    axes.set_xscale("log")
    axes.set_xlabel(label)
    low, high = axes.get_xlim()
    ticks = log_ticks(low, high)
    axes.set_xticks(ticks, [span(us) for us in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the two, as many as leave each other room."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    best: list[float] = []
    for digits in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 2.0, 3.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        gaps = [math.log(b / a) / math.log(high / low) for a, b in itertools.pairwise(ticks)]
        if min(gaps, default=1) >= 0.13:
            best = ticks
    if len(best) > 2:
        return best
    return [tick for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]


def span(us: float) -> str:
    """A time span in words: 150 us, 20 ms, 1.5 s."""
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if us >= factor * 0.9995:
            return f"{short(us / factor)} {unit}"
    return f"{short(us * 1e3)} ns"


def size(count: float) -> str:
    """Bytes in words: 14 KB, 1.22 GB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= factor:
            return f"{short(count / factor)} {unit}"
    return f"{short(count)} B"


def number(value: float) -> str:
    """A label at a bar: two digits that matter, no more, but nothing short of 100 becomes 100."""
    if 99 < value < 100:
        return f"{min(value, 99.9):.1f}"
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def plural(count: int, what: str) -> str:
    """1 message, 2 messages, 12 000 messages."""
    return counted(count, what).replace(",", "\N{THIN SPACE}")
