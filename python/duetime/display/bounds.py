"""The table of a bound: how few deadlines any schedule misses."""

from __future__ import annotations

from typing import Any

from duetime.display.figures import ALL, MISSED, Place, as_count, as_plain, written
from duetime.display.grid import Column, Grid, Shown


def table(title: str, bound: dict[str, Any]) -> Shown:
    """How few deadlines can be missed: a row for each class."""
    least = Least(bound)
    columns = [Column(name) for name in ("missed", MISSED)]
    columns += [Column(name, words=True) for name in ("held up by", "method")]
    grid = Grid(["class"], columns, title)
    for name, part in least.parts():
        if part:
            missed = [as_count(part["missed"]), as_plain(part["missed_percent"])]
            grid.add([name], [*missed, part["side"] or "-", part["method"]])
    return grid, [least.sentence()]


class Least:
    """How few deadlines can be missed; false without deadlines."""

    def __init__(self, bound: dict[str, Any] | None) -> None:
        """Wrap the object of a run's JSON under ``bound``."""
        self.bound = bound

    def __bool__(self) -> bool:
        """Return whether any message has a deadline."""
        return self.bound is not None

    def parts(self) -> list[tuple[str, dict[str, Any] | None]]:
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
        part = self.bound["classes"][name] if kind == "classes" else self.bound
        return written(part and part["missed_percent"], as_plain)

    def sentence(self) -> str:
        """Return the explanation of the bound, for the lines below a table."""
        words = "bound: no schedule of these messages can miss fewer"
        reasons = self.bound["reason"] if self.bound else None
        found = [reason for reason in (reasons if isinstance(reasons, list) else [reasons]) if reason]
        return words + (f" (and perhaps none so few: {'; '.join(dict.fromkeys(found))})" if found else "")
