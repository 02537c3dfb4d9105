"""Search for the limit up to which a scenario misses few enough deadlines.

Three questions of one kind: how much tighter deadlines can be, how much fan-in or load a network carries, and
how little rate or buffer it needs. All search for the hardest level at which at most a given share of the
deadlines is missed, by bisection over whole steps. Every level runs with the same seeds under every transport
(common random numbers). An interval is given where enough misses back each level that it rests on
(`statistics.seeds_needed`). Elsewhere an answer is an average, with the number of seeds that would suffice.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import _core, costs, errors, files, language, scenario
from duetime import transports as selection
from duetime.conditions import ALL_GOALS, goals_of
from duetime.engine.points import Kept, Point, finished, run_points
from duetime.language import catalog
from duetime.quantities import Quantity
from duetime.run import resolve_each
from duetime.statistics import difference, estimate, seeds_differ, seeds_needed, share, trials

if TYPE_CHECKING:
    from duetime.contract import searches
    from duetime.contract.runs import Mean, Summary
    from duetime.contract.scenarios import Resolved
    from duetime.contract.searches import Asked, Found, Level, Search
    from duetime.plots import Picture

#: Seeds of each level, unless asked otherwise: enough for an interval, few enough to wait for.
SEEDS = 5
#: The words where not even one level was measured.
TOO_SHORT = (
    "--time was up before the scenario as written had run with every seed; allow more time, or fewer --seeds"
)
#: Deadlines are made tighter or looser by up to so many percent.
TIGHTEST, LOOSEST = 99, 300


@dataclass(frozen=True)
class Ladder:
    """Levels from easy to hard: whole numbers, each for one value of a key."""

    easiest: int
    hardest: int
    #: The level of the scenario as it is written.
    start: int
    #: Levels that are tried in any case: misses need not rise evenly.
    scan: tuple[int, ...]
    #: Levels, in order, to try until one holds and one does not; the search continues between them.
    coarse: tuple[int, ...]
    #: The changes that make a level, and its value for people.
    changes: Callable[[int], tuple[str, ...]]
    value: Callable[[int], Level]


@dataclass(frozen=True)
class Runs:
    """The settings that all levels share."""

    scenario: Path
    overrides: tuple[str, ...]
    transports: tuple[str | None, ...]
    seeds: tuple[int, ...]
    store: Path
    jobs: int | None = None
    cluster: str | None = None
    progress: bool = True
    #: The memory that the runs of a level may need; none: any.
    allowed: costs.Limit | None = None
    #: The goal of requests that is to be reached, or `ALL_GOALS`; none: the deadlines of messages.
    goal: str | None = None
    #: The time by `time.monotonic` at which the search ends with the range known so far; none: no limit.
    until: float | None = None


@dataclass(frozen=True)
class Measured:
    """The misses of a transport at a level: of deadlines of messages, or of a goal of requests."""

    #: Percent: mean, one value for each seed, and 95 % interval unless misses are too few.
    missed: Mean
    #: The same, less what the level may miss at most. Its interval guides the search, few misses or not.
    excess: Mean
    #: About how many seeds would do, where misses are too few for an interval.
    seeds: int | None
    #: Percent that no schedule could avoid, where the results say it.
    bound: Mean | None


@dataclass
class Answer:
    """The answer for one transport."""

    transport: str | None
    ladder: Ladder
    #: Level -> its measurement; none where the scenario is impossible.
    levels: dict[int, Measured | None] = field(default_factory=dict)
    #: Whether the time was up before all was known.
    stopped: bool = False

    def best(self) -> int | None:
        """Return the hardest level that holds on average, as every easier one that was tried."""
        return self._bracket("mean")[0]

    def interval(self) -> tuple[int | None, int | None]:
        """Return the hardest level that surely holds, and the hardest that may hold, with 95 % confidence."""
        if all(each is None or each.excess["ci95"][0] is None for each in self.levels.values()):
            return None, None
        if self.seeds() is not None or self.stopped:
            return None, None
        return self._bracket("high")[0], self._bracket("low")[0]

    def seeds(self) -> int | None:
        """Return about how many seeds would do, where misses are too few to rely on the answer."""
        ends = {level for end in ("mean", "high", "low") for level in self._bracket(end)}
        found = (self.levels[level] for level in ends if level is not None)
        return max((each.seeds for each in found if each and each.seeds is not None), default=None)

    def next(self) -> set[int]:
        """Return the levels to try next; none when all is known to one step."""
        if not self.levels:
            return set(self.ladder.scan)
        wanted = (self._wanted(end) for end in ("mean", "high", "low"))
        return {level for level in wanted if level is not None} - self.levels.keys()

    def uneven(self) -> bool:
        """Return whether a harder level than the answer holds although an easier one does not."""
        _, bad = self._bracket("mean")
        return bad is not None and any(level > bad and self._holds(level, "mean") for level in self.levels)

    def turned(self) -> bool:
        """Return whether misses, as far as was tried, fall towards the levels taken for harder."""
        means = [each.missed["mean"] for _, each in sorted(self.levels.items()) if each is not None]
        return len(means) > 1 and means[-1] < means[0]

    def failing(self) -> int | None:
        """Return the easiest level that was tried and does not hold; none where every level holds."""
        return self._bracket("mean")[1]

    def ends_with(self) -> str | None:
        """Say why there is no harder or no easier answer, if the search did not end between two levels."""
        ok, bad = self._bracket("mean")
        if self.stopped:
            return "time"
        if ok is None:
            return "unreachable"
        if bad is None:
            return "range"
        return "scenario" if self.levels[bad] is None else None

    def _wanted(self, end: str) -> int | None:
        tried = sorted(self.levels)
        ok, bad = self._bracket(end)
        if ok is None:
            easier = [level for level in self.ladder.coarse if level < tried[0]]
            return easier[-1] if easier else None
        if bad is None:
            harder = [level for level in self.ladder.coarse if level > tried[-1]]
            return harder[0] if harder else None
        return (ok + bad) // 2 if bad - ok > 1 else None

    def _bracket(self, end: str) -> tuple[int | None, int | None]:
        bad = min((level for level in self.levels if not self._holds(level, end)), default=None)
        held = (level for level in self.levels if self._holds(level, end) and (bad is None or level < bad))
        return max(held, default=None), bad

    def _holds(self, level: int, end: str) -> bool:
        """Return whether the mean, or an end of its interval, is within the limit."""
        measured = self.levels[level]
        if measured is None:
            return False
        excess = measured.excess
        low, high = excess["ci95"]
        value = {"mean": excess["mean"], "low": low, "high": high}[end]
        return bool((excess["mean"] if value is None else value) <= 0)


@dataclass(frozen=True)
class Decision:
    """The answers, and the question."""

    data: Search = field(repr=False)

    def __repr__(self) -> str:
        """Return a sentence for each answer."""
        # Loaded late: it takes time to load, and a command shows a table instead.
        from duetime.display import decisions

        return "\n".join(decisions.sentence(self.data, each) for each in self.data["answers"])

    def plot(self) -> Picture:
        """Draw the answers, and the misses at all that was tried; `Missing` without matplotlib."""
        from duetime.plots import picture

        return picture(self.save)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``tighten.json``, ``capacity.json`` or ``need.json``, after the question, into a folder."""
        path = Path(folder)
        files.check_growing(path, {RUNS, f"{self.data['question']}.json", "report.html"})
        path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.data, indent=2, ensure_ascii=False) + "\n"
        name = f"{self.data['question']}.json"
        with files.sealing(path, [name]):
            files.write(path / name, text.encode())
        return path


#: Where a search keeps finished runs.
RUNS = "runs"


def tighten(
    runs: Runs, *, target: float | None = None, against: str | None = None, step: float = 1.0
) -> Decision:
    """Find how much tighter deadlines can be, in steps of `step` percent.

    At most `target` percent may be missed; or no more than the transport `against` misses with the deadlines
    as they are written, seed by seed. A negative answer means that deadlines must be looser.

    Raises `ScenarioError` or `errors.Unreadable` for a scenario without valid runs or without deadlines.
    """
    names = [each["name"] for each in catalog()["transports"]]
    if against is not None and not selection.is_plugin(against) and selection.split(against)[0] not in names:
        raise errors.Unreadable(f"--against {against}: there is no such transport{_meant(against, names)}")
    resolved, _ = _resolved(runs)
    written = float(resolved["run"]["deadline_factor"])

    def value(level: int) -> float:
        return round(level * step, 9)

    def changes(level: int) -> tuple[str, ...]:
        return (f"run.deadline_factor={written * (1 - level * step / 100):.9g}",)

    coarse = (-LOOSEST, -200, -100, -50, -25, 0, 20, 40, 60, 80, 90, TIGHTEST)
    levels = tuple(dict.fromkeys(int(percent / step) for percent in coarse))
    scan = tuple(level for level in levels if 0 <= level * step <= 80)
    ladder = Ladder(levels[0], levels[-1], 0, scan, levels, changes, value)
    allowed: float | list[float] | None = target
    if against is not None:
        found = _evaluate(runs, {(against, 0)}, ladder)
        if not found:
            raise errors.Failed(TOO_SHORT)
        allowed = _missed(found[against, 0], runs.goal)
    assert allowed is not None
    answers = _search(runs, ladder, allowed)
    asked: Asked = {
        "question": "tighten",
        "target_percent": target,
        "against": against,
        "step_percent": step,
    }
    if isinstance(allowed, list):
        asked["against_missed_percent"] = share(allowed)
    return _decision(runs, resolved, asked, answers, "tighter_percent")


def capacity(
    runs: Runs,
    *,
    target: float,
    over: str | None = None,
    start: str | None = None,
    end: str | None = None,
    step: str | None = None,
) -> Decision:
    """Find the largest value of the key `over` at which at most `target` percent of the deadlines are missed.

    Without a key it is the scenario's fan-in, or else its load. `start`, `end`, and `step` are written as in
    a scenario ("10", "5%"); by default they follow from the value that the scenario has.

    Raises what `tighten` raises.
    """
    resolved, _ = _resolved(runs)
    key = (over or _obvious(resolved)).removeprefix("$")
    written = _written(resolved, key)
    _check_direction(key, "more", "duetime need", "smallest")
    ladder = _values(key, written, start, end, step, unit=_unit(runs, key))
    answers = _search(runs, ladder, target)
    asked: Asked = {"question": "capacity", "target_percent": target, "over": key}
    return _decision(runs, resolved, asked, answers, "largest")


def need(
    runs: Runs,
    *,
    target: float,
    over: str,
    start: str | None = None,
    end: str | None = None,
    step: str | None = None,
) -> Decision:
    """Find the smallest value of the key `over` at which at most `target` percent of deadlines are missed.

    Its other arguments and its errors are the same as for `capacity`.
    """
    resolved, _ = _resolved(runs)
    key = over.removeprefix("$")
    written = _written(resolved, key)
    _check_direction(key, "less", "duetime capacity", "largest")
    ladder = _values(key, written, start, end, step, unit=_unit(runs, key), smallest=True)
    answers = _search(runs, ladder, target)
    asked: Asked = {"question": "need", "target_percent": target, "over": key}
    return _decision(runs, resolved, asked, answers, "smallest")


def _resolved(runs: Runs) -> tuple[Resolved, list[str]]:
    """Check every transport, so that a mistake shows before the first run."""
    read = scenario.read_file(runs.scenario)
    resolved, notes = resolve_each(read, None, list(runs.overrides), runs.transports)[runs.transports[0]]
    if runs.goal is not None:
        _check_goal(runs.goal, resolved)
    return resolved, notes


def _check_goal(goal: str, resolved: Resolved) -> None:
    classes = [each for each in resolved["traffic"] if each["pattern"] == "stages"]
    known = list(dict.fromkeys(name for each in classes for name in goals_of(each)))
    if not known:
        raise errors.Unreadable("no class has requests with a goal (pattern `stages`, `deadline` or `goal`)")
    if goal not in (*known, ALL_GOALS):
        raise errors.Unreadable(
            f"--goal {goal}: there is no such goal{_meant(goal, known)} (the scenario has {', '.join(known)})"
        )


def _search(runs: Runs, ladder: Ladder, allowed: float | list[float]) -> list[Answer]:
    answers = [Answer(transport, ladder) for transport in runs.transports]
    while wanted := {(answer.transport, level) for answer in answers for level in answer.next()}:
        found = _evaluate(runs, wanted, ladder)
        for answer in answers:
            for (transport, level), kept in found.items():
                if transport == answer.transport:
                    answer.levels[level] = _measured(kept, allowed, runs.goal)
        if found.keys() < wanted:
            _end_early(answers)
            break
    return answers


def _end_early(answers: Sequence[Answer]) -> None:
    """Mark answers that the time was too short for; `errors.Failed` where the scenario itself was not run."""
    for answer in answers:
        answer.stopped = bool(answer.next())
        if answer.ladder.start not in answer.levels:
            raise errors.Failed(TOO_SHORT)


def _evaluate(
    runs: Runs, wanted: set[tuple[str | None, int]], ladder: Ladder
) -> dict[tuple[str | None, int], list[Kept]]:
    # The scenario as written is first: the answer needs it whenever the time is up.
    order = sorted(wanted, key=lambda each: (each[1] != ladder.start, each[0] or "", each[1]))
    points = [
        Point(runs.scenario, (*runs.overrides, *ladder.changes(level)), transport, seed)
        for transport, level in order
        for seed in runs.seeds
    ]
    costs.afford_points(points, runs.allowed, jobs=runs.jobs, cluster=runs.cluster)
    kept = _kept(points, runs)
    count = len(runs.seeds)
    groups = {each: kept[i * count : (i + 1) * count] for i, each in enumerate(order)}
    found = {
        each: [kept for kept in group if kept is not None]
        for each, group in groups.items()
        if None not in group
    }
    for (_, level), group in found.items():
        _check(group, level == ladder.start)
    return found


def _kept(points: list[Point], runs: Runs) -> list[Kept | None]:
    """Run points; a point that the time was too short for is none."""
    try:
        return [
            *run_points(
                points,
                store=runs.store,
                jobs=runs.jobs,
                cluster=runs.cluster,
                progress=runs.progress,
                until=runs.until,
            )
        ]
    except errors.TimeUp:
        known = finished(points, store=runs.store)
        return [known.get(number) for number in range(len(points))]


def _check(group: list[Kept], is_written: bool) -> None:
    """Refuse runs that failed; a level that the scenario does not allow is an answer, if it is another."""
    failed = next((kept for kept in group if kept.error is not None), None)
    if failed is not None and (is_written or failed.key):
        raise errors.Unreadable(str(failed.error).removeprefix("error: "))


def _measured(group: list[Kept], allowed: float | list[float], goal: str | None) -> Measured | None:
    if any(kept.error is not None for kept in group):
        return None
    missed = _missed(group, goal)
    summaries = [kept.run["summary"] for kept in group]
    events = _trials(summaries, goal)
    found, always = share(missed, events), share(missed, events, always=True)
    assert found is not None
    assert always is not None
    if isinstance(allowed, list):
        apart = [value - limit for value, limit in zip(missed, allowed, strict=True)]
        excess, told = estimate(apart), difference(apart)
        seeds = told.get("seeds") if told else None
    else:
        # A search needs an interval at each level, few events or not.
        ends = [None if end is None else end - allowed for end in always["ci95"]]
        values = [value - allowed for value in missed]
        excess = {"mean": found["mean"] - allowed, "ci95": ends, "values": [*values]}
        seeds = found.get("seeds")
        if found["mean"] in (0, 100) and ends == [None, None] and seeds_differ(summaries):
            # Without queries or requests to count, zero misses in all seeds give no bound.
            seeds = seeds_needed(missed, found["mean"])
    assert excess is not None
    # The bound counts messages.
    runs = [kept.run for kept in group if goal is None]
    bounds = [bound["missed_percent"] if (bound := run.get("bound")) else None for run in runs]
    return Measured(found, excess, seeds, share(bounds))


def _missed(group: list[Kept], goal: str | None) -> list[float]:
    missed = []
    for kept in group:
        if kept.error is not None:
            raise errors.Unreadable(kept.error.removeprefix("error: "))
        percent = _missed_percent(kept.run["summary"], goal)
        if percent is None:
            what = "message has a deadline" if goal is None else "request has a goal"
            raise errors.Unreadable(f"{kept.point.scenario}: no {what} that was decided")
        missed.append(percent)
    return missed


def _missed_percent(summary: Summary[int, float], goal: str | None) -> float | None:
    """Return the share of messages that missed their deadline, or of requests that missed a goal."""
    if goal is None:
        return summary["missed_percent"]
    attained = _attained(summary, goal)
    return None if attained is None else 100 - attained


def _attained(summary: Summary[int, float], goal: str) -> float | None:
    """Return the share of requests that reached a goal, or all goals."""
    requests = summary["requests"]
    if goal == ALL_GOALS:
        return requests["all_goals_percent"]
    return requests["goals"][goal]["attainment_percent"]


def _trials(summaries: list[Summary[int, float]], goal: str | None) -> list[float]:
    """Return the number of independent events behind each seed's share: queries, or requests."""
    if goal is None:
        return trials("missed_percent", summaries)
    requests = [summary["requests"] for summary in summaries]
    if goal == ALL_GOALS:
        return trials("all_goals_percent", requests)
    return trials("attainment_percent", [each["goals"][goal] for each in requests])


def _decision(runs: Runs, resolved: Resolved, asked: Asked, answers: list[Answer], name: Found) -> Decision:
    if runs.goal is not None:
        asked["goal"] = runs.goal
    return Decision(
        {
            "version": _core.version(),
            "title": resolved["title"],
            **asked,
            "seeds": list(runs.seeds),
            "answers": [_answered(answer, resolved, name) for answer in answers],
        }
    )


def _answered(answer: Answer, resolved: Resolved, name: Found) -> searches.Answer:
    best, value = answer.best(), answer.ladder.value
    at = None if best is None else answer.levels[best]
    written = answer.levels[answer.ladder.start]
    assert written is not None
    # The lower end first: of the smallest value the end that surely suffices is the larger one.
    ends, bracket = answer.interval(), (best, answer.failing())
    if name == "smallest":
        ends, bracket = (ends[1], ends[0]), (bracket[1], bracket[0])
    seeds, own = answer.seeds(), resolved.get("transport")
    few: searches.TooFew = {} if seeds is None else {"seeds": seeds}
    direction: searches.Direction = {} if name == "tighter_percent" else {"turned": answer.turned()}
    return {
        "transport": selection.label(answer.transport) if answer.transport else own and own["name"],
        **_value(name, None if best is None else value(best)),
        "ci95": [None if level is None else value(level) for level in ends],
        "between": [*(None if level is None else value(level) for level in bracket)],
        **few,
        "missed_percent": None if at is None else at.missed,
        "bound_percent": None if at is None else at.bound,
        "as_written_missed_percent": written.missed,
        "ends_with": answer.ends_with(),
        "uneven": answer.uneven(),
        **direction,
        "tried": [
            {"value": value(level), "missed_percent": None if each is None else each.missed}
            for level, each in sorted(answer.levels.items())
        ],
    }


def _value(name: Found, level: Level | None) -> searches.Value:
    if name == "tighter_percent":
        return {"tighter_percent": level}
    return {"largest": level} if name == "largest" else {"smallest": level}


def _check_direction(key: str, wrong: str, other: str, extreme: str) -> None:
    """Refuse a question whose answer is known to have no end."""
    if language.easier(key) == wrong:
        raise errors.Unreadable(
            f"--over {key}: {wrong} of it makes deadlines easier to meet; "
            f"`{other}` finds the {extreme} that does"
        )


def _values(
    key: str,
    written: object,
    start: str | None,
    end: str | None,
    step: str | None,
    *,
    unit: str | None = None,
    smallest: bool = False,
) -> Ladder:
    """Return levels from the smallest value up or, where the smallest is searched, from the largest down.

    Values are in the unit of `start`, `end` or `step`, else in `unit`, that of the scenario's file.
    """
    now = Quantity.as_written(written, f"{key} (as the scenario has it)")
    given = (Quantity.as_written(each, "a value").unit for each in (start, end, step) if each is not None)
    for wanted in (*filter(None, given), unit or now.unit):
        if (same := now.to(wanted)) is not None:
            now = Quantity(float(f"{same.number:.9g}"), wanted)
            break
    first = None if start is None else _same_unit(Quantity.as_written(start, "--from"), now, "--from")
    last = None if end is None else _same_unit(Quantity.as_written(end, "--to"), now, "--to")
    width = _step(now) if step is None else _same_unit(Quantity.as_written(step, "--step"), now, "--step")
    if width <= 0:
        raise errors.Unreadable("--step must be above 0")
    lowest = width if first is None else first
    # Without an end the search doubles, up to what the scenario allows.
    highest = now.number * 64 if last is None else last
    if not lowest <= now.number <= highest:
        now = Quantity(min(max(now.number, lowest), highest), now.unit)
    if highest < lowest:
        raise errors.Unreadable("--from must not be above --to")
    count = int((highest - lowest) / width + 1e-9)
    at = min(count, round((now.number - lowest) / width))
    coarse = _doubling(at, count)
    # For a key without a known direction a second value shows which direction is harder.
    scan = {at} if language.easier(key) else {at, min(count, 2 * at + 1)}
    if smallest:
        at, scan = count - at, {count - level for level in scan}
        coarse = tuple(sorted(count - level for level in coarse))

    def value(level: int) -> int | float | str:
        found = Quantity(lowest + (count - level if smallest else level) * width, now.unit)
        whole = found.number == int(found.number)
        return str(found) if found.unit else int(found.number) if whole else float(str(found))

    def changes(level: int) -> tuple[str, ...]:
        found = value(level)
        return (f'{key}="{found}"' if isinstance(found, str) else f"{key}={found}",)

    return Ladder(0, count, at, tuple(sorted(scan)), coarse, changes, value)


def _same_unit(quantity: Quantity, other: Quantity, what: str) -> float:
    same = quantity.to(other.unit)
    if same is None:
        raise errors.Unreadable(f"{what} must have the unit of the scenario's value, {other}, not {quantity}")
    return same.number


def _step(now: Quantity) -> float:
    """Return one for a count or whole percents, otherwise about a twentieth of the value."""
    if now.unit in ("", "%") and now.number == int(now.number):
        return 1.0
    step = float(f"{now.number / 20:.1g}")
    return max(1.0, round(step)) if now.unit.startswith("packet") else step


def _unit(runs: Runs, key: str) -> str | None:
    """Return the unit that the user wrote for a key, in a change or in the file; none if it is not known."""
    for change in reversed(runs.overrides):
        path, _, value = change.partition("=")
        if path.strip().removeprefix("$") == key:
            return _unit_of(value.strip().strip("\"'"))
    part: object = tomllib.loads(scenario.read_file(runs.scenario).text)
    words = key.split(".") if "." in key else ["parameters", key]
    while words and isinstance(part, dict):
        if words[0] == "traffic" and isinstance(part.get("traffic"), list):
            rest = key.partition(".")[2]
            fits = [each for each in part["traffic"] if rest.startswith(f"{each.get('name')}.")]
            part = max(fits, key=lambda each: len(each["name"]), default=None)
            words = rest[len(part["name"]) + 1 :].split(".") if part else []
        else:
            part, words = part.get(words[0]), words[1:]
    return _unit_of(part)


def _unit_of(written: object) -> str | None:
    """Return the unit of a text that is a quantity; none for other values."""
    try:
        return Quantity.as_written(written, "a value").unit if isinstance(written, str) else None
    except errors.Unreadable:
        return None


def _doubling(at: int, count: int) -> tuple[int, ...]:
    """Levels around `at`: each twice as far from the easiest as the one before."""
    up = [level for level in ((at + 1) * 2**i - 1 for i in range(1, 40)) if level < count]
    down = [(at + 1) // 2**i - 1 for i in range(1, 40) if (at + 1) // 2**i >= 1]
    return tuple(sorted({0, *down, at, *up, count}))


def _obvious(resolved: Resolved) -> str:
    """Name the scenario's fan-in, or else its load."""
    for name in ("fan_in", "load"):
        if name in resolved.get("parameters", {}):
            return name
    candidates = [
        f"traffic.{each['name']}.{key}" + (".share" if isinstance(each[key], dict) else "")
        for key in ("leaves", "load")
        for each in resolved["traffic"]
        if key in each
    ]
    of_kind = [key for key in candidates if key.endswith(".leaves")] or candidates
    if len(of_kind) == 1:
        return of_kind[0]
    meant = (
        f"for example one of {', '.join(candidates)}"
        if candidates
        else "the scenario has no fan-in and no load"
    )
    raise errors.Unreadable(f"name the key to raise with --over: {meant}")


def _written(resolved: Resolved, key: str) -> object:
    """Find the value that a scenario has for a key, written as for ``--set``."""
    if "." not in key:
        parameters = resolved.get("parameters", {})
        if key not in parameters:
            known, meant = ", ".join(parameters) or "none", _meant(key, parameters)
            paths = [path for path in _paths(resolved) if path.endswith(f".{key}")]
            meant = f"; did you mean {' or '.join(paths)}?" if paths else meant
            raise errors.Unreadable(
                f"--over {key}: there is no such parameter{meant} (the scenario has {known})"
            )
        return parameters[key]
    section, rest = key.split(".", 1)
    part = resolved.get(section)
    if section == "traffic":
        named = [each for each in resolved["traffic"] if rest.startswith(f"{each['name']}.")]
        if not named:
            known = ", ".join(each["name"] for each in resolved["traffic"])
            raise errors.Unreadable(f"--over {key}: there is no such class; the scenario has {known}")
        part = max(named, key=lambda each: len(each["name"]))
        rest = rest[len(part["name"]) + 1 :]
    for word in rest.split("."):
        if not isinstance(part, dict) or word not in part:
            meant = _meant(key, _paths(resolved))
            raise errors.Unreadable(f"--over {key}: the scenario has no value for it{meant}")
        part = part[word]
    return part


def _paths(resolved: Resolved) -> list[str]:
    """Return the path of every key that the scenario has a value for."""
    tables: dict[str, object] = {
        "network": resolved["network"],
        "transport": resolved.get("transport"),
        "run": resolved["run"],
    }
    tables |= {f"traffic.{each['name']}": each for each in resolved["traffic"]}
    return [row_path for path, table in tables.items() if table for row_path in _below(path, table)]


def _below(path: str, part: object) -> Iterator[str]:
    if not isinstance(part, dict):
        yield path
        return
    for key, each in part.items():
        yield from _below(f"{path}.{key}", each)


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
