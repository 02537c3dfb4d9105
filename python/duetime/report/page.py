"""From experiments to the page: everything in one file, nothing fetched, every text escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from duetime._core import version
from duetime.contract.rows import Cell
from duetime.experiments.verdicts import STATUSES, in_unit, several, tally
from duetime.plots import style
from duetime.report.model import Chart, Claim, Experiment, Place, Point, Series

ASSETS = Path(__file__).with_name("assets")
#: Run in this order: two libraries (see LICENSES.txt beside them), then the page's own.
SCRIPTS = ("d3.min.js", "plot.umd.min.js", "report.js")

#: Colours of the pictures, by day and by night: the same hue, light enough for a dark page.
COLOURS = {
    style.BLUE: "#58b1ec",
    style.VERMILLION: "#f08a4b",
    style.GREEN: "#34c79a",
    style.ORANGE: "#f0b73f",
    style.SKY: "#8fd0f5",
    style.PURPLE: "#e0a3c6",
    style.BROWN: "#c99a76",
    style.OLIVE: "#c3c04a",
    style.MOSS: "#a4c95a",
    style.FOREST: "#5dbb80",
    style.INDIGO: "#9a90ee",
    style.VIOLET: "#b3a2ee",
    style.WINE: "#d77fae",
    style.ROSE: "#f08fab",
    style.MAGENTA: "#e07fd2",
    style.TEAL: "#5fd3d3",
    style.PETROL: "#69b4d0",
    style.RUST: "#e08a66",
    style.FERN: "#9cc56a",
    style.COBALT: "#8fa6ea",
    style.OCHRE: "#e0a04f",
    style.IRIS: "#a79df0",
    style.PLUM: "#d68fca",
    style.SLATE: "#a3b0bd",
    style.GOLD: "#dcb63c",
    style.JADE: "#8fe0c4",
    style.GREY: "#a9a9a9",
    style.BLACK: "#eeeeee",
}
SYMBOLS = ("circle", "square", "triangle", "diamond", "star", "cross", "wye")


#: A claim with its published and its measured value, as they are written.
Row = tuple[Claim, str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A chart, and its rows as a table."""

    chart: Chart
    rows: list[tuple[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Section:
    """An experiment as the template shows it."""

    anchor: str
    experiment: Experiment
    claims: list[Row]
    #: Claims that echo the configuration.
    setup: list[Row]
    counts: dict[str, int]
    charts: list[Entry]


@dataclass(frozen=True, slots=True)
class Failing:
    """A fact that does not hold, and the claims that rest on it, each with its section."""

    why: str
    claims: list[tuple[Section, Claim, str, str]] = field(default_factory=list)


class Line(TypedDict):
    """A mark of a chart, for the script."""

    axis: str
    at: float
    label: str


class Curve(TypedDict):
    """A series of a chart, for the script."""

    name: str
    colour: str
    dash: str | None
    symbol: str
    #: Place, value, and the ends of its interval.
    points: list[tuple[Place, float | None, float | None, float | None]]
    #: Place, value, label and bound.
    published: list[tuple[Place, float | None, str, str]]


class Drawn(TypedDict):
    """A chart, for the script."""

    kind: str
    x: str
    y: str
    unit: str
    signed: bool
    places: list[Place]
    marks: list[Line]
    words: bool
    series: list[Curve]
    #: Where the vertical axis ends that several charts share.
    top: float | None


def render(experiments: Sequence[Experiment]) -> str:
    """Return the whole page as text."""
    environment = Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        value=value,
        several=several,
        text=lambda one: one if isinstance(one, str) else value(one),
        base64=lambda one: base64.b64encode(one).decode(),
    )
    scripts = [(ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS]
    every = [claim for experiment in experiments for claim in experiment.claims]
    sections = [_section(number, experiment) for number, experiment in enumerate(experiments)]
    return environment.get_template("page.html").render(
        title="Reproduced experiments" if every else experiments[0].title,
        version=version(),
        sections=sections,
        counts=counts(every),
        failing=failing(sections),
        statuses=STATUSES,
        palette=_palette(),
        css=Markup((ASSETS / "report.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in scripts],
        hashes=" ".join(f"'sha256-{_digest(script)}'" for script in scripts),
        data=_data([drawn for experiment in experiments for drawn in _all_drawn(experiment.charts)]),
    )


def counts(claims: Iterable[Claim]) -> dict[str, int]:
    """Return the number of facts of each status in the published claims."""
    return tally(
        {"kind": claim.kind, "fact": claim.fact, "status": claim.status, "holds": claim.holds}
        for claim in claims
    )


def failing(sections: Sequence[Section]) -> list[Failing]:
    """Return the facts that do not hold: each once, with the claims that rest on it."""
    found: dict[str, Failing] = {}
    for section in sections:
        for claim, stated, own in section.claims:
            if claim.status == "fails" and claim.kind == "claim":
                group = found.setdefault(claim.fact or str(len(found)), Failing(claim.why))
                group.claims.append((section, claim, stated, own))
    return list(found.values())


def value(one: object) -> str:
    """A value as a person writes it: four digits that matter, and every digit before the point."""
    if one is None:
        return "\N{EN DASH}"
    if isinstance(one, bool):
        return "yes" if one else "no"
    if isinstance(one, float):
        return f"{one:.0f}" if 1000 <= abs(one) < 1e15 else f"{one:.4g}"
    if isinstance(one, dict):
        return ", ".join(f"{key}: {value(each)}" for key, each in one.items())
    if isinstance(one, list | tuple):
        return ", ".join(value(each) for each in one)
    return str(one)


def _section(number: int, experiment: Experiment) -> Section:
    every = [(claim, published(claim), measured(claim)) for claim in experiment.claims]
    return Section(
        anchor=f"{number + 1}-{re.sub(r'[^a-z0-9]+', '-', experiment.id.lower()).strip('-')}",
        experiment=experiment,
        claims=[row for row in every if row[0].kind != "setup"],
        setup=[row for row in every if row[0].kind == "setup"],
        counts=counts(experiment.claims),
        charts=[Entry(chart, rows(chart)) for chart in experiment.charts],
    )


def published(claim: Claim) -> str:
    """Return the value that the source states, with its unit."""
    number = isinstance(claim.published, int | float) and not isinstance(claim.published, bool)
    return in_unit(value(claim.published), claim.unit if number else "")


def measured(claim: Claim) -> str:
    """Return the measured value, with unit and 95 % interval; and in the other regime, if there is one."""
    own, beside = _measured(claim.measured, claim.low, claim.high, claim.unit), claim.beside
    if beside is None or beside.get("measured") is None:
        return own
    other = _measured(beside["measured"], beside.get("low"), beside.get("high"), claim.unit)
    return f"{own}; {beside['regime']}: {other}"


def _measured(one: Cell, low: Cell, high: Cell, unit: str) -> str:
    if one is None:
        return value(None)
    between = "" if low is None else f" ({value(low)} to {value(high)})"
    return in_unit(value(one), unit) + between


def rows(chart: Chart) -> list[tuple[str, list[str]]]:
    """A chart as a table: a row for each place, a cell for each series."""
    columns = [
        ({point.x: point for point in one.points}, {point.x: point for point in one.published})
        for one in chart.series
    ]
    return [
        (value(place), [_cell(points.get(place), stated.get(place)) for points, stated in columns])
        for place in chart.places
    ]


def _cell(point: Point | None, stated: Point | None) -> str:
    parts = []
    if point is not None:
        between = "" if point.low is None else f" ({value(point.low)} to {value(point.high)})"
        parts.append(value(point.y) + between)
    if stated is not None:
        parts.append(f"published {stated.label or value(stated.y)}")
    return "; ".join(parts) or "\N{EN DASH}"


def _data(charts: Sequence[Drawn]) -> Markup:
    """Return the data for the script, as JSON that cannot end its element."""
    text = json.dumps(charts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _all_drawn(charts: Sequence[Chart]) -> list[Drawn]:
    """Return the charts of one experiment; charts of the same over the same have one vertical axis."""
    reach: dict[tuple[str, str, str], list[float]] = {}
    for chart in charts:
        reach.setdefault(_kin(chart), []).extend(_values(chart))
    alike = [_kin(chart) for chart in charts]
    tops = [max(_values(chart), default=0.0) for chart in charts]

    def top(number: int) -> float | None:
        """Return the common end of the axis, unless it would flatten this chart."""
        kin = alike[number]
        common = max(reach[kin], default=0.0)
        return common if alike.count(kin) > 1 and common <= DWARFED * tops[number] else None

    return [_drawn(chart, top(number)) for number, chart in enumerate(charts)]


#: The ratio of largest values from which the smaller of two related charts has an axis of its own.
DWARFED = 5


def _values(chart: Chart) -> Iterator[float]:
    """Yield every value of a chart, with the upper ends of intervals."""
    for one in chart.series:
        for point in (*one.points, *one.published):
            yield from (end for end in (point.y, point.high) if end is not None)


def _kin(chart: Chart) -> tuple[str, str, str]:
    return chart.kind, chart.x.text, chart.y.text


def _drawn(chart: Chart, top: float | None) -> Drawn:
    names = [one.name for one in chart.series]
    # Bars have no dashes: each has a colour of its own.
    looks = style.looks(names) if chart.kind == "bar" else style.families(names)
    return {
        "kind": chart.kind,
        "x": chart.x.text,
        "y": chart.y.text,
        "unit": chart.y.unit,
        "signed": chart.y.signed,
        "places": chart.places,
        "marks": [{"axis": mark.axis, "at": mark.at, "label": mark.label} for mark in chart.marks],
        "words": any(isinstance(place, str) for place in chart.places),
        "series": [
            {
                "name": one.name,
                "colour": _name(looks[one.name].colour),
                "dash": _dash(looks[one.name].dash),
                "symbol": SYMBOLS[number % len(SYMBOLS)],
                "points": _points(one),
                "published": [
                    (point.x, _short(point.y), point.label, point.bound) for point in one.published
                ],
            }
            for number, one in enumerate(chart.series)
        ],
        "top": top,
    }


def _points(series: Series) -> list[tuple[Place, float | None, float | None, float | None]]:
    return [(point.x, _short(point.y), _short(point.low), _short(point.high)) for point in series.points]


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.6g}")


def _dash(dash: style.Dash) -> str | None:
    return None if isinstance(dash, str) else " ".join(f"{2 * part:g}" for part in dash[1])


def _name(colour: str) -> str:
    return f"--c{colour.lstrip('#').lower()}"


def _palette() -> dict[str, list[tuple[str, str]]]:
    used = {look.colour for look in (*style.TRANSPORTS.values(), *style.CYCLE)}
    return {
        "day": [(_name(colour), colour) for colour in sorted(used)],
        "night": [(_name(colour), COLOURS.get(colour, colour)) for colour in sorted(used)],
    }


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
