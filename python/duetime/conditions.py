"""Conditions under which a run or a comparison fails, for checks that machines make: ``--fail-if``.

``answers.missed_percent > 1`` refers to the class ``answers``; without a class, to all messages together;
``d2tcp: answers.missed_percent > 1`` to one transport only. A number without a unit has the unit of the
figure's name.

Over several seeds the end of the 95 % interval on the condition's side decides: a failure that the seeds
cannot exclude is a failure. A condition that is `certain` fails only if the whole interval is on that side.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from duetime.contract.figures import at, bound_at
from duetime.errors import MistakenCondition
from duetime.quantities import short
from duetime.statistics import BOUNDS

if TYPE_CHECKING:
    from duetime.contract.runs import Bounded, Figure, Judged, OfTransport
    from duetime.contract.scenarios import Resolved

TIMES = ("mean", "p50", "p90", "p99", "p999", "max")
#: Figures of a class, or of all classes together, that a condition can use.
FIGURES = (
    *(
        "messages",
        "completed",
        "unfinished",
        "censored",
        "with_deadline",
        "missed",
        "undecided",
        "missed_percent",
    ),
    *("goodput_mbps", "goodput_in_time_mbps", "bottleneck_delay_us", "bottleneck_mbps", "too_late"),
    *(f"fct_us.{each}" for each in TIMES),
    *(f"slowdown.{each}" for each in ("mean", "p50", "p99", "p999")),
    *(f"deadline_ratio.{each}" for each in ("p50", "p90", "p99")),
    *("queries", "complete_queries_percent", "answers_in_time_percent.mean", "answers_in_time_percent.p1"),
    *(f"query_us.{each}" for each in TIMES),
)
#: In place of one goal of requests: every one that they have.
ALL_GOALS = "all goals"
#: Figures of the requests of stages, in the object `requests`.
OF_REQUESTS = (
    *("number", "finished", "abandoned", "censored", "missed", "undecided"),
    *("all_goals_percent", "finished_per_s", "goodput_per_s"),
    *(f"time_us.{each}" for each in ("mean", "p50", "p95", "p99")),
    *(f"slowdown.{each}" for each in ("mean", "p50", "p99", "p999")),
)
#: Figures of the whole run only.
TOTALS = ("drops", "trims", "marks", "timeouts", "retransmits")
#: Figures of classes that all together do not have.
OF_CLASSES = ("bottleneck_delay_us", "bottleneck_mbps", "too_late")

COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
#: The unit at the end of a figure's name: the units that may be written, and their factors.
UNITS: dict[str, dict[str, float]] = {
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},
    "percent": {"%": 1.0},
    "mbps": {"bps": 1e-6, "Kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3},
}
#: Behind the transport.
_REST = (
    r"\s*(?P<figure>[^<>=]*?)\s*(?P<op>>=|<=|>|<|==?|$)"
    r"\s*(?P<number>[-+]?[\d.]*(?:e[-+]?\d+)?)\s*(?P<unit>\S*)\s*$"
)


@dataclass(frozen=True)
class Condition:
    """A figure, and the side of a threshold on which it must not be."""

    text: str
    #: None: every transport.
    transport: str | None
    #: None: all classes together.
    of_class: str | None
    figure: str
    op: str
    threshold: float
    certain: bool = False

    def hold_against(self, transport: str, result: OfTransport) -> Judged:
        """Evaluate the condition on a run, or on several seeds: the value, and whether it ``failed``."""
        found = self._of(result)
        low, high = found["ci95"] if isinstance(found, dict) else (None, None)
        value = found["mean"] if isinstance(found, dict) else found
        least = self._bound(result, found)
        upwards = self.op.startswith(">")
        end = high if upwards != self.certain else low
        decisive = value if end is None else end
        # A figure that was not measured is not known to be right.
        failed = not self.certain if decisive is None else COMPARE[self.op](decisive, self.threshold)
        if decisive is None and least is not None:
            # Of a value with only a lower bound, only the bound is certain.
            above = COMPARE[">=" if self.op == "<" else ">"](least, self.threshold)
            failed = (
                above
                if upwards and self.certain
                else not above
                if not upwards and not self.certain
                else failed
            )
        bounded: Bounded = {} if least is None else {"at_least": least}
        return {
            "condition": self.text,
            "transport": transport,
            "class": self.of_class,
            "figure": self.figure,
            "threshold": self.threshold,
            "value": value,
            "ci95": [low, high],
            **bounded,
            "failed": failed,
        }

    def _bound(self, result: OfTransport, found: Figure) -> float | None:
        """Return the lower bound of a figure that is not known; none where there is none."""
        if isinstance(found, dict):
            return found.get(BOUNDS) if found["mean"] is None else None
        return bound_at(self._part(result), tuple(_steps(self.figure)))

    def _of(self, result: OfTransport) -> Figure:
        part = {"trims": 0, **result} if self.figure in TOTALS else self._part(result)
        return at(part, _steps(self.figure))

    def _part(self, result: OfTransport) -> Mapping[str, object]:
        if self.of_class is None:
            return result["summary"]
        sets: Mapping[str, Mapping[str, object]] = result.get("sets", {})
        return {**sets, **result["classes"]}[self.of_class]


def read(text: str, scenario: Resolved, transports: Iterable[str], *, certain: bool = False) -> Condition:
    """Read a condition on a resolved scenario and transports; `MistakenCondition` shows the mistake in it."""
    transports = list(transports)
    # The longest first: one may begin as another, with settings behind it.
    named = "|".join(re.escape(name) for name in sorted(transports, key=len, reverse=True))
    named = rf"{named}|[\w-]+" if named else r"[\w-]+"
    parts = re.match(rf"\s*(?:(?P<transport>{named})\s*:)?{_REST}", text)
    example = "a condition is a figure, a comparison and a number: answers.missed_percent > 1"
    if parts is None:
        raise _mistaken(text, 0, len(text), "cannot be read", example)
    if parts["op"] not in COMPARE:
        at, end = parts.span("op")
        raise _mistaken(text, at, max(end, at + 1), "a comparison is missing: >, >=, < or <=", example)
    of_class, figure = _figure(text, parts, scenario)
    transport, known = parts["transport"], transports
    if transport is not None and transport not in known:
        near = _near(transport, known, "the transports are")
        raise _mistaken(text, *parts.span("transport"), f"there is no transport `{transport}` here", near)
    return Condition(
        text.strip(), transport, of_class, figure, parts["op"], _threshold(text, parts, figure), certain
    )


def sentence(judged: Judged) -> str:
    """Say what became of a condition."""
    where = f"{judged['class']}.{judged['figure']}" if judged["class"] else judged["figure"]
    low, high = judged["ci95"]
    value = "not measured" if judged["value"] is None else short(judged["value"], 6)
    if BOUNDS in judged:
        value = f"at least {short(judged[BOUNDS], 6)}"
    interval = "" if low is None or high is None else f" (95 % interval {short(low, 4)} to {short(high, 4)})"
    return f"{judged['condition']}: {judged['transport']} has {where} = {value}{interval}"


def _figure(text: str, parts: re.Match[str], scenario: Resolved) -> tuple[str | None, str]:
    """Return the class, or none, and the figure."""
    written, (at, end) = parts["figure"], parts.span("figure")
    classes = [str(each["name"]) for each in scenario["traffic"]]
    classes += [str(each["set"]) for each in scenario["traffic"] if "set" in each]
    of_class = max((name for name in classes if written.startswith(f"{name}.")), key=len, default=None)
    figure = written if of_class is None else written[len(of_class) + 1 :]
    of_requests = _of_requests(scenario["traffic"], of_class)
    of_all = [name for name in (*FIGURES, *of_requests, *TOTALS) if name not in OF_CLASSES]
    known = of_all if of_class is None else (*FIGURES, *of_requests)
    if figure in known:
        return of_class, figure
    head, _, rest = figure.partition(".")
    if of_class is None and rest in FIGURES:
        near = _near(head, classes, "the classes are")
        raise _mistaken(text, at, at + len(head), f"there is no class `{head}`", near)
    near = _near(figure, known, "the figures are")
    raise _mistaken(text, end - len(figure), end, f"unknown figure `{figure}`", near)


def _of_requests(classes: Iterable[Mapping[str, object]], of_class: str | None) -> list[str]:
    """Return the figures of the requests of stages of one class or set, or of all; none without any."""
    meant = [
        each
        for each in classes
        if each.get("pattern") == "stages" and of_class in (None, each.get("name"), each.get("set"))
    ]
    goals = dict.fromkeys(goal for each in meant for goal in goals_of(each))
    attained = [f"goals.{goal}.{key}" for goal in goals for key in ("attainment_percent", "missed")]
    return [f"requests.{name}" for name in (*OF_REQUESTS, *attained)] if meant else []


def goals_of(of_class: Mapping[str, object]) -> list[str]:
    """Return the names of the goals of the requests of a class, as the resolved scenario has it."""
    whole = ["deadline"] if of_class.get("deadline") is not None else []
    return [
        *whole,
        *(str(goal["name"]) for goal in cast("list[dict[str, object]]", of_class.get("goal") or [])),
    ]


def _steps(figure: str) -> list[str]:
    """Return the keys that lead to a figure in a summary; the name of a goal may have dots."""
    goals = "requests.goals."
    if not figure.startswith(goals):
        return figure.split(".")
    goal, _, key = figure.removeprefix(goals).rpartition(".")
    return ["requests", "goals", goal, key]


def _threshold(text: str, parts: re.Match[str], figure: str) -> float:
    at, end = parts.start("number"), max(parts.end("unit"), parts.start("number") + 1)
    try:
        number = float(parts["number"])
    except ValueError:
        raise _mistaken(text, at, end, "a number is missing", "write it after the comparison") from None
    if not parts["unit"]:
        return number
    ends = [each.rsplit("_", 1)[-1] for each in _steps(figure)]
    units: dict[str, float] = next((UNITS[end] for end in ends if end in UNITS), {})
    if parts["unit"] not in units:
        hint = f"its units are {', '.join(units)}" if units else "it is a plain number"
        raise _mistaken(text, *parts.span("unit"), f"`{parts['unit']}` is no unit of {figure}", hint)
    return number * units[parts["unit"]]


def _near(word: str, known: Iterable[str], else_: str) -> str:
    known = list(dict.fromkeys(known))
    near = get_close_matches(word, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"{else_} {', '.join(known)}"


def _mistaken(text: str, at: int, end: int, message: str, hint: str) -> MistakenCondition:
    caret = " " * at + "^" * max(1, end - at)
    return MistakenCondition(f"--fail-if: {message}\n  {text}\n  {caret}\n  = {hint}")
