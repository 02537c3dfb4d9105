"""Folders of `duetime sweep`: missed deadlines, completion times and goodput over each axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from duetime import manifest
from duetime.contract import reading
from duetime.contract.comparisons import Sweep
from duetime.errors import NoReport, Unreadable
from duetime.frames import pl
from duetime.quantities import Quantity
from duetime.report.model import Axis, Chart, Experiment, Place, Point, Series
from duetime.statistics import BOUNDS, of_figure

#: Column of the table -> what it is, and the factor to the unit it is shown in.
METRICS = {
    "requests_all_goals_percent": (Axis("requests that reached all goals in time", "%"), 1.0),
    "requests_time_p99_us": (Axis("time of a request, 99th percentile", "ms"), 1e-3),
    "missed_percent": (Axis("deadlines missed", "%"), 1.0),
    "fct_us_p99": (Axis("completion time, 99th percentile", "ms"), 1e-3),
    "goodput_mbps": (Axis("goodput", "Mbit/s"), 1.0),
}
#: Unit -> what it measures, and how much of it.
SCALES = {
    **{unit: ("size", 1000.0**power) for power, unit in enumerate(("B", "KB", "MB", "GB"))},
    **{unit: ("size", 1024.0**power) for power, unit in enumerate(("KiB", "MiB", "GiB"), 1)},
    **{unit: ("time", 1000.0**-power) for power, unit in enumerate(("s", "ms", "us", "ns"))},
    **{unit: ("rate", 1000.0**power) for power, unit in enumerate(("bps", "Kbps", "Mbps", "Gbps", "Tbps"))},
    "packets": ("packets", 1.0),
    "packet": ("packets", 1.0),
}
#: Up to so many settings of the other axes have a chart each; beyond, all points share one.
PANELS = 12


def read(folder: Path) -> list[Experiment]:
    """The sweep in `folder` as one experiment; nothing where there is none."""
    if not (folder / "sweep.json").exists():
        return []
    try:
        record = reading.sweep(manifest.content(folder / "sweep.json"))
        return [_experiment(record, manifest.table(folder / "sweep.parquet"))]
    except (OSError, AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise NoReport(f"{folder}: is not what `duetime sweep` writes: {error!r}") from error


def _experiment(record: Sweep, runs: pl.DataFrame) -> Experiment:
    axes = [str(axis) for axis in record["axes"]]
    failures = record["failures"]
    reasons = dict.fromkeys(str(failure["error"]) for failure in failures)
    return Experiment(
        id=", ".join(axes),
        title=str(record["title"]),
        facts={
            "scenario": record["scenario"],
            "seeds": record["seeds"],
            "runs": record["runs"],
            "failed": len(failures) or None,
        },
        charts=tuple(_charts(axes, runs)),
        notes=tuple(f"Failed: {reason}" for reason in reasons),
        parameters={
            str(change).partition("=")[0]: str(change).partition("=")[2] for change in record["shared"]
        },
        versions={"duetime": record["version"]},
    )


def _charts(axes: Sequence[str], runs: pl.DataFrame) -> Iterator[Chart]:
    """For each figure a chart over the axis of most values, for each setting of the others."""
    for metric, (y, factor) in METRICS.items():
        if metric not in runs.columns or runs[metric].null_count() == runs.height:
            continue
        known = _complete(runs, axes, metric).with_columns(pl.col(metric) * factor)
        if not known.height:
            continue
        main = max(axes, key=lambda axis: known[axis].n_unique())
        others = [axis for axis in axes if axis != main and not _follows(axis, main, known)]
        settings = known.select(others).unique(maintain_order=True).rows() if others else [()]
        # No two points share a place on any axis: a random sample.
        sampled = len(axes) > 1 and PANELS < known[main].n_unique() == known["point"].n_unique()
        if len(settings) <= PANELS and not sampled:
            for setting in settings:
                named = dict(zip(others, setting, strict=True))
                part = known.filter(*(pl.col(axis) == value for axis, value in named.items()))
                title = ", ".join(f"{axis} = {value}" for axis, value in named.items())
                yield _chart(_title(y, title), "line", main, y, metric, part)
        else:
            for axis in axes:
                yield _chart(_title(y, f"all points, by {axis}"), "points", axis, y, metric, known, "point")


def _complete(runs: pl.DataFrame, axes: Sequence[str], metric: str) -> pl.DataFrame:
    """Return the rows that have the figure, without points at which some seeds only have a lower bound."""
    name, _, unit = metric.rpartition("_")
    bound = f"{name}_{BOUNDS}_{unit}"
    if bound in runs.columns:
        runs = runs.filter(pl.col(bound).is_null().all().over(*axes, "transport"))
    return runs.filter(pl.col(metric).is_not_null())


def _follows(axis: str, main: str, runs: pl.DataFrame) -> bool:
    """Return whether an axis changes only together with the main one."""
    return runs.select(main, axis).unique().height == runs[main].n_unique()


def _title(y: Axis, setting: str) -> str:
    title = y.label[0].upper() + y.label[1:]
    return f"{title}: {setting}" if setting else title


def _chart(
    title: str,
    kind: Literal["line", "points"],
    axis: str,
    y: Axis,
    metric: str,
    runs: pl.DataFrame,
    *apart: str,
) -> Chart:
    """One series per transport; of equal places (and equal `apart`) the mean over the seeds."""
    series = []
    unit, runs = _in_numbers(axis, runs)
    for (transport,), part in runs.group_by("transport", maintain_order=True):
        series.append(Series(str(transport), _points(part, axis, metric, apart)))
    least = f"bound_{metric}"
    if least in runs.columns:
        # The same messages under every transport, but the counted ones may end with the run: the lowest
        # holds.
        known = runs.filter(pl.col(least).is_not_null())
        lowest = known.group_by(axis, *apart, "seed", maintain_order=True).agg(pl.col(least).min())
        series.append(Series("bound", _points(lowest, axis, least, apart)))
    return Chart(title, kind, Axis(axis, unit), y, tuple(series))


def _in_numbers(axis: str, runs: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """Quantities ("50 KB", "1.5 ms") are numbers along an axis, in the unit that most of them have."""
    values = runs[axis].to_list()
    try:
        found = [Quantity.of(value, axis) for value in values]
    except Unreadable:
        return "", runs
    units = [each.unit for each in found]
    if not any(units):
        return "", runs
    unit = max(dict.fromkeys(units), key=units.count)
    if any(each not in SCALES or SCALES[each][0] != SCALES.get(unit, ("",))[0] for each in units):
        return "", runs
    numbers = [each.number * SCALES[each.unit][1] / SCALES[unit][1] for each in found]
    return unit, runs.with_columns(pl.Series(axis, numbers, dtype=pl.Float64))


def _points(runs: pl.DataFrame, axis: str, metric: str, apart: Sequence[str]) -> tuple[Point, ...]:
    groups = runs.group_by(axis, *apart, maintain_order=True)
    return _ordered([_point(_place(key[0]), metric, group[metric].to_list()) for key, group in groups])


def _point(place: Place, metric: str, values: Sequence[float]) -> Point:
    found = of_figure(metric, values)
    if found is None:
        raise ValueError(f"no value at {place}")
    low, high = found["ci95"]
    return Point(place, found["mean"], low, high)


def _place(value: object) -> Place:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _ordered(points: Sequence[Point]) -> tuple[Point, ...]:
    """Numbers in their order, words as the sweep has them."""
    if any(isinstance(point.x, str) for point in points):
        return tuple(points)
    return tuple(sorted(points, key=lambda point: point.x))
