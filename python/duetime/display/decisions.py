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
    missed = "missed %" if data.get("goal") is None else "late requests %"
    titles = [
        "tighter" if tighter else data["over"],
        "95 % interval",
        f"{missed} there",
        f"{missed} as written",
    ]
    bounded = any(each["bound_percent"] for each in data["answers"])
    titles += ["unavoidable % there"] if bounded else []
    grid = Grid(["transport"], [Column(title) for title in titles], data["title"], turns=True)
    for each in data["answers"]:
        low, high = each["ci95"]
        interval = "-"
        if low is not None or high is not None:
            interval = f"{level(low, tighter)} to {level(high, tighter)}"
        misses = [each["missed_percent"], each["as_written_missed_percent"]]
        cells = [level(each[name], tighter), interval, *(written(value, as_plain) for value in misses)]
        if bounded:
            cells.append(written(each["bound_percent"], as_plain))
        grid.add([each["transport"] or AS_WRITTEN], cells)
    return grid, [sentence(data, each) for each in data["answers"]]


def sentence(data: Search, answer: Answer) -> str:
    """Put the answer for one transport into a sentence."""
    tighter = data["question"] == "tighten"
    goal, beyond = _limits(data)
    name = answer["transport"] or AS_WRITTEN
    few = answer.get("seeds")
    if few is not None:
        name += f", on average of {counted(len(data['seeds']), 'seed')},"
    value = answer[ANSWERS[data["question"]]]
    if value is None:
        most = "smallest" if data["question"] == "capacity" else "largest"
        easiest = "deadlines four times as long" if tighter else f"the {most} {data['over']} that was tried"
        text = f"{name} {beyond}, even with {easiest}"
        return f"{text}{_turned(data, answer)}{_too_few(few)}."
    if not tighter or isinstance(value, str):
        so_far = "up to" if data["question"] == "capacity" else "from"
        text = f"{name} {goal} {so_far} {data['over']} = {value}"
        text += "" if data["question"] == "capacity" else " on"
    elif value >= 0:
        text = f"{name} {goal} with deadlines {value:g} % tighter"
    else:
        text = f"{name} {goal} only with deadlines {-value:g} % looser"
    low, high = answer["ci95"]
    if low is not None and high is not None:
        text += f" (with 95 % confidence {_between(low, high, tighter)})"
    elif high is not None:
        text += f" (with 95 % confidence no more than {level(high, tighter)}, and perhaps never)"
    more = "less" if data["question"] == "need" else "more"
    if answer["ends_with"] == "scenario":
        text += f"; the scenario allows no {more}"
    elif answer["ends_with"] == "range":
        text += f"; {more} was not tried"
    if answer["uneven"]:
        text += "; misses do not rise evenly, beyond that they fall again in places"
    return f"{text}{_turned(data, answer)}{_too_few(few)}."


def _limits(data: Search) -> tuple[str, str]:
    """Return the words for misses within the limit that was asked for, and for misses beyond it."""
    against, goal = data.get("against"), data.get("goal")
    if goal is None:
        limit = (
            f"{against} does with the deadlines as written" if against else f"{data['target_percent']:g} %"
        )
        return f"misses {'no more than' if against else 'at most'} {limit}", f"misses more than {limit}"
    missed = "miss a goal" if goal == ALL_GOALS else f"miss {goal}"
    if against:
        end = f"requests {missed} than {against} does with the deadlines as written"
        return f"lets no more {end}", f"lets more {end}"
    requests = f"{data['target_percent']:g} % of the requests {missed}"
    return f"lets at most {requests}", f"lets more than {requests}"


def _too_few(seeds: int | None) -> str:
    """Return the words for an answer that too few misses back."""
    return "" if seeds is None else f"; too few misses to compare, {seeds} seeds would do"


def _turned(data: Search, answer: Answer) -> str:
    """Say so where the question was asked the wrong way round."""
    if not answer.get("turned"):
        return ""
    if data["question"] == "capacity":
        return f"; misses fall as {data['over']} grows: `duetime need` asks for the smallest"
    return f"; misses fall as {data['over']} shrinks: `duetime capacity` asks for the largest"


def level(value: Level | None, tighter: bool) -> str:
    """Write an answer, or an end of its interval."""
    if value is None:
        return "none"
    return f"{value:g} %" if tighter else str(value)


def _between(low: Level, high: Level, tighter: bool) -> str:
    """Write an interval; that of the smallest value has its sure end first, which is the larger."""
    if not tighter or isinstance(low, str) or isinstance(high, str):
        return f"{low} to {high}"
    if high < 0:
        return f"{-high:g} to {-low:g} % looser"
    return f"{low:g} to {high:g} % tighter" if low >= 0 else f"from {-low:g} % looser to {high:g} % tighter"
