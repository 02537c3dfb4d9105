"""The table and the sentences of a search: what `tighten`, `capacity` or `need` found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duetime.conditions import ALL_GOALS
from duetime.display.figures import as_plain, written
from duetime.display.grid import Column, Grid, Shown
from duetime.quantities import counted

if TYPE_CHECKING:
    from duetime.contract.searches import Answer, Found, Level, Question, Search

#: The key of each question's answer.
ANSWERS: dict[Question, Found] = {"tighten": "tighter_percent", "capacity": "largest", "need": "smallest"}

#: What an answer is called where the scenario names no transport of its own.
AS_WRITTEN = "the scenario"


def table(data: Search) -> Shown:
    """A row and a sentence for each transport."""
    tighter = data["question"] == "tighten"
    name = ANSWERS[data["question"]]
    missed = "miss rate %" if data.get("goal") is None else "late requests %"
    titles = [
        "tighter" if tighter else data["over"],
        "95 % CI",
        f"{missed} at answer",
        f"{missed} at baseline",
    ]
    bounded = any(each["bound_percent"] for each in data["answers"])
    titles += ["bound % at answer"] if bounded else []
    grid = Grid(["transport"], [Column(title) for title in titles], data["title"], turns=True)
    for each in data["answers"]:
        low, high = each["ci95"]
        interval = "-"
        if low is not None and high is not None:
            interval = f"{level(low, tighter)} to {level(high, tighter)}"
        elif low is not None or high is not None:
            interval = f"<= {level(high, tighter)}" if low is None else f">= {level(low, tighter)}"
        misses = [each["missed_percent"], each["as_written_missed_percent"]]
        cells = [level(each[name], tighter), interval, *(written(value, as_plain) for value in misses)]
        if bounded:
            cells.append(written(each["bound_percent"], as_plain))
        grid.add([each["transport"] or AS_WRITTEN], cells)
    return grid, [sentence(data, each) for each in data["answers"]]


def sentence(data: Search, answer: Answer) -> str:
    """Put the answer for one transport into a sentence."""
    tighter = data["question"] == "tighten"
    goal, beyond, few_misses = _limits(data)
    name = answer["transport"] or AS_WRITTEN
    few = answer.get("seeds")
    if few is not None:
        name += f", averaged over {counted(len(data['seeds']), 'seed')},"
    value = answer[ANSWERS[data["question"]]]
    if value is None:
        text = f"{name} {beyond}, even with {_easiest(data, answer)}"
        return f"{text}{_turned(data, answer)}{_time_up(data, answer)}{_too_few(few)}."
    if data["question"] == "need":
        text = f"{name} needs {data['over']} >= {level(value, tighter)} for {few_misses}"
    elif data["question"] == "capacity":
        text = f"{name} carries {data['over']} <= {level(value, tighter)} with {few_misses}"
    elif isinstance(value, str) or value >= 0:
        text = f"{name} {goal} with deadlines {level(value, tighter)} tighter"
    else:
        text = f"{name} {goal} only with deadlines {-value:g} % looser"
    low, high = answer["ci95"]
    if low is not None and high is not None:
        text += f" (95 % CI {_between(low, high, tighter)})"
    elif high is not None:
        text += f" (95 % CI up to {level(high, tighter)}, with no lower end)"
    elif low is not None:
        text += f" (95 % CI from {level(low, tighter)}, with no upper end)"
    more = "smaller" if data["question"] == "need" else "larger"
    if tighter:
        more = "tighter"
    if answer["ends_with"] == "scenario":
        text += f"; the scenario allows nothing {more}"
    elif answer["ends_with"] == "range":
        text += f"; {more} not tried"
    if answer["uneven"]:
        text += "; the miss rate is not monotonic: beyond that it falls again in places"
    return f"{text}{_turned(data, answer)}{_time_up(data, answer)}{_too_few(few)}."


def _easiest(data: Search, answer: Answer) -> str:
    """Name the easiest setting, which was tried and does not suffice."""
    if data["question"] == "tighten":
        return "deadlines four times as long"
    ends = [each["value"] for each in answer["tried"]]
    if not ends:
        return f"the {'smallest' if data['question'] == 'capacity' else 'largest'} {data['over']} tried"
    # Levels are in the order from easy to hard.
    return f"{data['over']} = {ends[0]}"


def _time_up(data: Search, answer: Answer) -> str:
    """Return the known range where the search ended early."""
    if answer["ends_with"] != "time":
        return ""
    tighter = data["question"] == "tighten"
    low, high = answer["between"]
    if low is not None and high is not None:
        known = f"the answer is between {level(low, tighter)} and {level(high, tighter)}"
    elif low is not None or high is not None:
        known = f"beyond {level(high if low is None else low, tighter)} nothing is known"
    else:
        known = "nothing else is known"
    return f"; --time ended the search: {known}"


def _limits(data: Search) -> tuple[str, str, str]:
    """Return the words for misses within the limit that was asked for, beyond it, and for few misses."""
    against, goal = data.get("against"), data.get("goal")
    if goal is None:
        limit = f"{against} (original deadlines)" if against else f"{data['target_percent']:g} %"
        few = f"no more misses than {against}" if against else f"at most {limit} misses"
        return f"misses {'no more than' if against else 'at most'} {limit}", f"misses more than {limit}", few
    missed = "miss a goal" if goal == ALL_GOALS else f"miss {goal}"
    if against:
        end = f"requests {missed} than {against} (original deadlines)"
        return f"lets no more {end}", f"lets more {end}", f"no more requests that {missed} than {against}"
    requests = f"{data['target_percent']:g} % of the requests {missed}"
    few = f"at most {data['target_percent']:g} % of requests that {missed}"
    return f"lets at most {requests}", f"lets more than {requests}", few


def _too_few(seeds: int | None) -> str:
    """Return the words for an answer that too few misses back."""
    return "" if seeds is None else f"; too few misses for an interval: use --seeds {seeds}"


def _turned(data: Search, answer: Answer) -> str:
    """Say so where the question was asked the wrong way round."""
    if not answer.get("turned"):
        return ""
    if data["question"] == "capacity":
        return f"; misses fall as {data['over']} grows: `duetime need` finds the smallest value"
    return f"; misses fall as {data['over']} shrinks: `duetime capacity` finds the largest value"


def level(value: Level | None, tighter: bool) -> str:
    """Write an answer, or an end of its interval."""
    if value is None:
        return "none"
    return f"{value:g} %" if tighter else str(value)


def _between(low: Level, high: Level, tighter: bool) -> str:
    """Write an interval, the lower end first; a unit that both ends share once."""
    if isinstance(low, str) and isinstance(high, str) and low.partition(" ")[2] == high.partition(" ")[2]:
        return f"{low.partition(' ')[0]} to {high}"
    if not tighter or isinstance(low, str) or isinstance(high, str):
        return f"{low} to {high}"
    if high < 0:
        return f"{-high:g} to {-low:g} % looser"
    return f"{low:g} to {high:g} % tighter" if low >= 0 else f"from {-low:g} % looser to {high:g} % tighter"
