"""The table of a bound: how few deadlines any schedule misses."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from duetime.display.figures import ALL, MISSED, Place, as_count, as_plain, written
from duetime.display.grid import Column, Grid, Shown

if TYPE_CHECKING:
    from duetime.contract.runs import Foresight, Limit, Limits, Seeds, Word

    #: The bound of a run or of several seeds, and its part for a class.
    Bound: TypeAlias = Limits[int, float] | Limits[Seeds, Seeds]
    BoundPart: TypeAlias = Limit[int, float] | Limit[Seeds, Seeds]


def tables(foresight: Foresight) -> list[Shown]:
    """Return the tables of messages and of requests, as far as any have a deadline or a goal."""
    title = f"{foresight['title']}: seed {foresight['seed']}"
    shown = [table(title, foresight["bound"])] if foresight["bound"] else []
    return [*shown, table(title, foresight["requests"], "requests")] if foresight["requests"] else shown


def without(foresight: Foresight) -> list[str]:
    """Say which classes have no bound before the run, or that nothing has a deadline."""
    unknown = foresight["depends_on_run"].items()
    lines = [
        f"{name}: no bound before a run, as {why}; `duetime run` says that of its requests"
        for name, why in unknown
    ]
    if foresight["bound"] or foresight["requests"] or lines:
        return lines
    return [f"{foresight['title']}: no message that counts has a deadline"]


def table(title: str, bound: Bound | None, of: str = "messages") -> Shown:
    """How few deadlines can be missed: a row for each class."""
    least = Least(bound, of)
    columns = [Column(name) for name in ("missed" if of == "messages" else f"{of} missed", MISSED)]
    columns += [Column(name, words=True) for name in ("held up by", "method")]
    grid = Grid(["class"], columns, title)
    for name, part in least.parts():
        if part:
            missed = [written(part["missed"], as_count), written(part["missed_percent"], as_plain)]
            grid.add([name], [*missed, _words(part["side"]), _words(part["method"])])
    return grid, [least.sentence()]


def _words(found: Word) -> str:
    """Return a word of a bound, or each word of several seeds once."""
    several = found if isinstance(found, list) else [found]
    return ", ".join(dict.fromkeys(word for word in several if word)) or "-"


class Least:
    """How few deadlines can be missed; false without deadlines."""

    def __init__(self, bound: Bound | None, of: str = "messages") -> None:
        """Wrap the object of a run's JSON under ``bound``, or of its requests'."""
        self.bound = bound
        self.of = of

    def __bool__(self) -> bool:
        """Return whether any message has a deadline."""
        return self.bound is not None

    def parts(self) -> list[tuple[str, BoundPart | None]]:
        """Return every class, and all together where more than one has a bound."""
        if self.bound is None:
            return []
        classes = list(self.bound["classes"].items())
        bounded = [part for _, part in classes if part]
        return classes if len(bounded) == 1 else [*classes, (ALL, self.bound)]

    def at(self, place: Place) -> str:
        """Return the share of one of `parts_of`; sets have none."""
        kind, name = place
        if self.bound is None or kind == "sets":
            return "-"
        part: BoundPart | None = self.bound["classes"][name] if kind == "classes" else self.bound
        return written(part and part["missed_percent"], as_plain)

    def sentence(self) -> str:
        """Return the explanation of the bound, for the lines below a table."""
        words = f"bound: no schedule of these {self.of} can miss fewer"
        reasons = self.bound["reason"] if self.bound else None
        found = [reason for reason in (reasons if isinstance(reasons, list) else [reasons]) if reason]
        return words + (f" (and perhaps none so few: {'; '.join(dict.fromkeys(found))})" if found else "")
