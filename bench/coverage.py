"""Hold the ranges of `duetime estimate` against full runs of networks drawn at random.

    python bench/coverage.py measure SET FIRST LAST [FILE]   estimate and run networks, append rows for each
    python bench/coverage.py fit [FILE ...]                   constants for duetime.estimates.ranges
    python bench/coverage.py test [FILE ...]                  how often the ranges hold, and how wide they are

Sets whose name ends in `-cal` are fitted; sets in `-test` are other draws (see `bench/networks.py`). Before
the dash is the profile. A network's check has a third, a sixth or a twelfth of its packet-hops. Figures are
appended to `bench/record/`: for each network a row of all messages, and one for each class. `test` writes
`python/duetime/estimates/coverage.json`: the warnings of estimates take what held from there.

Three sets of the record have former names. `test` (classic) and `datacenter` are tests, with networks of
twice the size. `cal` was measured before the rule that a message is not held at its slowest link, and is not
used.
"""

import itertools
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from networks import network

import duetime
from duetime import rowtable, scenario
from duetime.engine.points import Point
from duetime.estimates import Runs, Task, check, correct, limits, of_links, ranges, summary

RECORD = Path(__file__).resolve().parent / "record"
#: Of the packet-hops of a full run.
SHARES = (1 / 3, 1 / 6, 1 / 12)
CALIBRATION, TEST = "-cal", "-test"
#: Sets by their former name.
FORMER = {"test": "classic-test", "datacenter": "datacenter-test", "cal": "former"}
#: Columns of a network, in its first row alone but for the set and the number.
NETWORK = ("version", "set", "number", "topology", "transport", "pattern", "share", "dropped", "note")
#: The first part of the columns of figures, and where an entry has these; the second part is a figure.
GROUPS = {
    "full": ("full",),
    "links": ("links",),
    "corrected": ("corrected",),
    "check_estimated": ("check", "estimated"),
    "check_full": ("check", "full"),
}
FIGURES = ("messages", "missed_percent", "p50", "p99")
#: So often a figure's range is to hold: then three of a network hold together in nine of ten (Bonferroni).
LEVEL = 1 - 0.1 / 3


def measured(name: str, number: int) -> dict[str, Any]:
    """A network's figures: of its full run, link by link, and corrected by its check."""
    drawn = network(name, number)
    task = Task.of(scenario.read(drawn))
    share = random.Random(f"share {name} {number}").choice(SHARES)
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder), 1, progress=False)
        _, messages = of_links(task, runs)
        (run,) = runs.of([Point(task.read, seed=task.seed)])
        full = summary.of_run(run.table("flows"))
        held = check.against_full(task, runs, share)
    return entry(name, number, drawn, share, messages, full, held)


def entry(
    name: str,
    number: int,
    drawn: dict[str, Any],
    share: float,
    messages: Any,
    full: Any,
    held: check.Held,
) -> dict[str, Any]:
    """Return the entry of a network in the record."""
    record = held.record()
    return {
        "set": name,
        "number": number,
        "topology": drawn["network"]["topology"],
        "transport": drawn["transport"]["name"],
        "pattern": drawn["traffic"][0]["pattern"],
        "share": float(f"{share:.6g}"),
        "full": _short(summary.figures(full)),
        "links": _short(summary.figures(messages)),
        "corrected": _short(summary.figures(correct.corrected(messages, held.estimated, held.full))),
        "check": {
            "dropped": _digits(held.dropped),
            "estimated": _short(record["estimated"]),
            "full": _short(record["full"]),
        },
    }


def _short(figures: dict[str, Any]) -> dict[str, Any]:
    """Figures over all and by class, with four digits."""

    def part(each: dict[str, Any]) -> dict[str, Any]:
        slowdown = {name: _digits(value) for name, value in each["slowdown"].items()}
        return {
            "messages": each["messages"],
            "missed_percent": _digits(each["missed_percent"]),
            "slowdown": slowdown,
        }

    return {
        "summary": part(figures["summary"]),
        "classes": {name: part(each) for name, each in figures["classes"].items()},
    }


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def main() -> None:
    """Do what the command line says."""
    match sys.argv[1:]:
        case ["measure", name, first, last, *file]:
            path = Path(file[0]) if file else RECORD / f"{datetime.now(UTC):%Y-%m-%d}-coverage.csv"
            for number in range(int(first), int(last)):
                append(path, {"version": duetime.__version__, **measured(name, number)})
        case ["fit", *files]:
            groups = by_profile(_lines(files), CALIBRATION)
            stated = [[each for each in kept if has_ranges(each)] for kept in groups.values()]
            for (profile, kept), some in zip(groups.items(), stated, strict=True):
                print(f"{profile}: {len(kept)} networks, {len(some)} of which would have ranges")
            for figure in ranges.NAMES:
                print(f'"{figure}": {fitted(figure, stated)},')
        case ["test", *files]:
            lines = _lines(files)
            for profile, kept in by_profile(lines, TEST).items():
                print(f"{profile}:")
                held_against(kept)
            if not files:
                limits.COVERAGE.write_text(json.dumps(record_of(lines), indent=1) + "\n", encoding="utf-8")
        case _:
            raise SystemExit(__doc__)


def _lines(files: list[str]) -> list[dict[str, Any]]:
    paths = [Path(each) for each in files] or sorted(RECORD.glob("*-coverage.csv"))
    return [each for path in paths for each in networks_of(rowtable.read(path.read_text("utf-8")))]


def append(path: Path, network: dict[str, Any]) -> None:
    """Append the rows of a network to a table, which begins with the names of the columns."""
    text = rowtable.written(rows_of(network))
    with path.open("a", encoding="utf-8") as out:
        out.write(text.partition("\n")[2] if out.tell() else text)


def rows_of(network: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows of a network: of all its messages, with the facts of the network, and of each class."""
    known = network | {"dropped": network["check"]["dropped"]}
    groups = {which: _group(network, path) for which, path in GROUPS.items()}
    classes = dict.fromkeys(name for each in groups.values() for name in each["classes"])
    rows = []
    for name in (None, *classes):
        told = NETWORK if name is None else ("set", "number")
        row = {key: known.get(key) if key in told else None for key in NETWORK} | {"class": name}
        for which, each in groups.items():
            part = each["summary"] if name is None else each["classes"].get(name)
            row |= {f"{which}_{figure}": part and _figure(part, figure) for figure in FIGURES}
        rows.append(row)
    return rows


def networks_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the networks of a table's rows."""
    found: list[dict[str, Any]] = []
    for row in rows:
        if row["class"] is None:
            network = {name: row[name] for name in NETWORK if row.get(name) is not None}
            network["check"] = {"dropped": network.pop("dropped")}
            for *folder, name in GROUPS.values():
                _group(network, folder)[name] = {"summary": None, "classes": {}}
            found.append(network)
        for which, path in GROUPS.items():
            messages, missed, p50, p99 = (row[f"{which}_{figure}"] for figure in FIGURES)
            part = {"messages": messages, "missed_percent": missed, "slowdown": {"p50": p50, "p99": p99}}
            group = _group(found[-1], path)
            if row["class"] is None:
                group["summary"] = part
            elif messages is not None:
                group["classes"][row["class"]] = part
    return found


def _group(network: dict[str, Any], path: Iterable[str]) -> dict[str, Any]:
    found = network
    for name in path:
        found = found[name]
    return found


def _figure(part: dict[str, Any], name: str) -> Any:
    return part["slowdown"][name] if name in part["slowdown"] else part[name]


def _rows(kept: list[dict[str, Any]], figure: str) -> list[tuple[float, float, float, float]]:
    """Return for each network and class the error on the figure's scale, and the facts before a full run."""
    found = []
    for each in kept:
        for path in (["summary"], *(["classes", name] for name in each["full"]["classes"])):
            true = ranges.scaled(figure, _at(each["full"], path))
            made = ranges.scaled(figure, _at(each["corrected"], path))
            parts = ranges.known(
                figure, *(_at(each["check"][which], path) for which in ("estimated", "full"))
            )
            if true is not None and made is not None and parts is not None:
                found.append((made - true, *parts, each["check"]["dropped"]))
    return found


EMPTY = {"messages": 0, "missed_percent": None, "slowdown": {"p50": None, "p99": None}}


def _at(figures: dict[str, Any], path: list[str]) -> dict[str, Any]:
    found = figures
    for name in path:
        found = found.get(name, EMPTY)
    return found


def by_profile(lines: list[dict[str, Any]], kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return the networks of a kind of sets by their profile."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in lines:
        name = FORMER.get(each["set"], each["set"])
        if name.endswith(kind):
            found.setdefault(name.removesuffix(kind), []).append(each)
    return dict(sorted(found.items()))


def record_of(lines: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return by profile how many networks were calibrated and tested, and in how many all ranges held."""
    calibrated, tested = (by_profile(lines, kind) for kind in (CALIBRATION, TEST))
    return {
        profile: {
            "calibrated": sum(map(has_ranges, kept)),
            "tested": len(has := [each for each in tested.get(profile, []) if has_ranges(each)]),
            "held": sum(map(holds, has)),
        }
        for profile, kept in calibrated.items()
    }


def has_ranges(line: dict[str, Any]) -> bool:
    """Return whether an estimate states ranges: its check is large enough and drops few packets."""
    check = line["check"]
    messages: int = check["full"]["summary"]["messages"]
    return messages >= limits.MIN_MESSAGES and check["dropped"] <= limits.MAX_DROPPED


def holds(line: dict[str, Any]) -> bool:
    """Return whether all ranges of a network's figures over all messages hold."""
    return all(inside for *_, inside in _spans(line, ["summary"]))


def _spans(line: dict[str, Any], path: list[str]) -> list[tuple[str, list[float], float, bool]]:
    """Return each figure that has a range and is known: its name, range and value, and whether it holds."""
    stated, found = ranges.of(line["corrected"], line["check"]), []
    for figure in ranges.NAMES:
        span, true = _at(stated, path).get(figure), _value(figure, _at(line["full"], path))
        if span is not None and true is not None:
            found.append((figure, span, true, span[0] * 0.9999 <= true <= span[1] * 1.0001))
    return found


def fitted(figure: str, groups: list[list[dict[str, Any]]]) -> ranges.Scale:
    """The scale whose ranges are narrowest, on average of their logarithms, when they hold often enough.

    They do so in each group by itself, of the networks of a profile.
    """
    by_group = [_rows(kept, figure) for kept in groups]
    found = []
    parts = (0.0, 0.25, 0.5, 1.0)
    for own, by_check, chance, drops in itertools.product(
        (0.05, 0.1, 0.2), parts, parts, (0.0, 0.25, 0.5, 1.0, 2.0)
    ):
        scale = ranges.Scale(own, by_check, chance, drops)
        halves = [[scale.half(*known) for _, *known in rows] for rows in by_group]
        times = max(
            _high(abs(error) / half for (error, *_), half in zip(rows, own_halves, strict=True))
            for rows, own_halves in zip(by_group, halves, strict=True)
        )
        width = statistics.mean(math.log(times * half) for each in halves for half in each)
        found.append((width, ranges.Scale(own, by_check, chance, drops, round(times, 2))))
    return min(found, key=lambda each: each[0])[1]


def _high(values: Iterable[float]) -> float:
    """Return the conformal quantile, which counts one value more than there are."""
    ordered = sorted(values)
    return ordered[min(math.ceil((len(ordered) + 1) * LEVEL), len(ordered)) - 1]


def held_against(kept: list[dict[str, Any]]) -> None:
    """Print how often the ranges of the figures over all hold, alone and together, and how wide they are."""
    held: dict[str, list[bool]] = {figure: [] for figure in ranges.NAMES}
    widths: dict[str, list[float]] = {figure: [] for figure in ranges.NAMES}
    errors: dict[str, dict[str, list[float]]] = {
        which: {figure: [] for figure in ranges.NAMES} for which in ("links", "corrected")
    }
    stated = [each for each in kept if has_ranges(each)]
    classes = [
        inside
        for each in stated
        for name in each["corrected"]["classes"]
        for *_, inside in _spans(each, ["classes", name])
    ]
    for each in stated:
        for figure, span, true, inside in _spans(each, ["summary"]):
            held[figure].append(inside)
            missed = figure == "missed_percent"
            widths[figure].append(span[1] - span[0] if missed else span[1] / span[0])
            for which, those in errors.items():
                made = _value(figure, each[which]["summary"])
                if made is not None:
                    those[figure].append(abs(made - true) if missed else abs(math.log(made / true)))
            if not inside:
                print(
                    f"  {each['set']} {each['number']} {each['transport']} {figure}: {true:.4g} not in {span}"
                )
    print(
        f"  {len(kept)} networks, {len(stated)} with ranges, which all hold in {sum(map(holds, stated))}; "
        f"classes: {sum(classes)} of {len(classes)}"
    )
    for figure in ranges.NAMES:
        wide, raw, left = (
            statistics.median(each)
            for each in (widths[figure], errors["links"][figure], errors["corrected"][figure])
        )
        print(
            f"  {figure}: {sum(held[figure])} of {len(held[figure])}; median width {wide:.3g}, "
            f"error link by link {raw:.3g}, corrected {left:.3g}"
        )


def _value(figure: str, part: dict[str, Any]) -> float | None:
    if figure == "missed_percent":
        found: float | None = part["missed_percent"]
    else:
        found = part["slowdown"][figure.removeprefix("slowdown_")]
    return found


if __name__ == "__main__":
    main()
