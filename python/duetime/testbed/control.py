"""D2TCP for one testbed: loaded for its own control group, and removed with it."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from duetime.errors import Failed
from duetime.testbed import need
from duetime.testbed.processes import die_with_parent

#: A congestion control's name is the kernel's, in all namespaces: whoever loads one holds this.
LOCK = Path("/run/lock/d2tcp-test.lock")
_PREFIX = "duetime-testbed"
#: Until D2TCP is loaded: 30 s were too few where this is a nice process beside three busy ones.
_PATIENCE_S = 120.0
_OPTIONS = {
    "g": "--g",
    "d_cap": "--cap",
    "t_c": "--t-c",
    "rtt": "--rtt",
    "expired": "--expired",
    "margin": "--margin",
    "initial_alpha": "--initial-alpha",
    "mode": "--mode",
    "rto_min": "--rto-min",
    "time_scale": "--time-scale",
}


@contextmanager
def alone(patience_s: float = 600.0) -> Iterator[int]:
    """Hold the lock, and give its descriptor; wait for another testbed at most so long."""
    with open(LOCK, "a", encoding="utf-8") as lock:
        end = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise Failed(f"another testbed has been running for {patience_s:g} s: {LOCK}") from None
                time.sleep(0.2)
        yield lock.fileno()


@contextmanager
def control_group() -> Iterator[Path]:
    """Make a control group for one testbed, and remove the groups of crashed testbeds."""
    top = need.cgroup2()
    assert top is not None
    remove_stale(top)
    group = top / f"{_PREFIX}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    group.mkdir()
    try:
        yield group
    finally:
        _remove(group)


@contextmanager
def attached(
    group: Path, parameters: Mapping[str, object], *, opt_in: bool = True, options: Sequence[str] = ()
) -> Iterator[None]:
    """Keep D2TCP attached to `group`, with more `options`.

    Connections ask for it by name, or, without `opt_in`, all of the group's get it.
    """
    tool = need.find("d2tcp")
    assert tool is not None
    law = [
        part
        for key, option in _OPTIONS.items()
        if key in parameters
        for part in (option, _text(parameters[key]))
    ]
    selection = ["--opt-in"] if opt_in else []
    # What the tool wants to hear before it lets connections starve others: here they are the experiment's.
    words = "ignore marks" if parameters.get("g") == 0 else "starve others"
    process = subprocess.Popen(
        [tool, "attach", "--foreground", *selection, "--cgroup", group, "--confirm", words, *law, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=die_with_parent,
    )
    try:
        _wait_until_loaded(process)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait_until_loaded(process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            assert process.stdout is not None
            raise Failed(f"D2TCP cannot be attached: {process.stdout.read().strip()}")
        if "d2tcp" in available():
            return
        time.sleep(0.02)
    raise Failed(f"D2TCP was not attached within {_PATIENCE_S:g} s")


def available() -> list[str]:
    """The congestion controls that the kernel has now."""
    return _controls("available")


def unprivileged() -> list[str]:
    """Return the congestion controls that any program may choose."""
    return _controls("allowed")


def _controls(which: str) -> list[str]:
    return Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control").read_text(encoding="utf-8").split()


def remove_stale(top: Path) -> None:
    """Remove the control groups of testbeds whose process has ended."""
    for group in top.glob(f"{_PREFIX}-*"):
        found = re.fullmatch(rf"{_PREFIX}-(\d+)-[0-9a-f]+", group.name)
        if found and not Path("/proc", found[1]).exists():
            _remove(group)


def _remove(group: Path) -> None:
    """Remove a group; the last of its processes may be on its way out still."""
    with suppress(OSError), open(group / "cgroup.kill", "r+", encoding="utf-8") as kill:
        kill.write("1")
    for _ in range(100):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def _text(value: object) -> str:
    return value.replace(" ", "") if isinstance(value, str) else f"{value:g}"
