"""Tables for the terminal and for notebooks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from duetime.cli import tables
from duetime.cli.tables import Column, Grid
from duetime.comparison import Comparison
from duetime.experiments import verdicts
from duetime.quantities import counted, short
from duetime.results import Result
from duetime.statistics import BOUNDS, FEW_SEEDS, difference, max_unseen, over_seeds
from duetime.sweeping import Swept

if TYPE_CHECKING:
    from duetime.robustness import Robustness

#: Title, where the figure is in a summary, and how it is written.
Figure = tuple[str, Callable[[dict[str, Any]], Any], Callable[[float], str]]

#: Where a part of a run's JSON is: its key, and in it the name of a class or set.
Place = tuple[str, str]

MISSED, BOUND = "missed %", "bound"
ALL = "all"
#: Below this a difference is a rounding error of floats.
LEAST = 1e-9


@dataclass(frozen=True)
class Time:
    """Writes times in one unit."""

    #: In us.
    unit: float
    name: str
    digits: int

    def __call__(self, us: float) -> str:
        """Format a time in this unit."""
        return f"{us / self.unit:,.{self.digits}f} {self.name}"


#: The units, the largest first.
TIMES = (Time(1e6, "s", 3), Time(1e3, "ms", 2), Time(1.0, "us", 1))
MICROSECONDS = TIMES[-1]
#: So many of a smaller unit are written in the next one.
LONG = 100


#: A table and the sentences below it.
Shown = tuple[Grid, list[str]]


def _print(table: Shown) -> None:
    grid, lines = table
    console = tables.console()
    tables.show(console, grid)
    for line in lines:
        tables.say(console, line)


def result(run: Result) -> None:
    """Print one run: a row for each class."""
    _print(result_table(run))


def result_table(run: Result) -> Shown:
    """One run: a row for each class."""
    data = run.data
    figures = _figures([data])
    least = _Least(run.bound)
    parts = _parts(data, figures)
    titles = [
        title
        for name, _, _ in figures
        for title in ([name, f"{BOUND} %"] if name == MISSED and least else [name])
    ]
    grid = Grid(["class"], [Column(title) for title in titles], _title(data), turns=True)
    units = [_in_one_unit([find(part) for *_, part in parts], write) for _, find, write in figures]
    for name, place, part in parts:
        cells = []
        for (title, find, _), write in zip(figures, units, strict=True):
            cells.append(_written(find(part), write))
            if title == MISSED and least:
                cells.append(least.at(place))
        grid.add([name], cells)
    lines = [least.sentence()] if least else []
    return grid, [
        *lines,
        *_nothing_missed(data["summary"]),
        *_left_open([data]),
        _totals(data),
        *_timers(data),
    ]


def comparison(compared: Comparison[Any]) -> None:
    """Print transports side by side: a column for each, the figures of each class below one another."""
    grid, lines = comparison_table(compared)
    shown = tables.console()
    if not tables.show(shown, grid):
        tables.say(shown, "the differences, figure by figure, need more room; --json has them")
    for line in lines:
        tables.say(shown, line)


def comparison_table(compared: Comparison[Any]) -> Shown:
    """Transports side by side: a column for each, the figures of each class below one another."""
    runs: dict[str, dict[str, Any]] = compared.data["runs"]
    first = next(iter(runs.values()))
    figures = _figures(list(runs.values()))
    least = _Least(compared.bound)
    title = str(first["title"])
    if compared.seeds is not None:
        title += f": mean ± 95 % interval over {counted(len(first['seeds']), 'seed')}"
    # Many columns do not fit a screen; the sentences below give the main results, and --json all of them.
    differences = compared.data["differences"] if compared.seeds is not None and len(runs) <= 4 else {}
    names = [*runs, *([BOUND] if least else []), *(f"{each} - {compared.against}" for each in differences)]
    grid = Grid(["class", ""], [Column(name) for name in names], title, once=True, extras=len(differences))
    for parts in zip(*(_parts(run, figures, [*runs.values()]) for run in runs.values()), strict=True):
        name, place, _ = parts[0]
        for what, find, write in figures:
            values = [find(part) for *_, part in parts]
            others = [find(_part(each, place)) for each in differences.values()]
            if any(value is not None for value in values):
                write = _in_one_unit(values, write)
                beside = [least.at(place) if what == MISSED else ""] if least else []
                beside += [_signed(other, write) for other in others]
                grid.add([name, what], [*(_written(value, write) for value in values), *beside])
        grid.line()
    for what in ("drops", "marks", "timeouts", "retransmits"):
        beside = [""] if least else []
        beside += [_signed(each[what], _count) for each in differences.values()]
        grid.add(["", what], [*(_written(run[what], _count) for run in runs.values()), *beside])
    lines = [least.sentence()] if least else []
    lines += [*_of_seeds(compared), *_left_open(list(runs.values()))]
    lines += [line for name, run in runs.items() for line in _timers(run, f" of {name}")]
    return grid, [*lines, *(each["sentence"] for each in compared.verdicts)]


def foresight(data: dict[str, Any]) -> None:
    """Print how few deadlines can be missed: a row for each class."""
    if not data["bound"]:
        tables.say(tables.console(), f"{data['title']}: no message that counts has a deadline", indent="")
        return
    _print(bound_table(f"{data['title']}: seed {data['seed']}", data["bound"]))


def bound_table(title: str, bound: dict[str, Any]) -> Shown:
    """How few deadlines can be missed: a row for each class."""
    least = _Least(bound)
    columns = [Column(name) for name in ("missed", MISSED)]
    columns += [Column(name, words=True) for name in ("held up by", "method")]
    grid = Grid(["class"], columns, title)
    for name, part in least.parts():
        if part:
            missed = [_count(part["missed"]), _plain(part["missed_percent"])]
            grid.add([name], [*missed, part["side"] or "-", part["method"]])
    return grid, [least.sentence()]


class _Least:
    """How few deadlines can be missed; false without deadlines."""

    def __init__(self, bound: dict[str, Any] | None) -> None:
        self.bound = bound

    def __bool__(self) -> bool:
        return self.bound is not None

    def parts(self) -> list[tuple[str, dict[str, Any] | None]]:
        """Return every class, and all together where more than one has a bound."""
        if self.bound is None:
            return []
        classes = list(self.bound["classes"].items())
        bounded = [part for _, part in classes if part]
        return classes if len(bounded) == 1 else [*classes, (ALL, self.bound)]

    def at(self, place: Place) -> str:
        """Return the share of one of `_parts`; sets have none."""
        kind, name = place
        if self.bound is None or kind == "sets":
            return "-"
        part = self.bound["classes"][name] if kind == "classes" else self.bound
        return _written(part and part["missed_percent"], _plain)

    def sentence(self) -> str:
        words = "bound: no schedule of these messages can miss fewer"
        reasons = self.bound["reason"] if self.bound else None
        found = [reason for reason in (reasons if isinstance(reasons, list) else [reasons]) if reason]
        return words + (f" (and perhaps none so few: {'; '.join(dict.fromkeys(found))})" if found else "")


def sweep(swept: Swept) -> None:
    """Print the points of a sweep: a row for each and each transport, means over its seeds."""
    _print(sweep_table(swept))


def sweep_table(swept: Swept) -> Shown:
    """The points of a sweep: a row for each and each transport, means over its seeds."""
    most = 60
    plan = swept.sweep
    groups = [swept.kept[i : i + len(plan.seeds)] for i in range(0, len(swept.kept), len(plan.seeds))]
    done = [[kept.result for kept in group if kept.error is None] for group in groups]
    merged = [over_seeds(runs) if runs else None for runs in done]
    figures = _figures([each for each in merged if each is not None])
    figures = [figure for figure in figures if figure[0] in (MISSED, "FCT p99", "goodput Mbps")]
    titles = [title for title, _, _ in figures]
    against = swept.against
    if against is not None and figures:
        titles.append(f"{figures[0][0]} - {against}")
    grid = Grid([*plan.axes, "transport"], [Column(title) for title in titles], plan.title)
    units = [
        _in_one_unit([run and find(run["summary"]) for run in merged[:most]], write)
        for _, find, write in figures
    ]
    for number, (group, run) in enumerate(zip(groups[:most], merged[:most], strict=True)):
        values = plan.values[number // len(plan.transports)]
        name = group[0].point.transport or (run["transport"] if run else "")
        cells = ["failed"]
        if run is not None:
            cells = [
                _written(find(run["summary"]), write)
                for (_, find, _), write in zip(figures, units, strict=True)
            ]
        if against is not None and figures:
            first = number - number % len(plan.transports)
            other = merged[first + plan.transports.index(against)]
            cells.append(_compared(figures[0], run, other) if name != against else "")
        grid.add([str(value) for value in (*values, name)], cells)
    failed = len(swept.failures)
    words = counted(len(groups), "row") + (f", of which {most} are shown" if len(groups) > most else "")
    words += f", {len(plan.seeds)} seeds each" if len(plan.seeds) > 1 else ""
    lines = [f"{words}; {counted(len(swept.kept) - failed, 'run')} went well, {failed} failed"]
    return grid, [*lines, *_left_open([run for run in merged if run is not None])]


def decision(data: dict[str, Any]) -> None:
    """Print what `tighten`, `capacity` or `need` found, a row and a sentence for each transport."""
    from duetime import decide

    tighter = data["question"] == "tighten"
    name = decide.ANSWERS[data["question"]]
    titles = [
        "tighter" if tighter else data["over"],
        "95 % interval",
        "missed % there",
        "missed % as written",
    ]
    bounded = any(each["bound_percent"] for each in data["answers"])
    titles += ["unavoidable % there"] if bounded else []
    grid = Grid(["transport"], [Column(title) for title in titles], data["title"], turns=True)
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
        grid.add([each["transport"]], cells)
    shown = tables.console()
    tables.show(shown, grid)
    for each in data["answers"]:
        tables.say(shown, decide.sentence(data, each))


def robustness(found: Robustness) -> None:
    """Print what each transport gave in every variant, and a sentence for each comparison."""
    _print(robustness_table(found))


def robustness_table(found: Robustness) -> tuple[Grid, list[str]]:
    """The table of variants, and the sentences below it."""
    title = f"{found.title}: {found.measure.name} [{found.measure.unit}]"
    grid = Grid(["variant"], [Column(name) for name in found.transports], title)
    for each in found.outcomes:
        values = (each.words(name) for name in found.transports)
        grid.add([each.variant.words], list(values))
    return grid, [verdict.sentence for verdict in found.verdicts]


def entries(known: list[dict[str, Any]]) -> None:
    """Print names with what they are."""
    _listed([(entry["name"], entry["help"]) for entry in known])


def entry(known: dict[str, Any], section: str | None, shared: list[dict[str, Any]]) -> None:
    """Print one transport, topology or pattern with its own keys and the keys shared with its kind."""
    shown = tables.console()
    shown.print(Text.assemble((known["name"], "bold"), "  ", known["help"]))
    if known.get("source"):
        shown.print(Text(f"Source: {known['source']}"))
    unread = known.get("unread", [])
    for title, keys in (
        (None, [key for key in known["keys"] if key["name"] not in unread]),
        (section and f"and those of every [{section}] section", shared),
    ):
        if keys:
            if title:
                shown.print(Text(title))
            tables.show(shown, _keys(keys))
    if unread:
        tables.say(shown, f"taken, so that one file is for all transports, and not read: {', '.join(unread)}")


def profile(known: dict[str, Any]) -> None:
    """Print one profile: what it sets, and where each value is from."""
    shown = tables.console()
    shown.print(Text.assemble((known["name"], "bold"), "  ", known["help"]))
    shown.print(Text(f"Source: {known['source']}"))
    if not known["settings"]:
        tables.say(shown, "sets nothing: duetime transports NAME shows the keys")
        return
    grid = Grid(["key"], [Column(title, words=True) for title in ("value", "source")])
    for each in known["settings"]:
        grid.add([f"{each['section']}.{each['key']}"], [preset(each), each["source"]])
    tables.show(shown, grid)
    tables.say(shown, "a key that is written replaces it; a transport keeps what it declares anew")


def preset(setting: dict[str, Any]) -> str:
    """Say what a setting of a profile is: the value, with the rule where it follows from another key."""
    value, default = setting["value"], setting["default"]
    return str(value) if value == default else f"{default} ({value})"


def experiments(known: list[tuple[str, str, str]]) -> None:
    """Print experiments: name, source, title."""
    _listed(known)


def _listed(known: Sequence[Sequence[str]]) -> None:
    """Print names in bold, each with its description; in a narrow terminal it is below the name."""
    shown = tables.console()
    widest = [max(len(words[place]) for words in known) for place in range(len(known[0]))]
    if sum(widest[:-1]) + 30 > shown.width:
        for words in known:
            shown.print(Text(words[0], "bold"))
            for each in words[1:]:
                tables.say(shown, each)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for place in range(len(widest)):
        table.add_column(style="bold" if place == 0 else None, no_wrap=place < len(widest) - 1)
    for words in known:
        table.add_row(*(Text(word) for word in words))
    shown.print(table)


def claims(data: dict[str, Any]) -> None:
    """Print the result of an experiment: each claim with the published and the measured value."""
    shown = tables.console()
    grid, sentences = claims_table(data)
    tables.show(shown, grid)
    for sentence in sentences:
        tables.say(shown, sentence, indent="")


def claims_table(data: dict[str, Any]) -> tuple[Grid, list[str]]:
    """The table of claims, and the finding below it."""
    title = f"{data['id']}: {data['title']} ({data['scale']}, {counted(len(data['seeds']), 'seed')})"
    columns = [Column(name, words=True) for name in ("published", "measured", "holds", "why not")]
    grid = Grid(["claim"], columns, title, wordy=True)
    for claim in data["claims"]:
        words = [_published(claim), _measured(claim), verdict(claim), claim["why"]]
        grid.add([claim["claim"]], words)
    return grid, [data["finding"]] if data.get("finding") else []


def claims_in_variants(found: dict[str, Any]) -> None:
    """Print in how many variants each claim holds, and the fewer of those where it does and does not."""
    columns = [Column("as written"), Column("held in"), Column("where", words=True)]
    grid = Grid(["claim"], columns, f"The claims in {len(found['variants'])} variants", wordy=True)
    for each in found["claims"]:
        few = each["where"] if len(each["where"]) <= len(each["where_not"]) else each["where_not"]
        word = "only " if few is each["where"] else "not "
        verdict = {True: "yes", False: "no", None: "-"}[each["as_written"]]
        where = word + "; ".join(few) if few else ""
        grid.add([each["claim"]], [verdict, f"{each['held']} of {each['of']}", where])
    tables.show(tables.console(), grid)


def tally(results: list[dict[str, Any]]) -> None:
    """Print the findings of several experiments, and how many facts of the papers hold."""
    shown = tables.console()
    grid = Grid(["experiment"], [Column("found", words=True)])
    for data in results:
        grid.add([data["id"]], [data.get("finding") or "-"])
    tables.show(shown, grid)
    counted = verdicts.tally([claim for data in results for claim in data["claims"]])
    words = ", ".join(f"{many} {verdicts.STATUSES[kind]}" for kind, many in counted.items() if many)
    text = f"Of what the papers say, each fact counted once: {words or 'nothing was judged'}."
    tables.say(shown, text, indent="")


def verdict(claim: dict[str, Any]) -> str:
    """Return the verdict on a claim, in a word or two."""
    kind = claim.get("kind", "claim")
    said = verdicts.STATUSES[verdicts.status(claim)]
    return said if kind == "claim" else f"{said} ({'set-up' if kind == 'setup' else 'own'})"


def _published(claim: dict[str, Any]) -> str:
    """Return the value that the source states, with its unit."""
    stated = claim["published"]
    number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return verdicts.in_unit(_stated(stated), claim["unit"] if number else "")


def _measured(claim: dict[str, Any]) -> str:
    """Return the measured value, with its unit and interval; and in the other regime, if there is one."""
    own, beside = _estimated(claim, claim["unit"]), claim.get("beside") or {}
    if beside.get("measured") is None:
        return own
    return f"{own}; {beside['regime']}: {_estimated(beside, claim['unit'])}"


def _estimated(one: dict[str, Any], unit: str) -> str:
    if one["measured"] is None:
        return "-"
    between = "" if one.get("low") is None else f" ({_stated(one['low'])} to {_stated(one['high'])})"
    return verdicts.in_unit(_stated(one["measured"]), unit) + between


def _stated(value: Any) -> str:
    return short(value, 4) if isinstance(value, float) else str(value)


def _keys(keys: list[dict[str, Any]]) -> Grid:
    columns = [Column("what", words=True), Column("default", words=True)]
    columns += [Column(title, words=True) for title in ("range", "what it does", "source")]
    grid = Grid(["key"], columns)
    for key in keys:
        default = "required" if key["required"] else default_of(key)
        cells = [key["kind"], default, _range(key), key["help"], key["source"]]
        grid.add([key["name"]], ["" if cell is None else str(cell) for cell in cells])
    return grid


def default_of(key: dict[str, Any]) -> str | None:
    """Return the default of a key, and the values of profiles that differ from it."""
    default = key["default"]
    others = {name: value for name, value in (key["profiles"] or {}).items() if value != default}
    if not others:
        return None if default is None else str(default)
    by_value: dict[str, list[str]] = {}
    for name, value in others.items():
        by_value.setdefault("none" if value is None else str(value), []).append(name)
    listed = "; ".join(f"{value} in {', '.join(names)}" for value, names in by_value.items())
    return f"{'none' if default is None else default} ({listed})"


def _range(key: dict[str, Any]) -> str | None:
    if key["choices"]:
        return ", ".join(key["choices"])
    if key["range"] is None or key["unit"] is None:
        return None if key["range"] is None else str(key["range"])
    return f"{key['range']} {key['unit']}"


def _title(data: dict[str, Any]) -> str:
    text = f"{data['title']}: {data['transport']}, seed {data['seed']}, {data['simulated_s']:.6g} s simulated"
    if data["wall_s"]:
        rate = data["packets_delivered"] / data["wall_s"] / 1e6
        text += f" in {data['wall_s']:.2f} s ({rate:.2f} M packets/s)"
    return text


def _totals(data: dict[str, Any]) -> str:
    names = ("packets_delivered", "drops", "marks", "timeouts", "retransmits")
    return ", ".join(f"{name.replace('_', ' ')} {_count(data[name])}" for name in names)


#: What a timer that expired is called, by its name in the results.
TIMERS = {
    "initial": "the first RTO (rto_initial)",
    "minimum": "the least RTO (rto_min)",
    "estimated": "the RTO of the measured round trip",
    "backed_off": "a doubled RTO",
    "own": "a time of the transport's own",
}


def _timers(data: dict[str, Any], of: str = "") -> list[str]:
    """Return the line about the timers of a run's timeouts, or of their means; none without timeouts."""
    timers = data.get("timers")
    # A testbed does not know its timers.
    if not timers or not _mean(data["timeouts"]):
        return []
    many = {name: _mean(value) or 0.0 for name, value in timers.items()}
    parts = [f"{_count(many[name])} by {words}" for name, words in TIMERS.items() if many[name]]
    if many["probes"]:
        parts.append(f"{_count(many['probes'])} tail-loss probe{'' if many['probes'] == 1 else 's'}")
    mean = ", mean over seeds" if isinstance(data["timeouts"], dict) else ""
    return [f"timeouts{of}{mean}: {', '.join(parts)}"] if parts else []


def _parts(
    data: dict[str, Any], figures: Sequence[Figure], runs: Sequence[dict[str, Any]] = ()
) -> list[tuple[str, Place, dict[str, Any]]]:
    """Return every class, every set of classes and all together: its name, its place, its figures.

    All together are left out if they repeat one of the others in all `runs`.
    """
    parts: list[tuple[str, Place, dict[str, Any]]] = [
        (f"class {name}" if name == ALL else name, ("classes", name), part)
        for name, part in data["classes"].items()
    ]
    parts += [(f"set {name}", ("sets", name), part) for name, part in data.get("sets", {}).items()]
    if any(_says_more(run, figures) for run in runs or [data]):
        parts.append((ALL, ("summary", ""), data["summary"]))
    return parts


def _says_more(run: dict[str, Any], figures: Sequence[Figure]) -> bool:
    """Return whether no single part of a run has the same figures as the whole run."""
    together = [find(run["summary"]) for _, find, _ in figures]

    def says_it(part: dict[str, Any]) -> bool:
        own = (find(part) for _, find, _ in figures)
        return all(value is None or value == other for value, other in zip(together, own, strict=True))

    return not any(says_it(part) for part in (*run["classes"].values(), *run.get("sets", {}).values()))


def _figures(runs: list[dict[str, Any]]) -> list[Figure]:
    """Choose the figures that any of the runs has something to say on."""
    known: list[Figure] = [
        ("messages", lambda part: part["messages"], _count),
        ("unfinished", lambda part: part["unfinished"], _count),
        (MISSED, lambda part: part["missed_percent"], _plain),
        ("queries complete %", lambda part: part.get("complete_queries_percent"), _plain),
        ("FCT p50", lambda part: _known(part["fct_us"], "p50"), MICROSECONDS),
        ("FCT p99", lambda part: _known(part["fct_us"], "p99"), MICROSECONDS),
        ("slowdown p99", lambda part: _known(part["slowdown"], "p99"), _plain),
        ("goodput Mbps", lambda part: part["goodput_mbps"], _plain),
        ("in time Mbps", lambda part: part["goodput_in_time_mbps"], _plain),
    ]
    parts = [part for run in runs for kind in ("classes", "sets") for part in run.get(kind, {}).values()]
    return [figure for figure in known if any(figure[1](part) is not None for part in parts)]


def _known(part: dict[str, Any], name: str) -> Any:
    """Return a figure of an object, or where it is not known its lower bound as over seeds."""
    bound = (part.get(BOUNDS) or {}).get(name)
    if part[name] is not None or bound is None:
        return part[name]
    return {"mean": None, "ci95": [None, None], BOUNDS: bound}


def _in_one_unit(values: Iterable[Any], write: Callable[[float], str]) -> Callable[[float], str]:
    """Return a formatter for a row or column: times in one unit, chosen by the least and the most."""
    if not isinstance(write, Time):
        return write
    present = [_mean(value) for value in values]
    sizes = sorted(abs(value) for value in present if value is not None and abs(value) > LEAST)
    if not sizes:
        return MICROSECONDS
    return next(
        (time for time in TIMES if sizes[0] >= time.unit or sizes[-1] >= LONG * time.unit), MICROSECONDS
    )


def _mean(value: Any) -> float | None:
    """Return a figure, its mean over seeds, or the lower bound of one that is not known."""
    if not isinstance(value, dict):
        return None if value is None else float(value)
    mean: float | None = value["mean"]
    return value.get(BOUNDS) if mean is None else mean


def _written(value: Any, write: Callable[[float], str]) -> str:
    """Write a figure; over seeds with its interval: ± where that is even, else its ends."""
    if value is None:
        return "-"
    if not isinstance(value, dict):
        return write(value)
    low, high = value["ci95"]
    mean = value["mean"]
    if mean is None:
        return f">= {write(value[BOUNDS])}" if BOUNDS in value else "-"
    if low is None:
        return write(mean)
    if isinstance(write, Time):
        parts = (_seen(part / write.unit, _hundredths) for part in (mean, (high - low) / 2))
        return f"{' ± '.join(parts)} {write.name}"
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
    if any(part["mean"] is None for part in parts):
        return "-"
    ours, theirs = (part["values"] for part in parts)
    pairs = zip(ours, theirs, strict=True)
    return _signed(difference([None if None in pair else pair[0] - pair[1] for pair in pairs]), write)


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
        return [f"the {count} seeds change nothing: every run is the same, and there is no interval"]
    if 1 < count < FEW_SEEDS:
        return [f"{count} seeds are few: intervals over fewer than {FEW_SEEDS} are wide, and rough"]
    return ["one seed has no interval"] if count == 1 else []


def _left_open(runs: list[dict[str, Any]]) -> list[str]:
    """Say which messages the end of the run left undecided."""

    def many(name: str) -> int:
        found = (run["summary"][name] for run in runs)
        return sum(int(sum(value["values"])) if isinstance(value, dict) else value for value in found)

    lines = []
    if many("undecided"):
        left = counted(many("undecided"), "message")
        lines.append(f"undecided when the run ended, and left out: {left} (see `cool_down`)")
    if many("censored"):
        left = counted(many("censored"), "message")
        lines.append(
            f"under way when the run ended: {left}; what depends on how long they took is shown as "
            ">= what it is if they had arrived then (see `cool_down`)"
        )
    return lines


def _nothing_missed(summary: dict[str, Any]) -> list[str]:
    """Bound the share of missed deadlines where none was missed."""
    decided = summary["with_deadline"] - summary["undecided"]
    if summary["missed"] or not decided:
        return []
    most = 100 * max_unseen(decided)
    return [
        f"none of {_count(decided)} deadlines was missed: with 95 % confidence less than {most:.2g} % "
        "would be, if one miss did not bring others"
    ]


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _hundredths(value: float) -> str:
    return f"{value:,.2f}"


def _plain(value: float) -> str:
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return "0.00" if text == "-0.00" else text
