"""An experiment as it is written in its file, and the mistakes that such a file can have."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from duetime.errors import Mistaken
from duetime.experiments.places import FACTS, PUBLISHED, REGIMES
from duetime.experiments.texts import filled
from duetime.language import catalog
from duetime.scenario import LARGEST

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Kind = Literal["claim", "setup", "own"]
Labels: TypeAlias = dict[str, Any]


#: Among the transports of an experiment: every one that there is.
ALL = "all"


@dataclass(frozen=True)
class Axis:
    """One dimension of the grid: a column of the rows, and the changes for each of its values."""

    column: str
    #: Values to be put into `set` in place of ``{}``.
    values: list[Any] = field(default_factory=list)
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
    axes: dict[str, list[Any]] = field(default_factory=dict)


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
class Chart:
    """One panel of a figure."""

    title: str
    kind: Literal["line", "bar", "points"]
    x: Coordinate
    y: Coordinate
    series: str
    where: Labels = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)
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
    each: dict[str, Any] = field(default_factory=dict)


class Options(dict[str, Any]):
    """The options of the measures; reading an option that the file does not have raises `Mistaken`."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        """Take the tables of a file; `where` is its path and the beginning of their names."""
        super().__init__(table)
        self._where = where

    def __getitem__(self, key: str) -> Any:
        """Return a value; a table in it raises the same error for a missing key."""
        if key not in self:
            raise Mistaken(f"{self._where}.{key}] is missing")
        value = super().__getitem__(key)
        return Options(value, f"{self._where}.{key}") if isinstance(value, dict) else value


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
    scenario: str | dict[str, Any]
    scales: dict[str, Size]
    charts: list[Chart]
    claims: list[Claim]
    #: Names of transports or of variants; ``all`` means every transport.
    transports: list[str]
    measures: list[str] = field(default_factory=lambda: ["summary"])
    #: Options of the measures.
    options: dict[str, Any] = field(default_factory=dict)
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
    robust: dict[str, list[Any]] = field(default_factory=dict)
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
        name: _make(Size, each, f"{where}: [scales.{name}]") for name, each in table.get("scales", {}).items()
    }
    table["variants"] = {
        name: _make(Variant, each, f"{where}: [variants.{name}]")
        for name, each in table.get("variants", {}).items()
    }
    table["axes"] = _list(Axis, table.get("axes", []), f"{where}: [[axes]]")
    table["claims"] = _list(Claim, table.get("claims", []), f"{where}: [[claims]]")
    charts = table.get("charts", [])
    for number, chart in enumerate(charts, 1):
        for key in ("x", "y"):
            chart[key] = _make(Coordinate, chart.get(key), f"{where}: [[charts]] {number}, {key}")
    table["charts"] = _list(Chart, charts, f"{where}: [[charts]]")
    if "finding" in table:
        table["finding"] = _make(Finding, table["finding"], f"{where}: [finding]")
    options = table.get("options", {})
    table["options"] = Options(options, f"{where}: [options") if isinstance(options, dict) else options
    name = path.relative_to(path.parent.parent).with_suffix("").as_posix()
    experiment = _make(Experiment, {**table, "name": name, "path": path}, where)
    if ALL in experiment.transports:
        others = (each for each in experiment.transports if each != ALL)
        every = (each["name"] for each in catalog()["transports"])
        experiment = replace(experiment, transports=list(dict.fromkeys((*every, *others))))
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


def load(path: Path) -> dict[str, Any]:
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


def published(root: Path) -> dict[str, Any]:
    """Everything that the papers state in numbers."""
    return load(root / PUBLISHED)


def regimes(root: Path) -> dict[str, Any]:
    """The ways to read what the papers leave open: ``regimes`` and ``changes``, each name -> {help, set}."""
    return load(root / REGIMES)


def facts(root: Path) -> dict[str, str]:
    """Return the facts that several claims rest on: name -> the reason, if the fact does not hold."""
    path = root / FACTS
    return load(path) if path.is_file() else {}


def at(table: Any, path: str) -> Any:
    """Return the value at ``section.key[2]``; `KeyError` when there is none."""
    for part in path.replace("[", ".[").split("."):
        try:
            table = table[int(part[1:-1])] if part.startswith("[") else table[part]
        except (LookupError, TypeError, ValueError):
            raise KeyError(path) from None
    return table


def expanded(claim: Claim, numbers: Mapping[str, Any], path: str | Path = "") -> Iterator[Claim]:
    """One claim of the file `path` for each position of what it ranges over."""
    if not claim.each:
        yield claim
        return
    where = f"{path}: claim {claim.claim!r}".removeprefix(": ")
    lists = {
        name: number_at(each, numbers, where) if isinstance(each, str) else each
        for name, each in claim.each.items()
    }
    if not all(isinstance(each, list) for each in lists.values()):
        raise Mistaken(f"{where}: `each` names lists, or places where lists are published")
    if len({len(each) for each in lists.values()}) > 1:
        raise Mistaken(f"{where}: the lists of `each` have different lengths")
    for i, values in enumerate(zip(*lists.values(), strict=True)):
        words = dict(zip(lists, values, strict=True), i=i)
        paths = claim.published
        texts: dict[str, Any] = {
            name: filled(getattr(claim, name), words, where)
            for name in ("claim", "measured", "holds", "rule", "why", "fact")
        }
        yield replace(
            claim,
            **texts,
            published=[filled(each, words, where) for each in paths]
            if isinstance(paths, list)
            else filled(paths, words, where),
            each={},
        )


def number_at(path: str, numbers: Mapping[str, Any], where: str) -> Any:
    """Return the published value at a path; `Mistaken` when there is none."""
    try:
        return at(numbers, path)
    except KeyError:
        raise Mistaken(f"{where}: nothing is published at {path}") from None


def panels(chart: Chart, rows: Sequence[Mapping[str, Any]], path: str | Path) -> Iterator[Chart]:
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
            published=[
                point for point in chart.published if words.items() <= point.get("where", words).items()
            ],
            panels=[],
        )


T = TypeVar("T")


def _list(kind: type[T], tables: Any, where: str) -> list[T]:
    if not isinstance(tables, list):
        raise Mistaken(f"{where}: is a list of tables")
    return [_make(kind, table, f"{where} {number}") for number, table in enumerate(tables, 1)]


def _make(kind: type[T], table: Any, where: str) -> T:
    if not isinstance(table, dict):
        raise Mistaken(f"{where}: is missing, or no table")
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; it knows {', '.join(known)}"
            raise Mistaken(f"{where}: unknown key `{key}`{hint}")
    hints = get_type_hints(kind)
    for name, each in known.items():
        needed = each.default is MISSING and each.default_factory is MISSING
        if needed and name not in table:
            raise Mistaken(f"{where}: `{name}` is missing")
        if name in table and not _fits(table[name], hints[name]):
            raise Mistaken(f"{where}: `{name}` is {_meant(hints[name])}, not {str(table[name])[:60]!r}")
    return kind(**table)


#: How messages call what a key holds.
KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value of a file has the type of a key; our own types have been made already."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or hint is None:
        return hint is Any or value is None
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(each, parts[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(key, parts[0]) and _fits(each, parts[1]) for key, each in value.items()
        )
    if hint in (int, float):
        # A whole number is a number; a truth value is neither.
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint)


def _meant(hint: Any) -> str:
    """Say what a key holds."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_meant(part) for part in parts if part is not type(None))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    return {list: "a list", dict: "a table"}.get(origin, KINDS.get(hint, "something else"))
