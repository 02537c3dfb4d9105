"""The common style of all pictures: colours, line styles, titles, axes."""

import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, NullLocator

from duetime.output import SCREEN, Output
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
    # TrueType outlines: publishers refuse Type 3.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}
#: The settings that differ on paper: type of 8 points, thin lines, and letters as outlines in SVG too.
PAPER_RC: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlepad": 4,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7.5,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "legend.borderpad": 0.2,
    "grid.linewidth": 0.4,
    "hatch.linewidth": 0.7,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
}
#: Font families that matplotlib brings: a figure looks the same on every machine.
SANS, SERIF = "DejaVu Sans", "STIXGeneral"
#: Sizes and widths on paper, as a part of the size on a screen.
PAPER = 0.8
#: The same of the height of panels, at the width of a column.
PAPER_HEIGHT = 0.62
#: Inches of a panel that can be read, by which panels are put side by side or below one another.
PANEL = 2.4

Dash = Literal["-"] | tuple[float, tuple[float, ...]]


class Line(TypedDict):
    """Arguments for a solid line."""

    color: str
    linewidth: float
    zorder: float


class Curve(Line):
    """Arguments for the line of a transport."""

    linestyle: Dash


class Marks(TypedDict, total=False):
    """Arguments for markers along a line of many points."""

    marker: str
    markersize: float
    markevery: tuple[float, float]


class Fill(TypedDict, total=False):
    """Arguments for the bars of a transport."""

    color: str
    facecolor: str
    hatch: str
    edgecolor: str
    linewidth: float


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
    #: By which bars differ on paper.
    hatch: str = ""

    def line(self) -> Curve:
        """Return arguments for a line. A solid one is below the others, so that equal curves both show."""
        solid = self.dash == "-"
        width, order = (2.4, 2.0) if solid else (2.0, 2.1)
        if output().paper:
            width *= 0.6
        return {"color": self.colour, "linestyle": self.dash, "linewidth": width, "zorder": order}

    def along(self, number: int) -> Marks:
        """Return arguments for markers along the `number`-th line of many points; only paper has them."""
        if not output().paper:
            return {}
        return {"marker": self.marker, "markersize": 3.4, "markevery": (0.04 + 0.05 * (number % 4), 0.2)}

    def fill(self, more: str = "") -> Fill:
        """Return arguments for bars; bars of equal colour differ by the hatch `more`."""
        hatch = more + (self.hatch if output().paper else "")
        if not hatch:
            return {"color": self.colour}
        return {"facecolor": self.colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


# The colours of Okabe and Ito, which colour-blind readers can tell apart, and a grey.
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, GREY, BLACK = "#56B4E9", "#CC79A7", "#757575", "#000000"
#: Not theirs: there are more transports than eight. Where two of them are near each other, to colour-blind
#: readers too, they are seldom in one picture, and dashes and markers tell them as well.
BROWN, OLIVE, MOSS, FOREST = "#7A4B2A", "#8C8A1F", "#6B8E23", "#1B6E37"
JADE = "#66C2A5"
INDIGO, VIOLET, WINE, ROSE = "#332288", "#7B5FC7", "#882255", "#D1567A"
MAGENTA, TEAL, PETROL, SLATE, GOLD = "#B0359C", "#2AA6A6", "#1F6F8B", "#4A5560", "#B58A00"
RUST, FERN, COBALT, OCHRE, IRIS = "#9C4221", "#5C7F2E", "#3D5AA8", "#A35D00", "#4B3FA0"
PLUM = "#8A3F7D"
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
    "tcp": Look(GREY, DOTS, "s", "...."),
    "cubic": Look(OLIVE, DASH_DOT, "^", "\\\\\\\\"),
    "dctcp": Look(VERMILLION, DASHES, "D", "////"),
    "d2tcp": Look(BLUE),
    "d2tcp_plus": Look(GREEN, SOLID, "s", "xxxx"),
    "d2tcp_wait": Look(JADE, LONG, "o", "----"),
    "xdctcp": Look(MOSS, DASH_DOT_DOT, "v", "++++"),
    "d3": Look(ORANGE, LONG, "P", "||||"),
    "tcppr": Look(BROWN, LONG, "X", "oooo"),
    "rcpdc": Look(GOLD, DASH_DOT, "h", "OO"),
    "mcp": Look(PURPLE, SOLID, "^", "**"),
    "mcp-opt": Look(WINE, DASHES, "*", "\\\\||"),
    "karuna": Look(INDIGO, DASHES, "d", "//--"),
    "jit": Look(SKY, DOTS, "<", "xx.."),
    "adm": Look(SLATE, DASH_DOT, ">", "++oo"),
    "hull": Look(ROSE, DOTS, "p", "--.."),
    "pfabric": Look(MAGENTA, LONG, "*", "||.."),
    "pdq": Look(FOREST, DOTS, "v", "\\\\--"),
    "edf-grants": Look(TEAL, SOLID, "D", "//||"),
    "homa": Look(VIOLET, DASH_DOT, "X", "xxoo"),
    "sird": Look(PETROL, DASH_DOT_DOT, "h", "//oo"),
    "swift": Look(RUST, SOLID, "v", "//xx"),
    "timely": Look(FERN, DASHES, "p", "..oo"),
    "dcqcn": Look(PLUM, DOTS, "d", "..xx"),
    "nscc": Look(COBALT, DASH_DOT_DOT, "P", "||oo"),
    "hpcc": Look(OCHRE, SOLID, ">", "++xx"),
    "powertcp": Look(IRIS, DASH_DOT, "<", "--oo"),
    "bound": Look(BLACK, DOTS),
}
# For names that the table above does not know, and for things without a name of their own (flows, classes).
CYCLE = [
    Look(colour, dash, marker, hatch)
    for dash, hatch in ((SOLID, ""), (DASHES, "//"), (DOTS, ".."), (DASH_DOT, "\\\\"))
    for colour, marker in zip(
        (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK),
        ("o", "D", "s", "P", "^", "<", "v"),
        strict=True,
    )
]

_OUTPUT: ContextVar[Output] = ContextVar("output", default=SCREEN)


def output() -> Output:
    """Return how the figure that is being drawn will be written."""
    return _OUTPUT.get()


@contextmanager
def context(wanted: Output = SCREEN) -> Iterator[None]:
    """Draw inside the block for such files."""
    family = SERIF if wanted.serif else SANS
    settings = {**RC, **(PAPER_RC if wanted.paper else {}), "font.family": family}
    if wanted.serif:
        settings["mathtext.fontset"] = "stix"
    before = _OUTPUT.set(wanted)
    try:
        with rc_context(settings):
            yield
    finally:
        _OUTPUT.reset(before)


def points(size: float) -> float:
    """Return a size of type or of a marker for the medium."""
    return size * PAPER if output().paper else size


def side_by_side(most: int, width: float | None = None) -> int:
    """Return how many of `most` panels have room side by side; on a screen all of them."""
    room = output().width if width is None else width
    return most if room is None else max(1, min(most, int(room / PANEL)))


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A look for each transport of a picture, no two alike."""
    known = {name: TRANSPORTS[name] for name in names if name in TRANSPORTS}
    if len(names) == 1:
        # One line needs no dashes to be told from others.
        return {name: Look(known[name].colour if known else BLUE) for name in names}
    # Bars differ by colour alone on a screen: first the colours that no known transport of the picture has.
    taken = {look.colour for look in known.values()}
    others = [look for look in CYCLE if look not in known.values()]
    free: Iterator[Look] = iter(sorted(others, key=lambda look: look.colour in taken))
    return {name: known[name] if name in known else next(free) for name in names}


def families(names: Sequence[str]) -> dict[str, Look]:
    """As `looks`, but several curves of a transport ("d2tcp, real") share its colour and differ in dashes."""
    if all(name.split(", ")[0] in TRANSPORTS for name in names):
        ends = list(dict.fromkeys(name.partition(", ")[2] for name in names))
        if len(ends) > 1 or "" not in ends:
            return {
                name: Look(look.colour, FAMILY[ends.index(end) % len(FAMILY)], look.marker, look.hatch)
                for name, (first, _, end) in ((name, name.partition(", ")) for name in names)
                for look in (TRANSPORTS[first],)
            }
    return looks(names)


def figure(title: str, subtitle: str, width: float, height: float) -> Figure:
    """Create a figure with a headline; its axes are made by `figure.subplots`.

    `width` and `height` are for a screen and include the headline. Where another width is asked for, the
    height follows.
    """
    wanted = output()
    height -= HEADLINE
    if wanted.width is not None:
        height *= PAPER_HEIGHT if wanted.paper else min(1.0, max(0.6, wanted.width / width))
        width = wanted.width
    above = HEADLINE if wanted.title else 0.0
    height += above
    room = (0.008, 0.012, 0.98, 0.988 - above / height)
    pad = 0.03 if wanted.paper else 0.06
    figure = Figure(
        figsize=(width, height), layout=ConstrainedLayoutEngine(rect=room, w_pad=pad, h_pad=pad * 5 / 6)
    )
    if wanted.title:
        x = 0.13 / width
        big, small = points(14), points(10)
        figure.text(
            x, 1 - 0.13 / height, _fitting(title, width, big), fontsize=big, fontweight="bold", va="top"
        )
        figure.text(
            x, 1 - 0.42 / height, _fitting(subtitle, width, small), fontsize=small, color="#555555", va="top"
        )
    return figure


#: Inches of a headline.
HEADLINE = 0.72


def _fitting(text: str, width: float, size: float) -> str:
    """Cut a headline where the figure is narrower than asked for by its content."""
    most = int((width - 0.2) * 72 / (0.55 * size))
    return text if output().width is None or len(text) <= most else f"{text[: most - 1].rstrip(' ,;')}\u2026"


def wrapped(title: str) -> str:
    """Return the title of a panel, in lines that fit where a figure of one column is asked for."""
    width = output().width
    # A panel is narrower than the figure, by the labels of its axis.
    return (
        title if width is None else textwrap.fill(title, max(20, int(0.6 * min(width, 4) * 72 / points(6.2))))
    )


def legend(figure: Figure, handles: Sequence[Artist], most: int = 8) -> None:
    """Draw one legend for all panels below them, in as many columns as the width allows."""
    if not handles:
        return
    # Roughly the inches of a line and of a letter.
    widths = [points(1.0) * (0.56 + 0.075 * len(str(handle.get_label()))) for handle in handles]
    columns = min(len(handles), most)
    if output().width is not None:
        while columns > 1 and _in_columns(widths, columns) > figure.get_figwidth() - 0.1:
            columns -= 1
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)


def _in_columns(widths: Sequence[float], columns: int) -> float:
    """Return the width of entries of these widths in columns, the first of which are the longest."""
    rows, longer = divmod(len(widths), columns)
    entries = iter(widths)
    heights = [rows + (column < longer) for column in range(columns)]
    return sum(max(itertools.islice(entries, height)) for height in heights)


def settle(figure: Figure) -> None:
    """Fix the layout: its solver's last bits vary from run to run, and the ids in an SVG follow them."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(tuple(round(edge, 5) for edge in axes.get_position().bounds))


def in_order(names: Sequence[str]) -> list[str]:
    """Return names of transports, or of their variants ("d2tcp, real"), in the order that was asked for."""
    order = output().order

    def rank(name: str) -> int:
        first = name.partition(", ")[0]
        return next((place for place, each in enumerate(order) if each in (name, first)), len(order))

    return sorted(names, key=rank)


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
        text, at, aside, textcoords="offset points", fontsize=points(8), bbox=behind, zorder=6, ha=ha, va=va
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
