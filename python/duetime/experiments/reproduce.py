"""Run an experiment, judge its claims, and write the result with its figures."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import tomli_w

from duetime import _core, costs, files, scenario
from duetime.contract import reading as contents
from duetime.contract.rows import Cell, Row
from duetime.display import claims as display
from duetime.display import grid
from duetime.errors import Missing, Mistaken
from duetime.experiments import experiment as reading
from duetime.experiments.claims import finding, judge
from duetime.experiments.experiment import Chart, Coordinate, Experiment, Numbers, Point, number_at, panels
from duetime.experiments.measures import MEASURES, WITHOUT_SEEDS, measure
from duetime.experiments.study import BOUND, Study
from duetime.experiments.texts import filled, places
from duetime.output import SCREEN, Output
from duetime.quantities import counted
from duetime.robustness import Variant
from duetime.robustness import variants as variants_of
from duetime.run import check

if TYPE_CHECKING:
    from duetime.contract import experiments as contract
    from duetime.contract.scenarios import Resolved, Transport

#: The libraries, besides our own version, that a result depends on.
LIBRARIES = ("numpy", "polars", "matplotlib")


@dataclass(frozen=True, repr=False)
class Reproduction:
    """The result of an experiment: the object of ``result.json``, and runs that failed."""

    data: contract.Reproduction
    failed: list[str]

    def __repr__(self) -> str:
        """Say which experiment it was."""
        claims, failed = len(self.data["claims"]), len(self.failed)
        came = f"{counted(claims, 'claim')}; {counted(failed, 'run')} failed"
        return f"<Reproduction of {self.data['id']!r}: {came}>"

    def _repr_html_(self) -> str:
        """Show the table of ``duetime reproduce`` in a notebook."""
        return grid.html(*display.table(self.data))


def reproduce(
    experiment: Experiment,
    *,
    scale: str,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path,
    set: Sequence[str] = (),
    variants: int = 0,
    cut: str = "",
    allowed: costs.Limit | None = None,
    output: Output = SCREEN,
    progress: bool = True,
) -> Reproduction:
    """Run `experiment` and write ``out/NAME``; runs are kept in ``out/points`` and never made twice.

    `set` changes every run, after the experiment's own settings. With `variants` its claims are judged anew
    in this number of variants of the settings that its scenario leaves open (`duetime.robustness`). The
    variants have one seed and the axes that the experiment names under ``robust``. With `cut`, a time as
    ``"5 ms"``, every run is cut to that, at the first and the last place of the grid alone. There are no
    pictures, which are otherwise drawn as `output` says. This shows that it starts, and nothing of claims.
    Raises `errors.TooLarge` for runs that need more memory than is `allowed`.
    """
    folder = out / experiment.name
    files.check(folder)
    numbers = reading.published(experiment.root)
    prepared = [
        prepare(experiment, regime=regime, scale=scale, seeds=seeds, jobs=jobs, out=out, set=set, cut=cut)
        for regime in experiment.regimes
    ]
    study, resolved = prepared[0]
    studies = [each for each, _ in prepared]
    for each in studies:
        each.progress = progress
    for each in studies:
        _afford(each, allowed)
    varied = _varied(experiment, study, resolved, variants)
    # Each with the total number of runs.
    for _, each in (*varied[:1], *varied[-1:]):
        _afford(each, allowed, len(varied))
    rows = _rows(experiment, studies)
    failed = list(dict.fromkeys(what for each in studies for what in each.failed))
    notes = [*experiment.notes, *(f"failed: {each}" for each in failed)]
    if set:
        notes.append(f"changed, so that claims are of another run: {', '.join(set)}")
    if cut:
        notes.append(f"every run was cut to {cut}: claims show nothing")
    real = _real(experiment, folder)
    if real is not None:
        rows = [{"network": "simulated", **row} for row in rows]
        rows += [{"network": "real", **row} for row in real["rows"]]
        notes += real.get("notes", [])
    rows = [_with_columns(row, experiment) for row in rows]
    charts = charts_of(experiment, rows, numbers)
    data: contract.Reproduction = {
        "version": _core.version(),
        "id": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "question": experiment.question,
        "scale": scale,
        "seeds": study.seeds,
        "regime": regimes_of(experiment),
        "scenario": study.scenario.read_text(encoding="utf-8"),
        "parameters": _parameters(study, resolved),
        "versions": {"duetime": _core.version(), "python": platform.python_version()}
        | {name: version_of(name) for name in LIBRARIES if find_spec(name) is not None},
        "runs": len({point for each in studies for point in each.made}) + sum(map(_searched, rows)),
        "charts": [written(chart) for chart in charts],
        "rows": rows,
        "published": {
            section: number_at(section, numbers, str(experiment.path)) for section in experiment.published
        },
        "finding": finding(experiment, rows),
        "claims": judge(experiment, rows, resolved, numbers, _without_seeds(experiment, studies)),
        "notes": notes,
    }
    if variants:
        data["robust"] = _robust(experiment, varied, resolved, data["claims"])
    _save(folder, data, [] if cut else charts, rows, output)
    return Reproduction(data, failed)


def _searched(row: Row) -> int:
    """Return the runs of a search behind a row."""
    levels, runs = row.get("levels"), row.get("runs")
    return levels * runs if isinstance(levels, int) and isinstance(runs, int) else 0


def regimes_of(experiment: Experiment) -> str:
    """Return the experiment's regimes, in words."""
    return "; beside it ".join(
        f"{regime}: {_regime(experiment, regime)['help']}" for regime in experiment.regimes
    )


def charts_of(experiment: Experiment, rows: Sequence[Row], numbers: Numbers) -> list[Chart]:
    """Return the charts with the published numbers in them; the rows decide about their panels."""
    return [
        part
        for chart in experiment.charts
        for part in panels(_resolved(chart, numbers, experiment), rows, experiment.path)
    ]


def prepare(
    experiment: Experiment,
    *,
    scale: str,
    seeds: int | None,
    jobs: int | None,
    out: Path,
    regime: str | None = None,
    set: Sequence[str] = (),
    cut: str = "",
) -> tuple[Study, Resolved]:
    """Check every run before the first is made; give the first scenario with all defaults.

    In the experiment's own regime unless another one is named.
    """
    study = _study(experiment, regime or experiment.regime, scale, seeds, jobs, out)
    study.given, study.cut = tuple(set), cut
    return study, _check(study)


def parameters_of(experiment: Experiment, scale: str, out: Path) -> tuple[str, contract.Parameters]:
    """Return the text of an experiment's scenario, and the parameters of its runs in its own regime."""
    study = _study(experiment, experiment.regime, scale, 1, 1, out)
    point = study.point(study.cells()[0], study.transports[0], study.seeds[0])
    resolved, _ = check(study.scenario, set=list(point.overrides), transport=point.transport)
    return study.scenario.read_text(encoding="utf-8"), _parameters(study, resolved)


def scenario_of(study: Study, transport: str | None = None) -> str:
    """Write a run of a study as a scenario of its own, every default filled in.

    It is that of the last cell, under `transport` (default: the last one) and the first seed. The header says
    which others there are.
    """
    names = study.transports
    if transport is not None and transport not in names:
        raise Mistaken(f"{study.experiment.name} has no transport {transport}; it has {', '.join(names)}")
    name, cells = transport or names[-1], study.cells()
    point = study.point(cells[-1], name, study.seeds[0])
    resolved, _ = check(study.scenario, set=list(point.overrides), transport=point.transport, seed=point.seed)
    lines = [
        f"{study.experiment.name}: {study.experiment.title}",
        f"Regime {study.experiment.regime}; transport {name} of {', '.join(names)}; seed {point.seed} of "
        f"{study.seeds[0]} to {study.seeds[-1]}.",
    ]
    if cells[-1].labels:
        here = ", ".join(f"{column} = {value}" for column, value in cells[-1].labels.items())
        lines.append(f"One of {len(cells)} cells: {here}.")
    if point.overrides:
        lines.append(f"{study.scenario.name} with: {', '.join(point.overrides)}")
    header = "".join(f"# {line}\n" for line in lines)
    return header + scenario.to_toml(resolved)


def _varied(
    experiment: Experiment, study: Study, resolved: Resolved, many: int
) -> list[tuple[Variant, Study]]:
    """Return variants of what the scenario leaves open, each with its study of one seed; none for 0."""
    first = study.point(study.cells()[0], study.transports[0], study.seeds[0])

    def accepted(changes: Sequence[str]) -> bool:
        try:
            found, _ = check(study.scenario, set=[*first.overrides, *changes], transport=first.transport)
        except _core.ScenarioError:
            return False
        return found != resolved

    chosen = variants_of(resolved, accepted, many + 1)[1:] if many else []
    return [
        (
            variant,
            replace(
                study,
                size=replace(study.size, axes=study.size.axes | experiment.robust),
                seeds=[variant.seed(study.seeds[0])],
                given=(*study.given, *variant.changes),
                made=set(),
                failed=[],
            ),
        )
        for variant in chosen
    ]


def _robust(
    experiment: Experiment,
    varied: Sequence[tuple[Variant, Study]],
    resolved: Resolved,
    claims: Sequence[contract.Claim],
) -> contract.Robust:
    """Judge the claims in variants of what the scenario leaves open."""
    # A second regime would make variants of variants.
    alone = replace(experiment, beside="")
    numbers = reading.published(experiment.root)
    chosen = [variant for variant, _ in varied]
    held: list[list[bool | None]] = []
    for _, each in varied:
        rows = [_with_columns(row, experiment) for row in _rows(alone, [each])]
        held.append([claim["holds"] for claim in judge(alone, rows, resolved, numbers)])
    return {
        "variants": [variant.words for variant in chosen],
        "claims": [
            {
                "claim": claim["claim"],
                "as_written": claim["holds"],
                "held": [each[i] for each in held].count(True),
                "of": sum(each[i] is not None for each in held),
                "where": [v.words for v, each in zip(chosen, held, strict=True) if each[i]],
                "where_not": [v.words for v, each in zip(chosen, held, strict=True) if each[i] is False],
            }
            for i, claim in enumerate(claims)
        ],
    }


def _study(
    experiment: Experiment, regime: str, scale: str, seeds: int | None, jobs: int | None, out: Path
) -> Study:
    size = experiment.scales[scale]
    path = scenario_path(experiment, out / "scenarios")
    changes = (*_regime(experiment, regime)["set"], *experiment.set, *size.set)
    first = int(check(path, set=list(changes))[0]["run"]["seed"])
    many = seeds or size.seeds
    study = Study(
        experiment,
        size,
        seeds=[],
        scenario=path,
        transports=list(experiment.transports),
        changes=changes,
        store=out / "points",
        jobs=jobs,
    )
    study.check_size(many)
    study.seeds = list(range(first, first + many))
    return study


def _regime(experiment: Experiment, name: str) -> contract.Regime:
    return reading.regimes(experiment.root)["regimes"][name]


def _measures(experiment: Experiment) -> list[Callable[[Study], list[Row]]]:
    for name in experiment.measures:
        if name not in MEASURES:
            known = ", ".join(MEASURES)
            raise Mistaken(f"{experiment.path}: no measure is called {name}; there are {known}")
    return [measure(name) for name in experiment.measures]


def scenario_path(experiment: Experiment, folder: Path) -> Path:
    """Return the scenario's file; a scenario written in the experiment itself is written into `folder`."""
    if isinstance(experiment.scenario, str):
        return (experiment.path.parent / experiment.scenario).resolve()
    path = folder / f"{experiment.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = tomli_w.dumps(experiment.scenario)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


def _check(study: Study) -> Resolved:
    """See that every cell is a valid scenario before the first run; give the first one with all defaults."""
    found: list[Resolved] = []
    for cell in study.cells():
        for transport in study.transports:
            point = study.point(cell, transport, study.seeds[0])
            resolved, _ = check(study.scenario, set=list(point.overrides), transport=point.transport)
            found.append(resolved)
    return found[0]


def _afford(study: Study, allowed: costs.Limit | None, studies: int = 1) -> None:
    """Refuse grids, each of the cost of this one, whose first or last cell needs too much memory."""
    cells = study.cells()
    runs = studies * len(cells) * len(study.transports) * len(study.seeds)
    for transport in study.transports:
        ends = [study.point(cell, transport, study.seeds[0]) for cell in (cells[0], cells[-1])]
        costs.afford_points(ends, allowed, runs=runs, jobs=study.jobs)


def _parameters(study: Study, resolved: Resolved) -> contract.Parameters:
    """Return the parameters of the runs: all keys of the first cell, and each transport's own."""
    cell = study.cells()[0]
    transports: dict[str, Transport] = {}
    for transport in study.transports:
        point = study.point(cell, transport, study.seeds[0])
        checked, _ = check(study.scenario, set=list(point.overrides), transport=point.transport)
        transports[transport] = checked["transport"]
    return {
        "run": resolved["run"],
        "network": resolved["network"],
        "traffic": resolved["traffic"],
        "transports": transports,
        "changes": list(study.changes),
    }


def _without_seeds(experiment: Experiment, studies: Sequence[Study]) -> list[list[Row]]:
    """Return the rows without each of the seeds in turn, where that takes no further runs."""
    seeds = studies[0].seeds
    if len(seeds) < 2 or experiment.real or not set(experiment.measures) <= WITHOUT_SEEDS:
        return []
    rows = [_rows(experiment, [study.without(seed) for study in studies]) for seed in seeds]
    return [[_with_columns(row, experiment) for row in each] for each in rows]


def _rows(experiment: Experiment, studies: Sequence[Study]) -> list[Row]:
    """Return the rows of the experiment's measures in each of its regimes; a lone one is not named."""
    return [
        {"regime": regime, **row} if experiment.beside else row
        for regime, study in zip(experiment.regimes, studies, strict=True)
        for measure in _measures(experiment)
        for row in measure(study)
    ]


def _real(experiment: Experiment, folder: Path) -> contract.Real | None:
    """Return rows from a real network: measured on this machine, or else shipped with the experiment."""
    if not experiment.real:
        return None
    for path in (folder.with_name(f"{folder.name}.real.json"), experiment.path.parent / experiment.real):
        if path.is_file():
            return contents.real(path.read_text(encoding="utf-8"))
    return {"rows": []}


def _with_columns(row: Row, experiment: Experiment) -> Row:
    """Put the columns together for which a row has all the parts."""
    columns = experiment.columns
    if row["transport"] == BOUND:
        return {**row, **dict.fromkeys(columns, BOUND)}
    where = f"{experiment.path}: [columns]"
    parts = {name: {*places(text, where)} for name, text in columns.items()}
    made = {name: filled(text, row, where) for name, text in columns.items() if parts[name] <= row.keys()}
    return {**row, **made}


def _resolved(chart: Chart, numbers: Numbers, experiment: Experiment) -> Chart:
    """Put in published numbers where the file names them."""
    where = f"{experiment.path}: chart {chart.title!r}"
    points = []
    for point in chart.published:
        x, y = (_values(value, numbers, where) for value in (point.x, point.y))
        if not isinstance(y, list):
            points.append(replace(point, x=x, y=y))
        elif not isinstance(x, list) or len(x) != len(y):
            raise Mistaken(f"{where}: as many x as y are published, not {str(x)[:60]!r} of {str(y)[:60]!r}")
        else:
            points += [replace(point, x=one, y=other) for one, other in zip(x, y, strict=True)]
    return replace(chart, published=points)


def _values(given: Cell | list[Cell], numbers: Numbers, where: str) -> Cell | list[Cell]:
    """Return a published value, or several: as they are, or the ones that are published at a path."""
    if not isinstance(given, str) or "." not in given:
        return given
    found = number_at(given, numbers, where)
    if found is None or isinstance(found, bool | int | float | str):
        return found
    if isinstance(found, list) and all(isinstance(each, bool | int | float | str) for each in found):
        return found
    raise Mistaken(f"{where}: {given} is no value that a chart can show")


def written(chart: Chart) -> contract.Chart:
    """Return a chart as it is in ``result.json``."""
    return {
        "title": chart.title,
        "kind": chart.kind,
        "x": _axis(chart.x),
        "y": _axis(chart.y),
        "series": {"column": chart.series},
        "where": chart.where,
        "published": [_point(point) for point in chart.published],
    }


class _Range(TypedDict, total=False):
    label: str
    unit: str
    low: str
    high: str


class _Limit(TypedDict, total=False):
    limit: float


def _axis(axis: Coordinate) -> contract.Axis:
    """Return an axis without the keys that have no value."""
    words: _Range = {}
    if axis.label:
        words["label"] = axis.label
    if axis.unit:
        words["unit"] = axis.unit
    if axis.low:
        words["low"] = axis.low
    if axis.high:
        words["high"] = axis.high
    limit: _Limit = {} if axis.limit is None else {"limit": axis.limit}
    return {"column": axis.column, **words, "log": axis.log, **limit, "begin": axis.begin}


def _point(point: Point) -> contract.Stated:
    assert not isinstance(point.x, list)
    assert not isinstance(point.y, list)
    found: contract.Stated = {"series": point.series, "x": point.x, "y": point.y, "label": point.label}
    if point.bound is not None:
        found["bound"] = point.bound
    return found


def _save(
    folder: Path, data: contract.Reproduction, charts: Sequence[Chart], rows: Sequence[Row], output: Output
) -> None:
    """Write the result, its table and its figures; the latter two only where their libraries are there."""
    with files.replacing(folder) as aside:
        with suppress(Missing):
            from duetime.frames import pl

            table = files.table(pl.DataFrame(rows, infer_schema_length=None))
            (aside / "rows.parquet").write_bytes(table)
        with suppress(Missing):
            _draw(aside, data, charts, rows, output)
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        (aside / "result.json").write_text(text, encoding="utf-8")


def _draw(
    folder: Path, data: contract.Reproduction, charts: Sequence[Chart], rows: Sequence[Row], output: Output
) -> None:
    # Loaded late: matplotlib is slow to load. Without it the first of these raises `Missing`.
    from duetime import plots
    from duetime.experiments import figures

    runs = max((runs for row in rows if isinstance(runs := row.get("runs", 1), int)), default=1)
    what = data["source"] + (f"; mean and 95 % interval over {runs} runs each" if runs > 1 else "")
    for number in sorted({chart.figure for chart in charts}):
        some = [chart for chart in charts if chart.figure == number]
        title = data["title"] if len(some) > 1 else some[0].title
        with plots.style.context(output):
            figure = figures.draw(some, rows, title, what)
            plots.write(figure, folder / ("figure" if number == 1 else f"figure-{number}"))
