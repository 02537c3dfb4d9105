"""A bar while a person watches, in a terminal or a notebook; nothing otherwise."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from duetime.quantities import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

#: Shows the completed part of a total, and the words beside it.
Show: TypeAlias = Callable[[float, float, tuple[str, ...]], None]
#: Seconds between two pictures of the bar in a notebook.
REDRAWN_S = 0.2


class Bar:
    """Shows the progress of some runs, several at a time, as one bar."""

    def __init__(self, runs: int, show: Show | None) -> None:
        """Create a bar; only `bar` does."""
        self._shown = show
        self._simulated = [0.0] * runs
        self._durations = [0.0] * runs
        self._delivered = [0] * runs
        self._start = time.monotonic()

    def follow(self, run: int) -> Callable[[float, float, int], None]:
        """Return the callback of the run of this number, called about ten times a second."""

        def advanced(now_s: float, duration_s: float, delivered: int) -> None:
            self._simulated[run], self._durations[run], self._delivered[run] = now_s, duration_s, delivered
            self._show()

        return advanced

    def _show(self) -> None:
        if self._shown is None:
            return
        known = [duration for duration in self._durations if duration > 0]
        total = sum(known) / len(known) * len(self._durations)
        simulated = sum(self._simulated)
        rate = sum(self._delivered) / max(time.monotonic() - self._start, 1e-9)
        words = f"{simulated:.3g} of {total:.3g} s simulated", f"{_short(rate)} packets/s"
        self._shown(simulated, total, words)


class Points:
    """Shows how many of some runs, several at a time, are finished."""

    def __init__(self, runs: int, show: Show | None) -> None:
        """Create a bar; only `points` does."""
        self._runs = runs
        self._shown = show
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
        """Count one more finished run."""
        self._done += 1
        self._failed += failed
        self._under_way.pop(run, None)
        self._show()

    def follow(self, run: int) -> Callable[[float, float, int], None]:
        """Return the callback of the run of this number, called about ten times a second."""

        def advanced(now_s: float, duration_s: float, delivered: int) -> None:  # noqa: ARG001
            self._under_way[run] = now_s / duration_s
            self._show()

        return advanced

    def _show(self) -> None:
        if self._shown is None:
            return
        completed = self._done + sum([*self._under_way.values()])
        words = f"{self._done} of {counted(self._runs, 'run')}"
        words += f", {self._kept} of them kept before" if self._kept else ""
        words += f", {self._failed} failed" if self._failed else ""
        self._shown(completed, self._runs, (words,))


@contextmanager
def bar(runs: int, wanted: bool | None = True) -> Iterator[Bar]:
    """Show a bar for `runs` runs as long as the block lasts, if a terminal or a notebook shows it.

    `wanted` None shows it in a notebook only, False nowhere.
    """
    with _shown(wanted, texts=2) as show:
        yield Bar(runs, show)


@contextmanager
def points(runs: int, wanted: bool | None = True) -> Iterator[Points]:
    """Show a bar for many runs of which some may be finished already; `wanted` as for `bar`."""
    with _shown(wanted, texts=1) as show:
        yield Points(runs, show)


@contextmanager
def _shown(wanted: bool | None, texts: int) -> Iterator[Show | None]:
    if wanted is not False and _in_notebook():
        with _notebook(texts) as show:
            yield show
    elif wanted and sys.stderr.isatty():
        with _terminal(texts) as show:
            yield show
    else:
        yield None


@contextmanager
def _terminal(texts: int) -> Iterator[Show]:
    from rich.console import Console

    with _progress(texts, Console(stderr=True, emoji=False)) as shown:
        yield _updating(shown, texts)


@contextmanager
def _notebook(texts: int) -> Iterator[Show]:
    """Draw the bar of the terminal as HTML: that of rich needs widgets, which many notebooks lack."""
    from IPython.display import HTML, display
    from rich.console import Console

    console = Console(file=io.StringIO(), record=True, force_jupyter=False, width=100)
    shown = _progress(texts, console)
    update = _updating(shown, texts)
    place = display(HTML(""), display_id=True)
    drawn = time.monotonic()

    def show(completed: float, total: float, words: tuple[str, ...]) -> None:
        nonlocal drawn
        update(completed, total, words)
        if time.monotonic() - drawn >= REDRAWN_S:
            drawn = time.monotonic()
            console.print(shown.get_renderable())
            place.update(HTML(console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")))

    try:
        yield show
    finally:
        place.update(HTML(""))


def _in_notebook() -> bool:
    """Say whether a kernel of Jupyter runs this."""
    shell: object = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


def _progress(texts: int, console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    # Figures are left out rather than cut where a terminal is narrow.
    fitting = texts if console.width >= 80 else 1 if console.width >= 60 and texts == 2 else 0
    columns = (
        BarColumn(bar_width=30 if console.width >= 100 else 12),
        TaskProgressColumn(),
        *(TextColumn(f"{{task.fields[words][{place}]}}") for place in range(fitting)),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    return Progress(*columns, console=console, transient=True)


def _updating(shown: Progress, texts: int) -> Show:
    task = shown.add_task("", total=None, words=("starting", *[""] * (texts - 1)))

    def show(completed: float, total: float, words: tuple[str, ...]) -> None:
        shown.update(task, total=total, completed=completed, words=words)

    return show


def _short(rate: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.2f} {unit}"
    return f"{rate:.0f}"
