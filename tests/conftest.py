import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parents[1] / "scenarios"

Command = Callable[..., subprocess.CompletedProcess[str]]

#: Ten milliseconds of fan-in with deadlines beside messages without.
SMALL = """
title = "Small"
profile = "classic"

[run]
duration = "10 ms"
seed = 5

[network]
topology = "star"
hosts = 6
rate = "1 Gbps"
delay = "5 us"
buffer = "500 KB"
mark = "20 packets"

[transport]
name = "d2tcp"
rto_min = "1 ms"

[[traffic]]
name = "queries"
pattern = "fan-in"
parents = 1
leaves = 4
every = "exponential(1 ms)"
size = "uniform(2 KB, 20 KB)"
deadline = { base = "1 ms", vary = "uniform(0, 50%)" }

[[traffic]]
name = "web"
pattern = "poisson"
load = "10%"
size = "uniform(1 KB, 30 KB)"
"""

#: Two flows that never end, in a run that is too long to wait for.
ENDLESS = """
title = "Endless"
run = { duration = "100000 s" }
[network]
topology = "star"
hosts = 3
rate = "10 Gbps"
delay = "5 us"
mark = "65 packets"
host_jitter = "1 us"
[transport]
name = "tcp"
[[traffic]]
name = "one"
pattern = "long"
from = [0, 1]
to = 2
"""


#: Files whose tests change the machine's kernel: they take turns where tests run side by side.
KERNEL = {
    "test_clients.py",
    "test_deadlines.py",
    "test_http_deadlines.py",
    "test_http_hostile.py",
    "test_receive.py",
    "test_testbed.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file in one process, and all tests of the kernel; repeat tests marked `real`.

    These pass if one of three tries does, or of DUETIME_TRIES. They check what a kernel does by when. A
    machine that pauses for a moment breaks that once; a fault breaks it every time. Each failed try is among
    the messages of pytest at the end.
    """
    repeats = int(os.environ.get("DUETIME_TRIES", "3")) - 1
    for item in items:
        item.add_marker(pytest.mark.xdist_group("kernel" if item.path.name in KERNEL else item.path.name))
        if item.get_closest_marker("real"):
            item.add_marker(pytest.mark.flaky(reruns=repeats, reruns_delay=1))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


def arguments(*words: object) -> list[str]:
    return [sys.executable, "-m", "duetime", *map(str, words)]


@pytest.fixture
def duetime(tmp_path: Path) -> Command:
    """The command line, in a folder of its own."""

    def command(*words: object, stdin: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments(*words), input=stdin, capture_output=True, text=True, cwd=tmp_path, timeout=timeout
        )

    return command
