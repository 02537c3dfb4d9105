"""Several pieces of work at a time, in threads: a run holds no lock of Python while it simulates."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from duetime.engine import Progress

R = TypeVar("R")

#: polars lets system calls continue after Ctrl-C, so a wait without end would not notice it.
LONGEST_WAIT_S = 0.5


def in_threads(
    count: int,
    work: Callable[[int, Progress], R],
    *,
    jobs: int | None,
    follow: Callable[[int], Progress],
    finished: Callable[[int, R], object],
    until: float | None = None,
) -> bool:
    """Do `work(number, progress)` for each number below `count`, `jobs` at a time (default: one per core).

    `follow(number)` returns the callback for a run's progress; `finished(number, its result)` is called in
    the caller's thread. The first error, from either, ends everything and is raised. Returns True if Ctrl-C
    interrupted, or `until`, a time of `time.monotonic`, was over: then finished results were handed over, and
    the rest was stopped.
    """
    stop = threading.Event()

    def one(number: int) -> R:
        advance = follow(number)

        def advanced(now_s: float, duration_s: float, delivered: int) -> None:
            if stop.is_set():
                raise _Stopped
            advance(now_s, duration_s, delivered)

        return work(number, advanced)

    # A future is dropped as soon as it is done: its result may be large.
    waiting: dict[Future[R], int] = {}
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            for number in range(count):
                waiting[pool.submit(one, number)] = number
            while waiting:
                if until is not None and time.monotonic() >= until:
                    raise _TimeUp
                for future in wait(waiting, LONGEST_WAIT_S, FIRST_COMPLETED).done:
                    finished(waiting.pop(future), future.result())
                    del future
        except BaseException as error:
            stop.set()
            for future in waiting:
                future.cancel()
            if not isinstance(error, KeyboardInterrupt | _TimeUp):
                raise
            wait(waiting)
            for future, number in waiting.items():
                if not future.cancelled() and future.exception() is None:
                    finished(number, future.result())
            return True
    return False


class _Stopped(Exception):
    """Ends a run from its own progress call."""


class _TimeUp(Exception):
    """Ends the loop that waits for results."""
