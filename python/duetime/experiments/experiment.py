"""An experiment as it is written in its file, and the mistakes that such a file can have."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from duetime import names
from duetime.contract.rows import Cell, Row
from duetime.errors import Mistaken
from duetime.experiments.fields import Options, make, make_list
from duetime.experiments.places import FACTS, PUBLISHED, REGIMES
from duetime.experiments.texts import filled
from duetime.language import catalog
from duetime.scenario import LARGEST

if TYPE_CHECKING:
    from duetime.contract.experiments import Regimes

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Kind = Literal["claim", "setup", "own"]
Labels: TypeAlias = Row
#: The numbers that the papers state: tables by section, as the file has them.
Numbers: TypeAlias = Mapping[str, object]


#: Among the transports of an experiment: every one that there is.
ALL = "all"


@dataclass(frozen=True)
class Axis:
    """One dimension of the grid: a column of the rows, and the changes for each of its values."""

    column: str
    #: Values to be put into `set` in place of ``{}``.
    values: list[Cell] = field(default_factory=list)
    set: list[str] = field(default_factory=list)
    #: Named lists of changes, where one value needs several.
    cases: dict[str, list[str]] = field(default_factory=dict)
    #: Not a column: the rows are means over its values, as over seeds.
    replicates: bool = False
    #: Take the cases from the changes in the file of regimes.
    changes: bool = False


@dataclass(frozen=True)
class Variant:
    """A transport with settings of its own, which a chart tells from the same one without."""

    transport: str
    set: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Size:
    """The size of one scale."""

    seeds: int
    set: list[str] = field(default_factory=list)
    #: Axes with other values, or fewer cases, than at the other scale.
    axes: dict[str, list[Cell]] = field(default_factory=dict)


@dataclass(frozen=True)
class Coordinate:
    """An axis of a chart."""

    column: str
    label: str
    unit: str = ""
    low: str = ""
    high: str = ""
    log: bool = False
    #: The largest value shown; larger ones leave the chart at its edge.
    limit: float | None = None
    #: Where a vertical axis begins, for values that differ by little; 0 unless it is given.
    begin: float = 0.0


@dataclass(frozen=True)
class Point:
    """A published value of a chart, or several: as they are, or the place where they are published."""

    x: Cell | list[Cell]
    y: Cell | list[Cell]
    series: str | None = None
    label: str | None = None
    #: ``upper`` or ``lower``: the paper states a bound.
    bound: str | None = None
    #: The panel that it belongs to.
    where: Labels = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """One panel of a figure."""

    title: str
    kind: Literal["line", "bar", "points"]
    x: Coordinate
    y: Coordinate
    series: str
    where: Labels = field(default_factory=dict)
    published: list[Point] = field(default_factory=list)
    #: A panel for each value of these columns.
    panels: list[str] = field(default_factory=list)
    #: Charts of the same number share a picture.
    figure: int = 1


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, how it is measured here, and the rule that decides."""

    claim: str
    #: An SQL query over the table ``rows`` (and ``scenario``): one value, or value, low, high.
    measured: str
    #: An SQL condition over ``measured``, ``published``, ``low``, ``high``.
    holds: str
    #: Why the rule is what it is, its tolerance above all.
    rule: str
    #: The path of the number in the file of published numbers; or the statement of the paper in words.
    published: str | list[str] = ""
    unit: str = ""
    #: The known reason, if it does not hold; that of its fact unless it is given.
    why: str = ""
    #: setup: an echo of the configuration, which confirms nothing; own: an expectation of ours, not of the
    #: paper.
    kind: Kind = "claim"
    #: One of the file of facts: claims that say the same of it count once.
    fact: str = ""
    #: A choice made when the figure was known; such a claim shows that a reading exists, not more.
    late: str = ""
    #: Whether it may rest on the calibration of its regime; false where it cannot.
    calibrated: bool = True
    #: One claim for each position of these lists (or of the published lists they name).
    each: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """The finding, as a sentence with measured values in it."""

    #: The columns of the query appear in it as ``{name}``, with a format as Python has it.
    says: str
    #: An SQL query over ``rows``, and over ``every``, which holds the rows of all regimes: one row.
    measured: str


@dataclass(frozen=True)
class Experiment:
    """One figure or table."""

    name: str
    path: Path
    title: str
    source: str
    question: str
    #: A scenario file, relative to this one; or the scenario itself.
    scenario: str | dict[str, object]
    scales: dict[str, Size]
    charts: list[Chart]
    claims: list[Claim]
    #: Names of transports or of variants; ``all`` means every transport.
    transports: list[str]
    measures: list[str] = field(default_factory=lambda: ["summary"])
    #: Options of the measures.
    options: Options = field(default_factory=lambda: Options({}, "[options"))
    #: Columns of the rows -> where they are in the JSON of a run; or places there -> their weights in a sum.
    metrics: dict[str, str | dict[str, float]] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    #: One of the file of regimes; its changes are applied first.
    regime: str = "paper"
    #: Another regime in which all is run too and every claim is judged a second time.
    beside: str = ""
    finding: Finding | None = None
    set: list[str] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    #: More columns, put together from the others.
    columns: dict[str, str] = field(default_factory=dict)
    #: Sections of the published numbers that this experiment answers.
    published: list[str] = field(default_factory=list)
    #: Fewer values or cases of axes, for the many variants of ``--robust`` and for runs that are cut.
    robust: dict[str, list[Cell]] = field(default_factory=dict)
    #: Further changes where runs are cut short, for anything that would otherwise begin only after their end.
    cut: list[str] = field(default_factory=list)
    #: Rows that were measured elsewhere, on a real network: a file relative to this one.
    real: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def regimes(self) -> tuple[str, ...]:
        """Its own, and the one beside it."""
        return (self.regime, self.beside) if self.beside else (self.regime,)

    @property
    def root(self) -> Path:
        """The folder of experiments."""
        return self.path.parent.parent


def read(path: Path) -> Experiment:
    """Read the file of an experiment; `Mistaken` says where it is wrong."""
    table = load(path)
    where = f"{path}"
    table["scales"] = {
        name: make(Size, each, f"{where}: [scales.{name}]")
        for name, each in _tables(table, "scales", where).items()
    }
    table["variants"] = {
        name: make(Variant, each, f"{where}: [variants.{name}]")
        for name, each in _tables(table, "variants", where).items()
    }
    table["axes"] = make_list(Axis, table.get("axes", []), f"{where}: [[axes]]")
    table["claims"] = make_list(Claim, table.get("claims", []), f"{where}: [[claims]]")
    table["charts"] = _charts(table.get("charts", []), where)
    if "finding" in table:
        table["finding"] = make(Finding, table["finding"], f"{where}: [finding]")
    table["options"] = Options(_tables(table, "options", where), f"{where}: [options")
    name = path.relative_to(path.parent.parent).with_suffix("").as_posix()
    experiment = make(Experiment, {**table, "name": name, "path": path}, where)
    if ALL in experiment.transports:
        others = (each for each in experiment.transports if each != ALL)
        every = (each["name"] for each in catalog()["transports"])
        experiment = replace(experiment, transports=list(dict.fromkeys((*every, *others))))
    experiment = _with_present_names(experiment)
    known = regimes(experiment.root)["regimes"]
    for regime in experiment.regimes:
        if regime not in known:
            raise Mistaken(f"{where}: no regime is called {regime}; there are {', '.join(known)}")
    told = facts(experiment.root)
    for claim in experiment.claims:
        # One with a place for what the claim ranges over is looked up when the claim is judged.
        if claim.fact and "{" not in claim.fact and claim.fact not in told:
            raise Mistaken(f"{where}: no fact is called {claim.fact}; there are {', '.join(told)}")
    columns = [axis.column for axis in experiment.axes]
    for column in experiment.robust:
        if column not in columns:
            raise Mistaken(f"{where}: no axis is called {column}; there are {', '.join(columns)}")
    if not experiment.transports:
        raise Mistaken(f"{where}: `transports` is empty")
    if set(experiment.scales) != set(SCALES):
        raise Mistaken(f"{where}: needs [scales.quick] and [scales.paper]")
    return experiment


def _with_present_names(experiment: Experiment) -> Experiment:
    """Return the experiment with the present names of columns, and a note if it has former ones."""
    own = {*experiment.metrics, *experiment.columns, *(axis.column for axis in experiment.axes)}
    found: dict[str, str] = {}

    def now(text: str) -> str:
        return names.in_query(text, own, found)

    def axis(of: Coordinate) -> Coordinate:
        return replace(of, column=now(of.column), low=now(of.low), high=now(of.high))

    claims = [replace(each, measured=now(each.measured)) for each in experiment.claims]
    charts = [replace(each, x=axis(each.x), y=axis(each.y)) for each in experiment.charts]
    finding = experiment.finding and replace(experiment.finding, measured=now(experiment.finding.measured))
    if not found:
        return experiment
    note = "former names of columns: " + ", ".join(f"`{old}` is `{new}`" for old, new in found.items())
    notes = [*experiment.notes, note]
    return replace(experiment, claims=claims, charts=charts, finding=finding, notes=notes)


def _tables(table: Mapping[str, object], key: str, where: str) -> dict[str, object]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise Mistaken(f"{where}: `{key}` is a table, not {str(found)[:60]!r}")
    return found


def _charts(tables: object, where: str) -> list[Chart]:
    if not isinstance(tables, list):
        raise Mistaken(f"{where}: [[charts]]: is a list of tables")
    made = []
    for number, chart in enumerate(tables, 1):
        if not isinstance(chart, dict):
            raise Mistaken(f"{where}: [[charts]] {number}: is missing, or no table")
        made.append(dict(chart))
        for key in ("x", "y"):
            made[-1][key] = make(Coordinate, chart.get(key), f"{where}: [[charts]] {number}, {key}")
        points = chart.get("published", [])
        made[-1]["published"] = make_list(Point, points, f"{where}: [[charts]] {number}, published")
    return make_list(Chart, made, f"{where}: [[charts]]")


def load(path: Path) -> dict[str, object]:
    """Read a TOML file."""
    try:
        if path.exists() and not path.is_file():
            raise Mistaken(f"{path}: is no regular file")
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise Mistaken(f"{path}: larger than {LARGEST >> 20} MiB, which no experiment is")
        return tomllib.loads(text.decode("utf-8"))
    except OSError as error:
        raise Mistaken(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise Mistaken(f"{path}: its lists or tables are nested too deeply") from None
    except ValueError as error:
        if isinstance(error, Mistaken):
            raise
        raise Mistaken(f"{path}: {error}") from None


def published(root: Path) -> Numbers:
    """Everything that the papers state in numbers."""
    return load(root / PUBLISHED)


def regimes(root: Path) -> Regimes:
    """The ways to read what the papers leave open: ``regimes`` and ``changes``, each name -> {help, set}."""
    return cast("Regimes", load(root / REGIMES))


def facts(root: Path) -> dict[str, str]:
    """Return the facts that several claims rest on: name -> the reason, if the fact does not hold."""
    path = root / FACTS
    return {name: str(reason) for name, reason in load(path).items()} if path.is_file() else {}


def at(table: object, path: str) -> object:
    """Return the value at ``section.key[2]``; `KeyError` when there is none."""
    for part in path.replace("[", ".[").split("."):
        try:
            table = _part(table, part)
        except (LookupError, ValueError):
            raise KeyError(path) from None
    return table


def _part(table: object, name: str) -> object:
    if name.startswith("[") and isinstance(table, list):
        return table[int(name[1:-1])]
    if isinstance(table, Mapping):
        return table[name]
    raise KeyError(name)


def expanded(claim: Claim, numbers: Numbers, path: str | Path = "") -> Iterator[Claim]:
    """One claim of the file `path` for each position of what it ranges over."""
    if not claim.each:
        yield claim
        return
    where = f"{path}: claim {claim.claim!r}".removeprefix(": ")
    lists = {
        name: number_at(each, numbers, where) if isinstance(each, str) else each
        for name, each in claim.each.items()
    }
    ranges = [each for each in lists.values() if isinstance(each, list)]
    if len(ranges) < len(lists):
        raise Mistaken(f"{where}: `each` names lists, or places where lists are published")
    if len({len(each) for each in ranges}) > 1:
        raise Mistaken(f"{where}: the lists of `each` have different lengths")
    for i, values in enumerate(zip(*ranges, strict=True)):
        words = dict(zip(lists, values, strict=True), i=i)
        paths = claim.published
        yield replace(
            claim,
            claim=filled(claim.claim, words, where),
            measured=filled(claim.measured, words, where),
            holds=filled(claim.holds, words, where),
            rule=filled(claim.rule, words, where),
            why=filled(claim.why, words, where),
            fact=filled(claim.fact, words, where),
            published=[filled(each, words, where) for each in paths]
            if isinstance(paths, list)
            else filled(paths, words, where),
            each={},
        )


def number_at(path: str, numbers: Numbers, where: str) -> object:
    """Return the published value at a path; `Mistaken` when there is none."""
    try:
        return at(numbers, path)
    except KeyError:
        raise Mistaken(f"{where}: nothing is published at {path}") from None


def panels(chart: Chart, rows: Sequence[Row], path: str | Path) -> Iterator[Chart]:
    """One chart of the file `path` for each value of the columns in `panels`."""
    if not chart.panels:
        yield chart
        return
    drawn = [
        row for row in rows if row.get(chart.x.column) is not None and row.get(chart.y.column) is not None
    ]
    seen = dict.fromkeys(tuple(row.get(column) for column in chart.panels) for row in drawn)
    for values in seen:
        if None in values:
            continue
        words = dict(zip(chart.panels, values, strict=True))
        yield replace(
            chart,
            title=filled(chart.title, words, f"{path}: chart {chart.title!r}"),
            where={**chart.where, **words},
            published=[point for point in chart.published if words.items() <= (point.where or words).items()],
            panels=[],
        )
