"""Folders of `duetime compare` and `duetime run`: missed deadlines and completion times."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from duetime import scenario, slowdown
from duetime.contract.comparisons import OfPair, Verdict
from duetime.contract.figures import at
from duetime.contract.rows import Cell
from duetime.contract.runs import Figure, Judged, Limits, OfTransport, Requests, Seeds
from duetime.display.figures import as_plain, known, written
from duetime.display.notes import stragglers
from duetime.errors import NoReport, NoResults
from duetime.frames import pl
from duetime.plots import ports, style, timeline
from duetime.plots.data import Arm, Results, comparison, load
from duetime.report.model import Axis, Chart, Experiment, Mark, Picture, Place, Point, Series, Table
from duetime.statistics import BOUNDS

#: A distribution is drawn with at most so many steps of each transport.
STEPS = 150


#: The requests of stages of a run, without or with seeds.
AnyRequests = Requests[int, float] | Requests[Seeds, Seeds]
#: The values of one transport's bars, by place.
Values = Sequence[tuple[Place, Figure]]


@dataclass(frozen=True, slots=True)
class Compared:
    """The objects of a comparison, or of a run as a comparison of one."""

    #: Transport -> its object, without or with seeds.
    objects: Mapping[str, OfTransport]
    bound: Limits[int, float] | Limits[Seeds, Seeds] | None
    limits: Sequence[Judged]
    against: str | None = None
    differences: Mapping[str, OfPair] = field(default_factory=dict)
    verdicts: Sequence[Verdict] = ()


#: Where a part's figures are in an object of a transport.
Within = tuple[str, ...]
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
    "trims": "packets trimmed",
    "marks": "packets marked",
    "timeouts": "retransmission timeouts",
    "retransmits": "retransmissions",
    "packets_delivered": "packets delivered",
}


def read(folder: Path) -> list[Experiment]:
    """The comparison or the run in `folder` as one experiment; nothing where there is neither."""
    if not any((folder / name).exists() for name in ("run.json", "compare.json")):
        return []
    try:
        results = load(folder)
        return [_experiment(results, _compared(folder, results))]
    except NoResults as error:
        raise NoReport(str(error)) from error
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise NoReport(f"{folder}: is not what `duetime compare` writes: {error!r}") from error


def _compared(folder: Path, results: Results) -> Compared:
    if not (folder / "compare.json").exists():
        about = results.arms[0].runs[0].about
        return Compared({results.names[0]: about}, about.get("bound"), about.get("limits") or ())
    record = comparison(folder)
    return Compared(
        record["runs"],
        record.get("bound"),
        record.get("limits") or (),
        record.get("against"),
        record.get("differences") or {},
        record.get("verdicts") or (),
    )


def _experiment(results: Results, compared: Compared) -> Experiment:
    runs = [run for arm in results.arms for run in arm.runs]
    charts = (
        *_requests(compared.objects),
        *_late(results),
        _missed(compared),
        _apart(compared),
        _in_time(compared.objects),
        *_times(compared),
        *_cdfs(results),
        _distribution(results),
        *_slowdowns(results),
        *_queues(results),
        _goodput(compared.objects),
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
        verdicts=tuple(each["sentence"] for each in compared.verdicts),
        pictures=tuple(_pictures(results)),
        table=_table(compared.objects),
        notes=(
            *dict.fromkeys(str(note) for run in runs for note in run.about.get("notes", ())),
            *(line for name, each in compared.objects.items() for line in stragglers(each, f" of {name}")),
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


def _requests(objects: Mapping[str, OfTransport]) -> Iterator[Chart]:
    """Requests of stages: the share that reached each goal, their times, and the stages that took these."""
    found = {
        name: each["summary"]["requests"] for name, each in objects.items() if "requests" in each["summary"]
    }

    def chart(title: str, x: Axis, y: Axis, values: Mapping[str, Values], scale: float = 1) -> Chart:
        series = (Series(name, _points(of_transport, scale)) for name, of_transport in values.items())
        return Chart(title, "bar", x, y, _some(series))

    def attained(requests: AnyRequests) -> Values:
        return [(goal, each["attainment_percent"]) for goal, each in requests["goals"].items()]

    def times(requests: AnyRequests) -> Values:
        return [(word, at(requests["time_us"], [word])) for word in ("p50", "p95", "p99")]

    def shares(requests: AnyRequests, key: str) -> Values:
        parts = ((name, at(stage, [key])) for name, stage in requests["stages"].items())
        return [(name, part) for name, part in parts if _value(part)]

    title, goal, in_time = "Requests that reached the goal in time", Axis("goal"), Axis("in time", "%")
    yield chart(title, goal, in_time, {name: attained(each) for name, each in found.items()})
    title, percentile, time = "Times of requests", Axis("percentile of requests"), Axis("time", "ms")
    yield chart(title, percentile, time, {name: times(each) for name, each in found.items()}, 1e-3)
    for key, word in PARTS.items():
        title, values = f"Share of the requests' time: {word}", {n: shares(r, key) for n, r in found.items()}
        yield chart(title, Axis("stage"), Axis("share", "%"), values)


def _late(results: Results) -> Iterator[Chart]:
    """Chart the stages that made requests late: the stage of the longest piece of each."""
    series = (Series(arm.name, tuple(_late_by_stage(arm))) for arm in results.arms)
    title = "Late requests by the stage that took them longest"
    yield Chart(title, "bar", Axis("stage"), Axis("share of all requests", "%"), _some(series))


def _late_by_stage(arm: Arm) -> Iterator[Point]:
    """Yield a point for each stage of late requests that ended, in percent of all that count."""
    tables = [run.requests.filter("counted") for run in arm.runs if run.requests.height]
    if not tables:
        return
    requests = pl.concat(tables, how="diagonal")
    goals = [~pl.col(name) for name in requests.columns if name.startswith("goal:")]
    late = requests.filter(pl.any_horizontal(pl.col("missed"), *goals))
    shares = late.drop_nulls("longest_stage").group_by("longest_stage", maintain_order=True).len()
    for stage, number in shares.sort("len", descending=True, maintain_order=True).iter_rows():
        yield Point(stage, 100 * number / requests.height)


def _pictures(results: Results) -> Iterator[Picture]:
    """Yield the timeline of a request and of the slowest ones, where pieces of requests were kept."""
    with style.context():
        figure = timeline.draw(results)
        if figure is None:
            return
        style.settle(figure)
        drawn = io.BytesIO()
        # No date: the same results give the same page.
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    yield Picture(
        "A request of median time, and the slowest",
        "Above is one request, each host a row: its messages and works by stage, with a dark edge on the "
        "critical path, and the slack that was left. Below are the critical paths of the slowest requests.",
        drawn.getvalue(),
    )


def _missed(compared: Compared) -> Chart:
    """Per class; the last series is what any schedule misses, lines are thresholds that were asked for."""
    bound = compared.bound
    parts = {"bound": {"summary": bound, "classes": bound.get("classes", {})}} if bound else {}
    shown: dict[str, Mapping[str, object]] = {**compared.objects, **parts}
    series = (
        Series(
            transport,
            _points((name, at(each, (*within, "missed_percent"))) for name, within in _parts(compared)),
        )
        for transport, each in shown.items()
    )
    limits = [limit for limit in compared.limits if limit["figure"] == "missed_percent"]
    y = Axis("missed", "%")
    return Chart("Deadlines missed", "bar", Axis("class"), y, _some(series), _thresholds(limits))


def _thresholds(limits: Iterable[Judged], scale: float = 1) -> tuple[Mark, ...]:
    """A line for each condition, whatever the number of transports that it was asked of."""
    marks = {
        limit["condition"]: Mark("y", scale * limit["threshold"], limit["condition"]) for limit in limits
    }
    return tuple(marks.values())


def _apart(compared: Compared) -> Chart | None:
    """Chart the differences with their intervals over seeds, from which one can tell the better one."""
    if len(next(iter(compared.objects.values())).get("seeds", ())) < 2:
        return None
    series = (
        Series(
            transport,
            _points((name, at(each, (*within, "missed_percent"))) for name, within in _parts(compared)),
        )
        for transport, each in compared.differences.items()
    )
    y = Axis(f"difference from {compared.against}", "percentage points", signed=True)
    title = f"Miss rate: difference from {compared.against}, paired by seed"
    return Chart(title, "bar", Axis("class"), y, _some(series))


def _in_time(objects: Mapping[str, OfTransport]) -> Chart:
    names = {"mean": "mean query", "p1": "worst 1 % of queries"}
    series = (
        Series(
            transport,
            _points(
                (word, at(each, ("summary", "answers_in_time_percent", key))) for key, word in names.items()
            ),
        )
        for transport, each in objects.items()
    )
    return Chart("Answers in time", "bar", Axis("query"), Axis("answers in time", "%"), _some(series))


def _times(compared: Compared) -> Iterator[Chart]:
    objects = compared.objects
    limits = [limit for limit in compared.limits if limit["figure"].startswith("fct_us.p")]
    classes = next(iter(objects.values()))["classes"]
    for name, within in _parts(compared):
        if name == ALL:
            continue
        own = [limit for limit in limits if limit["class"] == name or len(classes) == 1]
        times = {transport: _group(each, (*within, "fct_us")) for transport, each in objects.items()}
        series = (
            Series(
                transport,
                _points(((word, at(part, (key,))) for key, word in PERCENTILES.items()), scale=1e-3),
            )
            for transport, part in times.items()
        )
        censored = any(
            BOUNDS in part or any(BOUNDS in _group(part, (word,)) for word in part) for part in times.values()
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


def _cdfs(results: Results) -> Iterator[Chart]:
    """Yield the distribution of completion times of each class."""
    for name in results.classes:
        own = {arm.name: arm.counted.filter(pl.col("class") == name) for arm in results.arms}
        series = tuple(
            _steps_of(transport, messages["fct_us"].drop_nulls().sort().to_numpy() / 1000, messages.height)
            for transport, messages in own.items()
        )
        of = f" of {name}" if len(results.classes) > 1 else ""
        x, y = Axis("completion time", "ms"), Axis("share of messages", "%")
        yield Chart(f"Distribution of completion times{of}", "step", x, y, _some(iter(series)))


def _steps_of(name: str, values: npt.NDArray[np.float64], whole: int) -> Series:
    """Return the distribution of sorted values of a whole, some of which may have none."""
    shares = np.searchsorted(values, places := _steps(values), side="right")
    points = (Point(float(x), 100 * float(below) / whole) for x, below in zip(places, shares, strict=True))
    return Series(name, tuple(points))


def _slowdowns(results: Results) -> Iterator[Chart]:
    """By size of message, of each class: the picture of the field."""
    tables = {
        arm.name: {
            name: slowdown.by_size(messages)
            for name, messages in slowdown.by_class(arm.counted, results.classes).items()
        }
        for arm in results.arms
    }
    names = dict.fromkeys(name for each in tables.values() for name in each)
    several = [name for name in names if name != slowdown.ALL]
    for name in several or names:
        for column, title in slowdown.SHOWN.items():
            series = (
                Series(
                    transport,
                    tuple(Point(row["bytes"] / 1000, row[column]) for row in of[name].iter_rows(named=True)),
                )
                for transport, of in tables.items()
            )
            which = f" of {name}" if len(results.classes) > 1 else ""
            title, y = f"Slowdown{which} by message size, {title}", Axis("slowdown (FCT / ideal FCT)")
            yield Chart(title, "line", Axis("message size", "KB"), y, _some(series))


#: Percentiles of completion times: key of the JSON contract -> how it is called.
PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}
#: Column of the table of links -> how its chart is called.
QUEUES = {"queue_mean": "mean", "queue_p99": "99th percentile", "queue_max": "maximum"}


def _queues(results: Results) -> Iterator[Chart]:
    """Yield the queues of the busiest switch ports, in the first seed of each transport."""
    tables = {arm.name: ports.ports(arm) for arm in results.arms}
    rows = ports.fullest([*tables.values()])
    for column, title in QUEUES.items():
        series = []
        for name, table in tables.items():
            known = dict(table.select("port", column).iter_rows())
            series.append(Series(name, tuple(Point(port, known[port]) for port in rows if port in known)))
        said = " (first seed)" if results.seeds > 1 else ""
        x, y = Axis("switch port"), Axis("queue length", "packets")
        yield Chart(f"Queues of the busiest ports, {title}{said}", "bar", x, y, _some(iter(series)))


def _goodput(objects: Mapping[str, OfTransport]) -> Chart:
    names = {"goodput_mbps": "all", "goodput_in_time_mbps": "in time"}
    series = (
        Series(transport, _points((word, at(each, ("summary", key))) for key, word in names.items()))
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
        Axis("completion time / deadline", "%"),
        Axis("share of messages", "%"),
        _some(series),
        (Mark("x", 100, "deadline"),),
    )


def _steps(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return where a distribution steps; of many steps some, evenly, and both ends. It begins at 0."""
    if len(times) == 0:
        return times
    kept = times[np.unique(np.linspace(0, len(times) - 1, STEPS).astype(int))]
    return np.concatenate([np.nextafter(kept[:1], 0), kept])


def _used(arm: Arm) -> tuple[npt.NDArray[np.float64], int]:
    """Completion times over deadlines in percent, sorted, of all seeds; and of how many messages they are.

    What never finished is part of the whole.
    """
    decided = arm.counted.filter(pl.col("missed").is_not_null())
    return (100 * decided["fct_us"] / decided["deadline_us"]).drop_nulls().sort().to_numpy(), decided.height


def _table(objects: Mapping[str, OfTransport]) -> Table:
    times = [
        (("summary", "fct_us", key), f"completion time, {word} (us)") for key, word in PERCENTILES.items()
    ]
    rows = [
        *(((key,), word) for key, word in COUNTED.items() if any(key in each for each in objects.values())),
        (("summary", "unfinished"), "messages under way at the end"),
        # The chart shows the others, if they are known.
        *(row for row in times[:-1] if any(_is_hidden(_figure(each, row[0])) for each in objects.values())),
        times[-1],
        (("summary", "slowdown", "mean"), "slowdown, mean"),
        (("summary", "slowdown", "p999"), "slowdown, p99.9"),
    ]
    cells = ((word, *(_cell(_figure(each, path)) for each in objects.values())) for path, word in rows)
    return Table(("", *objects), tuple(cells), title="Counters and tails")


def _figure(each: OfTransport, path: Within) -> Figure:
    return known(_group(each, path[:-1]), path[-1])


def _is_hidden(value: Figure) -> bool:
    """Return whether messages under way hide a figure: only the least that it can be is known."""
    return isinstance(value, dict) and value["mean"] is None and BOUNDS in value


def _cell(value: Figure) -> Cell:
    return written(value, as_plain) if _is_hidden(value) else _value(value)


def _parts(compared: Compared) -> Iterator[tuple[str, Within]]:
    """All together where there are several, every class, every set: its name, and where it is."""
    first = next(iter(compared.objects.values()))
    classes, sets = first["classes"], first.get("sets") or {}
    if len(classes) != 1 or sets:
        yield ALL, ("summary",)
    for name in classes:
        yield f"class {name}" if name == ALL else name, ("classes", name)
    for name in sets:
        yield f"set {name}", ("sets", name)


def _points(values: Iterable[tuple[Place, Figure]], scale: float = 1) -> tuple[Point, ...]:
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


def _group(part: object, within: Within) -> Mapping[str, object]:
    """Return a group of figures; empty where there is none."""
    for key in within:
        part = part.get(key) if isinstance(part, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _value(value: Figure) -> float | None:
    return value["mean"] if isinstance(value, dict) else value


def _some(series: Iterator[Series]) -> tuple[Series, ...]:
    return tuple(one for one in series if one.points)
