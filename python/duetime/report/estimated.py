"""Folders of `duetime estimate`: misses and slowdown by size, beside a full run where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from duetime import manifest
from duetime.contract import reading
from duetime.contract.estimates import Estimate, Figures, Summaries
from duetime.errors import NoReport
from duetime.report.model import Axis, Chart, Experiment, Point, Series

#: The figures shown of each group of sizes: name, unit, and where it is.
FIGURES: tuple[tuple[str, str, Callable[[Figures], float | None]], ...] = (
    ("Missed deadlines", "%", lambda group: group["missed_percent"]),
    ("Slowdown, median", "", lambda group: group["slowdown"]["p50"]),
    ("Slowdown, 99th percentile", "", lambda group: group["slowdown"]["p99"]),
)


def read(folder: Path) -> list[Experiment]:
    """Return the estimate in `folder`, and the run it was compared with; nothing where there is none."""
    path = folder / "estimate.json"
    if not path.exists():
        return []
    try:
        return _experiments(reading.estimate(manifest.content(path)))
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise NoReport(f"{path}: is not what `duetime estimate` writes: {error!r}") from error


def _experiments(record: Estimate) -> list[Experiment]:
    check, links, versions = record["check"], record["links"], {"duetime": record["version"]}
    facts = {"transport": record["transport"], "seed": record["seed"]}
    found = [
        Experiment(
            id="estimate",
            title=str(record["title"]),
            question="Miss rate and slowdown, estimated link by link.",
            facts=facts
            | {
                "messages": record["summary"]["messages"],
                "links simulated": "none: a full run"
                if links is None
                else f"{links['simulated']} of {links['of']}",
            },
            charts=_charts({"estimate": record}),
            notes=(*record["warnings"], *record["notes"]),
            versions=versions,
        )
    ]
    if check is not None:
        found.append(
            Experiment(
                id="estimate-check",
                title="Validation against a full simulation",
                question="How far is the estimate from a full simulation of the same network?",
                facts=facts | {"size": ", ".join(check["set"]) or "the whole"},
                charts=_charts({"estimate": check["estimated"], "full run": check["full"]}),
                versions=versions,
            )
        )
    return found


def _charts(shown: Mapping[str, Summaries]) -> tuple[Chart, ...]:
    found = []
    for title, unit, find in FIGURES:
        series = tuple(_series(name, each, find) for name, each in shown.items())
        if any(each.points for each in series):
            found.append(Chart(title, "bar", Axis("size up to", "B"), Axis(title, unit), series))
    return tuple(found)


def _series(name: str, figures: Summaries, find: Callable[[Figures], float | None]) -> Series:
    values = ((f"{group['up_to']:,}", find(group)) for group in figures["sizes"])
    return Series(name, tuple(Point(place, value) for place, value in values if value is not None))
