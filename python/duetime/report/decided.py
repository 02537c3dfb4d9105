"""Folders of `duetime tighten` and `duetime capacity`: the answers, and the misses at all that was tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from duetime import manifest
from duetime.contract import reading
from duetime.contract.runs import Mean
from duetime.contract.searches import Answer, Found, Level, Question, Search
from duetime.display import decisions
from duetime.errors import NoReport
from duetime.quantities import Quantity
from duetime.report.model import Axis, Chart, Experiment, Mark, Point, Series, Table

#: The record of each search -> the key of its answers, and how that is called.
ANSWERS: dict[Question, tuple[Found, str]] = {
    "tighten": ("tighter_percent", "tighter deadlines"),
    "capacity": ("largest", "largest value"),
    "need": ("smallest", "smallest value"),
}


def read(folder: Path) -> list[Experiment]:
    """The searches in `folder`, an experiment each; nothing where there is none."""
    return [
        _read(folder / f"{question}.json") for question in ANSWERS if (folder / f"{question}.json").exists()
    ]


def _read(path: Path) -> Experiment:
    try:
        return _experiment(reading.search(manifest.content(path)))
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise NoReport(f"{path}: is not what `duetime {path.stem}` writes: {error!r}") from error


def _experiment(record: Search) -> Experiment:
    against = record.get("against")
    missed = "missed" if record.get("goal") is None else f"of {_what(record)}"
    goal = f"what {against} misses" if against else f"at most {record['target_percent']:g} % {missed}"
    return Experiment(
        id=record["question"],
        title=str(record["title"]),
        facts={"target": goal, "over": record.get("over"), "seeds": record["seeds"]},
        charts=tuple(chart for chart in (_answers(record), _tried(record)) if chart.series),
        table=_table(record),
        verdicts=tuple(decisions.sentence(record, answer) for answer in record["answers"]),
        versions={"duetime": record["version"]},
    )


def _answers(record: Search) -> Chart:
    key, title = ANSWERS[record["question"]]
    units = [_quantity(answer[key]).unit for answer in record["answers"] if answer[key] is not None]
    axis = Axis(title, "%", signed=True) if key == "tighter_percent" else Axis(record["over"], *units[:1])
    series = (
        Series(_named(answer), (_point(answer, key),))
        for answer in record["answers"]
        if answer[key] is not None
    )
    return Chart(f"Answer: {title}", "bar", Axis("transport"), axis, tuple(series))


def _named(answer: Answer) -> str:
    return answer["transport"] or decisions.AS_WRITTEN


def _point(answer: Answer, key: Found) -> Point:
    low, high = (None if end is None else _quantity(end).number for end in answer["ci95"])
    known = (None, None) if low is None or high is None else (low, high)
    return Point(_named(answer), _quantity(answer[key]).number, *known)


def _tried(record: Search) -> Chart:
    units = [_quantity(each["value"]).unit for answer in record["answers"] for each in answer["tried"]]
    tighter = record["question"] == "tighten"
    x = Axis("deadlines tighter by", "%") if tighter else Axis(record["over"], *units[:1])
    series = (Series(_named(answer), tuple(_misses(answer))) for answer in record["answers"])
    target = record.get("target_percent")
    marks = () if target is None or record.get("against") else (Mark("y", target, "target"),)
    what = _what(record)
    title = f"{what[0].upper()}{what[1:]} at the values tried"
    return Chart(title, "line", x, Axis(what, "%"), tuple(series), marks)


def _what(record: Search) -> str:
    """Name the counted events: missed deadlines of messages, or requests that miss a goal."""
    return "deadlines missed" if record.get("goal") is None else f"requests that miss {record['goal']}"


def _misses(answer: Answer) -> Iterator[Point]:
    for each in answer["tried"]:
        missed = each["missed_percent"]
        if missed is not None:
            low, high = missed["ci95"]
            yield Point(_quantity(each["value"]).number, missed["mean"], low, high)


def _quantity(value: Level | None) -> Quantity:
    return Quantity.of(value, "a value")


def _table(record: Search) -> Table:
    key, title = ANSWERS[record["question"]]
    rows = tuple(
        (
            _named(answer),
            decisions.level(answer[key], key == "tighter_percent"),
            *(
                _mean(answer[name])
                for name in ("missed_percent", "as_written_missed_percent", "bound_percent")
            ),
        )
        for answer in record["answers"]
    )
    columns = ("transport", title, "miss rate % at answer", "miss rate % at baseline", "bound % at answer")
    return Table(columns, rows, title="Answers")


def _mean(found: Mean | None) -> float | None:
    return None if found is None else float(found["mean"])
