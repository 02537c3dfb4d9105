"""The testbed's processes, to which one talks in lines of JSON."""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from duetime.errors import Failed

if TYPE_CHECKING:
    from duetime.contract.testbed import Go, HostSetup, SwitchSetup


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends; for ``preexec_fn``."""
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def on_one_processor() -> None:
    """Keep this process, and what it starts, on one processor: the last that it may use; for ``preexec_fn``.

    A virtual link delivers on the processor that sends. A connection whose packets leave from two, by its
    program here and by a queue's timer there, has them overtake each other, and takes that for losses.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Process:
    """One process of the testbed."""

    def __init__(self, program: Path, role: str, name: str) -> None:
        """Start it; `name` is for messages."""
        self.name = name
        self._rest = b""
        self._process = subprocess.Popen(
            [program, role],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=on_one_processor,
        )

    def tell(self, value: SwitchSetup | HostSetup | Go) -> None:
        """Send one line of JSON."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def hear(self, timeout_s: float) -> bytes:
        """Wait for one line."""
        end = time.monotonic() + timeout_s
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        parts = [self._rest]
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in parts[-1]:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise Failed(f"{self.name}: no answer within {timeout_s:g} s")
                part = os.read(descriptor, 1 << 20)
                if not part:
                    raise self._failure()
                parts.append(part)
        line, self._rest = b"".join(parts).split(b"\n", 1)
        return line

    def stop(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _failure(self) -> Failed:
        assert self._process.stderr is not None
        self._process.kill()
        said = self._process.stderr.read().decode(errors="replace").strip()
        return Failed(f"{self.name}: {said or f'ended with {self._process.wait()}'}")
