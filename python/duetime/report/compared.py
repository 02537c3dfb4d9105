"""Folders of `duetime compare` and `duetime run`: missed deadlines and completion times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from duetime import scenario, slowdown
from duetime.display.notes import stragglers
from duetime.errors import NoReport, NoResults
from duetime.frames import pl
from duetime.plots.data import Arm, Results, load, read_json
from duetime.report.model import Axis, Chart, Experiment, Mark, Place, Point, Series, Table
from duetime.statistics import BOUNDS

#: A distribution is drawn with at most so many steps of each transport.
STEPS = 150

#: Finds a part's figures in the result of a transport.
Find = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Values = Iterator[tuple[Place, Any]]
ALL = "all"

#: What a stage of a request took time for: key of the JSON object -> how it is called.
PARTS = {
    "network_percent": "messages in flight",
    "work_percent": "work",
    "waiting_percent": "waiting for a server",
}

#: Figures that no chart shows: key of the JSON contract -> how it is called.
COUNTED = {
    "drops": "packets dropped",
    "marks": "packets marked",
    "timeouts": "retransmission timeouts",
    "retransmits": "packets sent again",
    "packets_delivered": "packets delivered",
}


def read(folder: Path) -> list[Experiment]:
    """The comparison or the run in `folder` as one experiment; nothing where there is neither."""
    if not any((folder / name).exists() for name in ("run.json", "compare.json")):
        return []
    try:
        results = load(folder)
        objects = _objects(folder, results)
        record = _record(folder, objects)
        return [_experiment(results, objects, record)]
    except NoResults as error:
        raise NoReport(str(error)) from error
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise NoReport(f"{folder}: is not what `duetime compare` writes: {error!r}") from error


def _objects(folder: Path, results: Results) -> dict[str, Mapping[str, Any]]:
    """Transport -> its object of the JSON contract."""
    if (folder / "compare.json").exists():
        return dict(read_json(folder / "compare.json")["runs"])
    return {results.names[0]: results.arms[0].runs[0].about}


def _record(folder: Path, objects: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the object of all transports together; of a run, its own."""
    path = folder / "compare.json"
    return read_json(path) if path.exists() else next(iter(objects.values()))


def _experiment(
    results: Results, objects: Mapping[str, Mapping[str, Any]], record: Mapping[str, Any]
) -> Experiment:
    runs = [run for arm in results.arms for run in arm.runs]
    charts = (
        *_requests(objects),
        _missed(objects, record),
        _apart(objects, record),
        _in_time(objects),
        *_times(objects, record),
        _distribution(results),
        *_slowdowns(results),
        _goodput(objects),
    )
    return Experiment(
        id=_listed(results.names),
        title=results.title or "Untitled scenario",
        facts={
            "seeds": sorted({run.about["seed"] for run in runs if "seed" in run.about}),
            "simulated": f"{runs[0].about['simulated_s']:g} s" if "simulated_s" in runs[0].about else None,
            "runs": len(runs),
        },
        charts=tuple(chart for chart in charts if chart is not None and chart.series),
        table=_table(objects),
        notes=(
            *dict.fromkeys(str(note) for run in runs for note in run.about.get("notes", ())),
            *(line for name, each in objects.items() for line in stragglers(each, f" of {name}")),
        ),
        versions={
            "duetime": ", ".join(
                sorted({str(run.about["version"]) for run in runs if "version" in run.about})
            )
        },
        scenario=scenario.to_toml(runs[0].about.get("scenario") or {}),
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _requests(objects: Mapping[str, Mapping[str, Any]]) -> Iterator[Chart]:
    """Requests of stages: the share that reached each goal, their times, and the stages that took these."""

    def of(each: Mapping[str, Any], part: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (each["summary"].get("requests") or {}).get(part) or {}
        return found

    def chart(
        title: str, x: Axis, y: Axis, values: Callable[[Mapping[str, Any]], Values], scale: float = 1
    ) -> Chart:
        series = (Series(name, _points(values(each), scale)) for name, each in objects.items())
        return Chart(title, "bar", x, y, _some(series))

    yield chart(
        "Requests that reached the goal in time",
        Axis("goal"),
        Axis("in time", "%"),
        lambda each: ((name, goal["attainment_percent"]) for name, goal in of(each, "goals").items()),
    )
    yield chart(
        "Times of requests",
        Axis("percentile of requests"),
        Axis("time", "ms"),
        lambda each: ((word, of(each, "time_us").get(word)) for word in ("p50", "p95", "p99")),
        1e-3,
    )

    def shares(key: str) -> Callable[[Mapping[str, Any]], Values]:
        return lambda each: (
            (name, stage[key]) for name, stage in of(each, "stages").items() if _value(stage[key])
        )

    for key, word in PARTS.items():
        yield chart(f"Share of the requests' time: {word}", Axis("stage"), Axis("share", "%"), shares(key))


def _missed(objects: Mapping[str, Mapping[str, Any]], record: Mapping[str, Any]) -> Chart:
    """Per class; the last series is what any schedule misses, lines are thresholds that were asked for."""
    bound = record.get("bound") or {}
    parts = {"bound": {"summary": bound, "classes": bound.get("classes", {})}} if bound else {}
    series = (
        Series(
            transport,
            _points((name, find(each).get("missed_percent")) for name, find in _parts(objects)),
        )
        for transport, each in {**objects, **parts}.items()
    )
    limits = [limit for limit in record.get("limits") or () if limit["figure"] == "missed_percent"]
    y = Axis("missed", "%")
    return Chart("Deadlines missed", "bar", Axis("class"), y, _some(series), _thresholds(limits))


def _thresholds(limits: Iterable[Mapping[str, Any]], scale: float = 1) -> tuple[Mark, ...]:
    """A line for each condition, whatever the number of transports that it was asked of."""
    marks = {
        limit["condition"]: Mark("y", scale * limit["threshold"], limit["condition"]) for limit in limits
    }
    return tuple(marks.values())


def _apart(objects: Mapping[str, Mapping[str, Any]], record: Mapping[str, Any]) -> Chart | None:
    """Chart the differences with their intervals over seeds, from which one can tell the better one."""
    if len(next(iter(objects.values())).get("seeds", ())) < 2:
        return None
    series = (
        Series(
            transport,
            _points((name, find(each).get("missed_percent")) for name, find in _parts(objects)),
        )
        for transport, each in (record.get("differences") or {}).items()
    )
    against = record.get("against")
    y = Axis(f"missed, less what {against} misses", "points", signed=True)
    title = f"Deadlines missed, compared with {against} seed by seed"
    return Chart(title, "bar", Axis("class"), y, _some(series))


def _in_time(objects: Mapping[str, Mapping[str, Any]]) -> Chart:
    names = {"mean": "mean query", "p1": "worst 1 % of queries"}
    series = (
        Series(
            transport,
            _points(
                (word, (each["summary"].get("answers_in_time_percent") or {}).get(key))
                for key, word in names.items()
            ),
        )
        for transport, each in objects.items()
    )
    return Chart("Answers in time", "bar", Axis("query"), Axis("answers in time", "%"), _some(series))


def _times(objects: Mapping[str, Mapping[str, Any]], record: Mapping[str, Any]) -> Iterator[Chart]:
    limits = [limit for limit in record.get("limits") or () if limit["figure"].startswith("fct_us.p")]
    classes = next(iter(objects.values()))["classes"]
    for name, find in _parts(objects):
        if name == ALL:
            continue
        own = [limit for limit in limits if limit["class"] == name or len(classes) == 1]
        series = (
            Series(
                transport,
                _points(
                    ((word, (find(each).get("fct_us") or {}).get(word)) for word in ("p50", "p90", "p99")),
                    scale=1e-3,
                ),
            )
            for transport, each in objects.items()
        )
        times = [find(each).get("fct_us") or {} for each in objects.values()]
        censored = any(
            BOUNDS in part or any(BOUNDS in _or_empty(part.get(word)) for word in part) for part in times
        )
        left_out = " (without those among messages that were under way at the end)" if censored else ""
        yield Chart(
            f"Completion times of {name}{left_out}",
            "bar",
            Axis("percentile of messages"),
            Axis("completion time", "ms"),
            _some(series),
            _thresholds(own, 1e-3),
        )


def _slowdowns(results: Results) -> Iterator[Chart]:
    """By size of message: the picture of the field."""
    tables = {arm.name: slowdown.by_size(arm.counted) for arm in results.arms}
    for column, title in slowdown.SHOWN.items():
        series = (
            Series(
                name, tuple(Point(row["bytes"] / 1000, row[column]) for row in table.iter_rows(named=True))
            )
            for name, table in tables.items()
        )
        y = Axis("completion time over the least possible")
        yield Chart(f"Slowdown by size, {title}", "line", Axis("message size", "KB"), y, _some(series))


def _goodput(objects: Mapping[str, Mapping[str, Any]]) -> Chart:
    names = {"goodput_mbps": "all", "goodput_in_time_mbps": "in time"}
    series = (
        Series(transport, _points((word, each["summary"].get(key)) for key, word in names.items()))
        for transport, each in objects.items()
    )
    return Chart("Goodput", "bar", Axis("payload"), Axis("goodput", "Mbit/s"), _some(series))


def _distribution(results: Results) -> Chart:
    """Exact steps: at every place that is shown the share is that of the messages, not of a grid."""
    used = {arm.name: _used(arm) for arm in results.arms}
    places = sorted({float(place) for times, _ in used.values() for place in _steps(times)})
    series = (
        Series(
            name,
            tuple(
                Point(place, 100 * float(np.searchsorted(times, place, side="right")) / decided)
                for place in (places if decided else ())
            ),
        )
        for name, (times, decided) in used.items()
    )
    return Chart(
        "Completion time over allowed time",
        "step",
        Axis("completion time over deadline", "%"),
        Axis("messages that took at most this", "%"),
        _some(series),
        (Mark("x", 100, "deadline"),),
    )


def _steps(times: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return where a distribution steps; of many steps some, evenly, and both ends. It begins at 0."""
    if len(times) == 0:
        return times
    kept = times[np.unique(np.linspace(0, len(times) - 1, STEPS).astype(int))]
    return np.concatenate([np.nextafter(kept[:1], 0), kept])


def _used(arm: Arm) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
    """Completion times over deadlines in percent, sorted, of all seeds; and of how many messages they are.

    What never finished is part of the whole.
    """
    decided = arm.counted.filter(pl.col("missed").is_not_null())
    return (100 * decided["fct_us"] / decided["deadline_us"]).drop_nulls().sort().to_numpy(), decided.height


def _table(objects: Mapping[str, Mapping[str, Any]]) -> Table:
    return Table(
        ("", *objects),
        tuple((word, *(_value(each.get(key)) for each in objects.values())) for key, word in COUNTED.items()),
    )


def _parts(objects: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Find]]:
    """All together where there are several, every class, every set: its name, and how it is found."""
    first = next(iter(objects.values()))
    classes, sets = first["classes"], first.get("sets") or {}
    if len(classes) != 1 or sets:
        yield ALL, lambda each: each["summary"]
    for name in classes:
        yield f"class {name}" if name == ALL else name, _named("classes", name)
    for name in sets:
        yield f"set {name}", _named("sets", name)


def _named(kind: str, name: str) -> Find:
    return lambda each: (each.get(kind) or {}).get(name) or {}


def _points(values: Iterator[tuple[Place, Any]], scale: float = 1) -> tuple[Point, ...]:
    """A point for every value that is there: a number, or a mean with its interval."""
    points = []
    for place, value in values:
        low, high = value["ci95"] if isinstance(value, dict) else (None, None)
        mean = _value(value)
        if mean is not None:
            points.append(
                Point(
                    place,
                    mean * scale,
                    None if low is None else low * scale,
                    None if high is None else high * scale,
                )
            )
    return tuple(points)


def _or_empty(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _value(value: Any) -> Any:
    return value["mean"] if isinstance(value, dict) else value


def _some(series: Iterator[Series]) -> tuple[Series, ...]:
    return tuple(one for one in series if one.points)
