"""Tables for people."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from duetime import decide
from duetime.compare import Comparison
from duetime.experiments import verdicts
from duetime.results import Result
from duetime.statistics import FEW_SEEDS, estimate, most_unseen, over_seeds
from duetime.sweep import Swept

#: Title, where the figure is in a summary, and how it is written.
Figure = tuple[str, Callable[[dict[str, Any]], Any], Callable[[float], str]]

#: Where a part of a run's JSON is: its key, and in it the name of a class or set.
Place = tuple[str, str]

MISSED = "missed %"
#: Units of time, the largest first: what a time in them has at least, in us.
TIMES = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))
ALL = "all"
#: Below this a difference is what floats leave behind.
LEAST = 1e-9


def result(run: Result) -> None:
    """Print one run: a row for each class."""
    data = run.data
    figures = _figures([data])
    least = _Least(run.bound)
    table = Table(box=box.SIMPLE_HEAD, title=_title(data), title_justify="left", title_style="bold")
    table.add_column("class", overflow="fold")
    for title, _, _ in figures:
        table.add_column(title, justify="right")
        if title == MISSED and least:
            table.add_column("bound %", justify="right")
    for name, place, part in _parts(data):
        cells = []
        for title, find, write in figures:
            cells.append(_written(find(part), write))
            if title == MISSED and least:
                cells.append(least.at(place))
        table.add_row(Text(name), *cells)
    console = _console()
    console.print(table)
    if least:
        console.print(least.sentence(), highlight=False)
    for line in (*_nothing_missed(data["summary"]), *_undecided([data])):
        console.print(line, highlight=False)
    console.print(_totals(data), highlight=False)


def comparison(compared: Comparison[Any]) -> None:
    """Print transports side by side: a column for each, the figures of each class below one another."""
    runs: dict[str, dict[str, Any]] = compared.data["runs"]
    first = next(iter(runs.values()))
    figures = _figures(list(runs.values()))
    least = _Least(compared.bound)
    title = str(first["title"])
    if compared.seeds is not None:
        title += f": mean ± 95 % interval over {len(first['seeds'])} seeds"
    table = Table(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", title_style="bold")
    table.add_column("class", overflow="fold")
    table.add_column("")
    for transport in runs:
        table.add_column(transport, justify="right")
    # Many columns do not fit a screen; the sentences below say what matters, and --json all of it.
    differences = compared.data["differences"] if compared.seeds is not None and len(runs) <= 4 else {}
    for transport in differences:
        table.add_column(f"{transport} - {compared.against}", justify="right")
    if least:
        table.add_column("bound", justify="right")
    for parts in zip(*(_parts(run) for run in runs.values()), strict=True):
        name, place, _ = parts[0]
        for number, (what, find, write) in enumerate(figures):
            cells = [find(part) for *_, part in parts]
            if any(cell is not None for cell in cells):
                label = Text(name if number == 0 else "")
                beside = [_signed(find(_part(each, place)), write) for each in differences.values()]
                beside += [least.at(place)] if least and what == MISSED else []
                table.add_row(label, what, *(_written(cell, write) for cell in cells), *beside)
        table.add_section()
    for what in ("drops", "marks", "timeouts", "retransmits"):
        beside = [_signed(each[what], _count) for each in differences.values()]
        table.add_row("", what, *(_written(run[what], _count) for run in runs.values()), *beside)
    console = _console()
    console.print(table)
    lines = [least.sentence()] if least else []
    lines += [*_of_seeds(compared), *_undecided(list(runs.values()))]
    lines += [f"  {each['sentence']}" for each in compared.verdicts]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def foresight(data: dict[str, Any]) -> None:
    """Print how few deadlines can be missed: a row for each class."""
    console = _console()
    least = _Least(data["bound"])
    if not least:
        console.print(f"{escape(data['title'])}: no message that counts has a deadline")
        return
    table = Table(box=box.SIMPLE_HEAD, title=escape(f"{data['title']}: seed {data['seed']}"))
    table.title_justify, table.title_style = "left", "bold"
    table.add_column("class", overflow="fold")
    for title in ("missed", "missed %"):
        table.add_column(title, justify="right")
    for title in ("held up by", "method"):
        table.add_column(title)
    for name, part in least.parts():
        if part:
            cells = (
                _count(part["missed"]),
                _plain(part["missed_percent"]),
                part["side"] or "-",
                part["method"],
            )
            table.add_row(Text(name), *cells)
    console.print(table)
    console.print(least.sentence(), highlight=False)


class _Least:
    """How few deadlines can be missed; false without deadlines."""

    def __init__(self, bound: dict[str, Any] | None) -> None:
        self.bound = bound

    def __bool__(self) -> bool:
        return self.bound is not None

    def parts(self) -> list[tuple[str, dict[str, Any] | None]]:
        """Give every class, and all of them where they are several."""
        if self.bound is None:
            return []
        classes = list(self.bound["classes"].items())
        return classes if len(classes) == 1 else [*classes, (ALL, self.bound)]

    def at(self, place: Place) -> str:
        """Give the share of one of `_parts`; sets have none."""
        kind, name = place
        if self.bound is None or kind == "sets":
            return "-"
        part = self.bound["classes"][name] if kind == "classes" else self.bound
        return _written(part and part["missed_percent"], _plain)

    def sentence(self) -> str:
        words = "  bound: no schedule of these messages can miss less"
        methods = self.bound["method"] if self.bound else None
        relaxed = methods == "relaxed" or (isinstance(methods, list) and "relaxed" in methods)
        return words + (" (and perhaps none so little: an overload was too large to tell)" if relaxed else "")


def sweep(swept: Swept) -> None:
    """Print the points of a sweep: a row for each and each transport, means over its seeds."""
    most = 60
    plan = swept.sweep
    table = Table(box=box.SIMPLE_HEAD, title=escape(plan.title), title_justify="left", title_style="bold")
    for name in (*plan.axes, "transport"):
        table.add_column(name, overflow="fold")
    groups = [swept.kept[i : i + len(plan.seeds)] for i in range(0, len(swept.kept), len(plan.seeds))]
    done = [[kept.result for kept in group if kept.error is None] for group in groups]
    merged = [over_seeds(runs) if runs else None for runs in done]
    figures = _figures([each for each in merged if each is not None])
    figures = [figure for figure in figures if figure[0] in ("missed %", "FCT p99", "goodput Mbps")]
    for title, _, _ in figures:
        table.add_column(title, justify="right", no_wrap=True)
    against = swept.against
    if against is not None and figures:
        table.add_column(f"{figures[0][0]} - {against}", justify="right", no_wrap=True)
    for number, (group, run) in enumerate(zip(groups[:most], merged[:most], strict=True)):
        values = plan.values[number // len(plan.transports)]
        name = group[0].point.transport or (run["transport"] if run else "")
        cells = (
            ["failed"]
            if run is None
            else [_written(find(run["summary"]), write) for _, find, write in figures]
        )
        if against is not None and figures:
            first = number - number % len(plan.transports)
            other = merged[first + plan.transports.index(against)]
            cells.append(_compared(figures[0], run, other) if name != against else "")
        table.add_row(*(Text(str(value)) for value in (*values, name)), *cells)
    console = _console()
    console.print(table)
    failed = len(swept.failures)
    words = f"  {len(groups)} rows" + (f", of which {most} are shown" if len(groups) > most else "")
    words += f", each {len(plan.seeds)} seeds" if len(plan.seeds) > 1 else ""
    console.print(f"{words}; {len(swept.kept) - failed} runs went well, {failed} failed", highlight=False)


def decision(data: dict[str, Any]) -> None:
    """Print what `tighten`, `capacity` or `need` found, a row and a sentence for each transport."""
    tighter = data["question"] == "tighten"
    name = decide.ANSWERS[data["question"]]
    table = Table(box=box.SIMPLE_HEAD, title=escape(data["title"]), title_justify="left", title_style="bold")
    table.add_column("transport")
    titles = [
        "tighter" if tighter else data["over"],
        "95 % interval",
        "missed % there",
        "missed % as written",
    ]
    bounded = any(each["bound_percent"] for each in data["answers"])
    for title in [*titles, *(["unavoidable % there"] if bounded else [])]:
        table.add_column(title, justify="right")
    for each in data["answers"]:
        low, high = each["ci95"]
        interval = (
            "-"
            if low is None and high is None
            else f"{decide.level(low, tighter)} to {decide.level(high, tighter)}"
        )
        misses = [each["missed_percent"], each["as_written_missed_percent"]]
        cells = [decide.level(each[name], tighter), interval, *(_written(value, _plain) for value in misses)]
        if bounded:
            cells.append(_written(each["bound_percent"], _plain))
        table.add_row(each["transport"], *cells)
    console = _console()
    console.print(table)
    for each in data["answers"]:
        console.print(f"  {decide.sentence(data, each)}", highlight=False, markup=False)


def entries(known: list[dict[str, Any]]) -> None:
    """Print names with what they are."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for entry in known:
        table.add_row(Text(entry["name"]), Text(entry["help"]))
    _console().print(table)


def entry(known: dict[str, Any], section: str | None, shared: list[dict[str, Any]]) -> None:
    """Print one transport, topology or pattern with its keys, and those that it shares with its kind."""
    console = _console()
    console.print(Text.assemble((known["name"], "bold"), "  ", known["help"]))
    if known.get("source"):
        console.print(Text(f"Source: {known['source']}"))
    for title, keys in (
        (None, known["keys"]),
        (section and f"and those of every [{section}] section", shared),
    ):
        if keys:
            if title:
                console.print(Text(title))
            console.print(_keys(keys))


def experiments(known: list[tuple[str, str, str]]) -> None:
    """Print experiments: name, source, title."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for words in known:
        table.add_row(*(Text(word) for word in words))
    _console().print(table)


def claims(data: dict[str, Any]) -> None:
    """Print what came of an experiment: each claim with what was published and measured."""
    seeds = len(data["seeds"])
    title = f"{data['id']}: {data['title']} ({data['scale']}, {seeds} seed{'s' if seeds > 1 else ''})"
    table = Table(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", title_style="bold")
    table.add_column("claim", ratio=5)
    table.add_column("published", ratio=2)
    table.add_column("measured", ratio=2)
    table.add_column("holds", ratio=2)
    table.add_column("why not", ratio=6)
    for claim in data["claims"]:
        words = (claim["claim"], _stated(claim["published"]), _measured(claim), verdict(claim), claim["why"])
        table.add_row(*(Text(word) for word in words))
    _console().print(table)
    if data.get("finding"):
        _console().print(Text(data["finding"]))


def tally(results: list[dict[str, Any]]) -> None:
    """Print what was found in several experiments, and how many facts of the papers hold."""
    shown = _console()
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("experiment", no_wrap=True)
    table.add_column("found")
    for data in results:
        table.add_row(Text(data["id"]), Text(data.get("finding") or "-"))
    shown.print(table)
    counted = verdicts.tally([claim for data in results for claim in data["claims"]])
    words = ", ".join(f"{many} {verdicts.STATUSES[kind]}" for kind, many in counted.items() if many)
    shown.print(Text(f"Of what the papers say, each fact counted once: {words or 'nothing was judged'}."))


def verdict(claim: dict[str, Any]) -> str:
    """What came of a claim, in a word or two."""
    kind = claim.get("kind", "claim")
    said = verdicts.STATUSES[verdicts.status(claim)]
    return said if kind == "claim" else f"{said} ({'set-up' if kind == 'setup' else 'own'})"


def _measured(claim: dict[str, Any]) -> str:
    if claim["measured"] is None:
        return "-"
    text = _stated(claim["measured"])
    if claim["low"] is not None:
        text += f" ({_stated(claim['low'])} to {_stated(claim['high'])})"
    return f"{text} {claim['unit']}".rstrip()


def _stated(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _keys(keys: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("key", no_wrap=True)
    table.add_column("what", ratio=2)
    table.add_column("default", no_wrap=True)
    table.add_column("range", ratio=2)
    table.add_column("what it does", ratio=6)
    table.add_column("source", ratio=4)
    for key in keys:
        default = "required" if key["required"] else key["default"]
        cells = [key["name"], key["kind"], default, _range(key), key["help"], key["source"]]
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells))
    return table


def _range(key: dict[str, Any]) -> str | None:
    if key["choices"]:
        return ", ".join(key["choices"])
    if key["range"] is None or key["unit"] is None:
        return None if key["range"] is None else str(key["range"])
    return f"{key['range']} {key['unit']}"


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 140))


def _title(data: dict[str, Any]) -> str:
    text = f"{data['title']}: {data['transport']}, seed {data['seed']}, {data['simulated_s']:.6g} s simulated"
    if data["wall_s"]:
        rate = data["packets_delivered"] / data["wall_s"] / 1e6
        text += f" in {data['wall_s']:.2f} s ({rate:.2f} M packets/s)"
    return escape(text)


def _totals(data: dict[str, Any]) -> str:
    names = ("packets_delivered", "drops", "marks", "timeouts", "retransmits")
    return "  " + ", ".join(f"{name.replace('_', ' ')} {_count(data[name])}" for name in names)


def _parts(data: dict[str, Any]) -> list[tuple[str, Place, dict[str, Any]]]:
    """Every class, every set of classes and all together: what it is called, where it is, its figures."""
    parts = [
        (f"class {name}" if name == ALL else name, ("classes", name), part)
        for name, part in data["classes"].items()
    ]
    parts += [(f"set {name}", ("sets", name), part) for name, part in data.get("sets", {}).items()]
    return parts if len(parts) == 1 else [*parts, (ALL, ("summary", ""), data["summary"])]


def _figures(runs: list[dict[str, Any]]) -> list[Figure]:
    """Choose the figures that any of the runs has something to say on."""
    known: list[Figure] = [
        ("messages", lambda part: part["messages"], _count),
        ("unfinished", lambda part: part["unfinished"], _count),
        (MISSED, lambda part: part["missed_percent"], _plain),
        ("queries complete %", lambda part: part.get("complete_queries_percent"), _plain),
        ("FCT p50", lambda part: part["fct_us"]["p50"], _time),
        ("FCT p99", lambda part: part["fct_us"]["p99"], _time),
        ("slowdown p99", lambda part: part["slowdown"]["p99"], _plain),
        ("goodput Mbps", lambda part: part["goodput_mbps"], _plain),
        ("in time Mbps", lambda part: part["goodput_in_time_mbps"], _plain),
    ]
    parts = [part for run in runs for *_, part in _parts(run)]
    return [figure for figure in known if any(figure[1](part) is not None for part in parts)]


def _written(value: Any, write: Callable[[float], str]) -> str:
    """Write a figure; over seeds with its interval: ± where that is even, else its ends."""
    if value is None:
        return "-"
    if not isinstance(value, dict):
        return write(value)
    low, high = value["ci95"]
    mean = value["mean"]
    if low is None:
        return write(mean)
    if write is _time:
        scale, unit = next((each for each in TIMES if abs(mean) >= each[0]), TIMES[-1])
        return f"{_seen(mean / scale, _hundredths)} ± {_seen((high - low) / 2 / scale, _hundredths)} {unit}"
    if max(high - mean, mean - low) > 1.2 * min(high - mean, mean - low):
        return f"{_seen(mean, write)} ({write(low)} to {_seen(high, write)})"
    return f"{_seen(mean, write)} ± {_seen((high - low) / 2, write)}"


def _seen(value: float, write: Callable[[float], str]) -> str:
    """Write a value that is not nothing so that it does not look like nothing."""
    text = write(value)
    return f"{value:.1g}" if abs(value) > LEAST and not re.search("[1-9]", text) else text


def _signed(value: Any, write: Callable[[float], str]) -> str:
    """Write a difference, with its sign."""
    text = _written(value, write)
    mean = value["mean"] if isinstance(value, dict) else value
    return f"+{text}" if mean is not None and mean > LEAST else text


def _compared(figure: Figure, run: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    """Write the difference of a figure of two merged runs, seed by seed."""
    _, find, write = figure
    parts: list[Any] = [run and find(run["summary"]), other and find(other["summary"])]
    if run is None or other is None or None in parts or run["seeds"] != other["seeds"]:
        return "-"
    ours, theirs = (part["values"] for part in parts)
    pairs = zip(ours, theirs, strict=True)
    return _signed(estimate([None if None in pair else pair[0] - pair[1] for pair in pairs]), write)


def _part(differences: dict[str, Any], place: Place) -> dict[str, Any]:
    """Find the differences of one of `_parts`."""
    kind, name = place
    found: dict[str, Any] = differences["summary"] if kind == "summary" else differences[kind][name]
    return found


def _of_seeds(compared: Comparison[Any]) -> list[str]:
    """Say what the intervals rest on, where that is less than a reader may think."""
    if compared.seeds is None:
        return []
    runs = list(compared.data["runs"].values())
    count = len(runs[0]["seeds"])
    if count > 1 and not any(run["seeds_differ"] for run in runs):
        return [f"  the {count} seeds change nothing: every run is the same, and there is no interval"]
    if 1 < count < FEW_SEEDS:
        return [f"  {count} seeds are few: intervals over fewer than {FEW_SEEDS} are wide, and rough"]
    return ["  one seed has no interval"] if count == 1 else []


def _undecided(runs: list[dict[str, Any]]) -> list[str]:
    """Say what the end of the run has left open."""
    open_ones = sum(
        value if not isinstance(value, dict) else sum(value["values"])
        for value in (run["summary"]["undecided"] for run in runs)
    )
    if not open_ones:
        return []
    return [f"  undecided when the run ended, and left out: {_count(open_ones)} messages (see `cool_down`)"]


def _nothing_missed(summary: dict[str, Any]) -> list[str]:
    """Say what none of so many missed deadlines shows."""
    decided = summary["with_deadline"] - summary["undecided"]
    if summary["missed"] or not decided:
        return []
    most = 100 * most_unseen(decided)
    return [
        f"  none of {_count(decided)} deadlines was missed: with 95 % confidence less than {most:.2g} % "
        "would be, if one miss did not bring others"
    ]


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _hundredths(value: float) -> str:
    return f"{value:.2f}"


def _plain(value: float) -> str:
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return "0.00" if text == "-0.00" else text


def _time(us: float) -> str:
    if abs(us) >= 1e6:
        return f"{us / 1e6:.3f} s"
    return f"{us / 1000:.2f} ms" if abs(us) >= 1000 else f"{us:.1f} us"
