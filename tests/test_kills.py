"""A process killed at any moment leaves its output absent or whole; the next one gives the same bytes.

DUETIME_KILLS=10 kills ten times as often.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import duetime as dt
from conftest import arguments
from duetime import files

SCENARIO = """
run = { duration = "40 ms" }
network = { topology = "star", hosts = 9, rate = "1 Gbps", delay = "20 us", mark = "20 packets" }
transport = "dctcp"
[[traffic]]
name = "queries"
pattern = "fan-in"
leaves = 8
every = "2 ms"
size = "20 KB"
deadline = "5 ms"
"""
SWEEP = """
scenario = "s.toml"
transports = ["tcp", "dctcp"]
seeds = 2
[grid]
traffic.queries.leaves = [2, 4, 8]
"""


@dataclass(frozen=True)
class Command:
    """A command line, what it leaves behind, and how often it is killed."""

    words: tuple[str, ...]
    output: str
    kills: int
    #: Returns the error in the output; it may fail with an exception, too.
    whole: Callable[[Path], None]
    #: Returns the content that must be the same bytes at last.
    content: Callable[[Path], object]


def without_clock(path: Path) -> object:
    """A JSON file without the time that the machine took."""
    return json.loads(path.read_text(), object_hook=lambda each: {k: each[k] for k in each if k != "wall_s"})


def parquet(folder: Path) -> dict[str, pl.DataFrame]:
    """Every table directly in a folder."""
    return {path.name: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}


def whole_run(folder: Path) -> None:
    """A folder of `run` can be loaded, with its tables."""
    result = dt.load(folder)
    assert min(result.flows.height, result.links.height) > 0


def whole_comparison(folder: Path) -> None:
    """A folder of `compare` is finished, or holds nothing but the runs that are kept."""
    if not files.is_result(folder):
        assert {path.name for path in folder.iterdir() if not path.name.endswith(".partial")} <= {"runs"}
        return
    json.loads((folder / "compare.json").read_text())
    for name in ("tcp", "dctcp"):
        whole_run(folder / name / "seed-1")


def whole_files(folder: Path) -> None:
    """Every file that is not aside is whole: JSON and tables can be read."""
    for path in folder.rglob("*"):
        if any(part.endswith(".partial") for part in path.parts):
            continue
        if path.suffix == ".json":
            json.loads(path.read_text())
        if path.suffix == ".parquet":
            pl.read_parquet(path)


def whole_page(path: Path) -> None:
    """A page to its end."""
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


TIMES = int(os.environ.get("DUETIME_KILLS", "1"))
REPRODUCE = (
    "reproduce",
    "d2tcp/urgent",
    "--seeds",
    "1",
    "--set",
    "run.duration=10 ms",
    "--set",
    "run.warm_up=0 s",
)
COMMANDS = {
    "run": Command(
        ("run", "s.toml", "--out", "o"),
        "o",
        30,
        whole_run,
        lambda o: (without_clock(o / "run.json"), parquet(o)),
    ),
    "compare": Command(
        ("compare", "s.toml", "--transports", "tcp,dctcp", "--seeds", "2", "--out", "o"),
        "o",
        24,
        whole_comparison,
        lambda o: (without_clock(o / "compare.json"), parquet(o / "tcp" / "seed-2")),
    ),
    "sweep": Command(
        ("sweep", "w.toml", "--out", "o"),
        "o",
        26,
        whole_files,
        lambda o: [(o / "sweep.json").read_bytes(), parquet(o)],
    ),
    "reproduce": Command(
        (*REPRODUCE, "--out", "o"), "o", 10, whole_files, lambda o: parquet(o / "d2tcp" / "urgent")
    ),
    "report": Command(
        ("report", "given", "--out", "o.html"), "o.html", 10, whole_page, lambda page: page.read_bytes()
    ),
}


def test_these_are_a_hundred_kills() -> None:
    assert sum(command.kills for command in COMMANDS.values()) == 100


@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_at_any_moment_leaves_all_or_nothing(name: str, tmp_path: Path) -> None:
    command = COMMANDS[name]
    reference, lane = tmp_path / "reference", [tmp_path / str(number) for number in range(2)]
    for place in (reference, *lane):
        place.mkdir()
        (place / "s.toml").write_text(SCENARIO)
        (place / "w.toml").write_text(SWEEP)
        if name == "report":
            dt.run(place / "s.toml").save(place / "given")
    took = finish(command, reference)
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda place: kill(command, place, took), lane))
    for place in lane:
        finish(command, place)
        command.whole(place / command.output)
        if name != "report":  # it names the folder and the time
            assert same(command.content(place / command.output), command.content(reference / command.output))


def finish(command: Command, place: Path) -> float:
    """Let it end; gives the time that it took."""
    start = time.monotonic()
    done = subprocess.run(arguments(*command.words), cwd=place, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return time.monotonic() - start


def kill(command: Command, place: Path, took: float) -> None:
    """Start it again and again in one place, kill it at random moments, and check the output there."""
    moments = random.Random(place.name)
    was_there = False
    for _ in range(TIMES * command.kills // 2):
        process = subprocess.Popen(
            arguments(*command.words), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # Nothing is written while Python starts.
        time.sleep(min(took, 3) * moments.uniform(0.3, 1.0))
        process.kill()
        process.wait()
        is_there = (place / command.output).exists()
        assert is_there or not was_there, "the former result and the new one are gone"
        was_there = is_there
        if is_there:
            command.whole(place / command.output)


def same(one: object, other: object) -> bool:
    """Return whether two contents are equal; tables are compared as such."""
    if isinstance(one, pl.DataFrame) and isinstance(other, pl.DataFrame):
        return one.equals(other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return one == other
