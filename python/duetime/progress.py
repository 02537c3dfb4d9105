"""A bar on standard error while a person watches; nothing otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """Shows how far some runs, several at a time, have come together."""

    def __init__(self, runs: int, shown: Progress | None, task: TaskID | None) -> None:
        """Made by `bar`."""
        self._shown = shown
        self._task = task
        self._simulated = [0.0] * runs
        self._durations = [0.0] * runs
        self._delivered = [0] * runs
        self._start = time.monotonic()

    def follow(self, run: int) -> Callable[[float, float, int], None]:
        """Give what the run of this number calls about ten times a second."""

        def advanced(now_s: float, duration_s: float, delivered: int) -> None:
            self._simulated[run], self._durations[run], self._delivered[run] = now_s, duration_s, delivered
            self._show()

        return advanced

    def _show(self) -> None:
        if self._shown is None or self._task is None:
            return
        known = [duration for duration in self._durations if duration > 0]
        total = sum(known) / len(known) * len(self._durations)
        simulated = sum(self._simulated)
        rate = sum(self._delivered) / max(time.monotonic() - self._start, 1e-9)
        self._shown.update(
            self._task,
            total=total,
            completed=simulated,
            simulated=f"{simulated:.3g} of {total:.3g} s simulated",
            rate=f"{_short(rate)} packets/s",
        )


class Points:
    """Shows how many of some runs, several at a time, are finished."""

    def __init__(self, runs: int, shown: Progress | None, task: TaskID | None) -> None:
        """Made by `points`."""
        self._runs = runs
        self._shown = shown
        self._task = task
        self._done = 0
        self._kept = 0
        self._failed = 0
        self._under_way: dict[int, float] = {}

    def found(self, kept: int) -> None:
        """Count runs that were finished before."""
        self._kept = kept
        self._done += kept
        self._show()

    def finished(self, run: int, *, failed: bool) -> None:
        """Count one more."""
        self._done += 1
        self._failed += failed
        self._under_way.pop(run, None)
        self._show()

    def follow(self, run: int) -> Callable[[float, float, int], None]:
        """Give what the run of this number calls about ten times a second."""

        def advanced(now_s: float, duration_s: float, delivered: int) -> None:  # noqa: ARG001
            self._under_way[run] = now_s / duration_s
            self._show()

        return advanced

    def _show(self) -> None:
        if self._shown is None or self._task is None:
            return
        completed = self._done + sum([*self._under_way.values()])
        words = f"{self._done} of {self._runs} runs"
        words += f", {self._kept} of them kept before" if self._kept else ""
        words += f", {self._failed} failed" if self._failed else ""
        self._shown.update(self._task, completed=completed, words=words)


@contextmanager
def bar(runs: int) -> Iterator[Bar]:
    """Show a bar for `runs` runs as long as the block lasts, if standard error is a terminal."""
    with _shown("{task.fields[simulated]}", "{task.fields[rate]}") as shown:
        task = None if shown is None else shown.add_task("", total=None, simulated="starting", rate="")
        yield Bar(runs, shown, task)


@contextmanager
def points(runs: int) -> Iterator[Points]:
    """Show a bar for many runs of which some may be finished already, if standard error is a terminal."""
    with _shown("{task.fields[words]}") as shown:
        task = None if shown is None else shown.add_task("", total=runs, words="starting")
        yield Points(runs, shown, task)


@contextmanager
def _shown(*texts: str) -> Iterator[Progress | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        *(TextColumn(text) for text in texts),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield shown


def _short(rate: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.2f} {unit}"
    return f"{rate:.0f}"
