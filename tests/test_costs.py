"""The cost of a run is known before it is made: within a factor of two, and at once for the largest."""

from __future__ import annotations

import json
import re
import resource
import time
from pathlib import Path
from typing import Any

import pytest

import duetime as dt
from conftest import SCENARIOS, SMALL, Command
from duetime import costs, scenario
from test_contract import SHORT

GRID = """
scenario = "small.toml"
transports = ["tcp", "d2tcp"]
seeds = 2
grid = { traffic.queries.leaves = [2, 4] }
"""

#: Where less than a request, or than three bursts, would be in the short time.
LONGER = {
    "large-messages": "900 ms",
    "all-reduce": "60 ms",
    "rails": "3 ms",
    "rpc": "60 ms",
    "serving": "1 s",
    "websearch": "60 ms",
}


def expected(source: Path | str, *changes: str) -> dict[str, Any]:
    return costs.cost(scenario.read(source), None, list(changes))


@pytest.mark.parametrize("name", sorted(SHORT))
def test_cost_of_a_shipped_scenario_is_within_a_factor_of_two(name: str) -> None:
    duration = LONGER.get(name, SHORT[name])
    path, changes = SCENARIOS / f"{name}.toml", (f"run.duration={duration}", "run.warm_up=0 s")
    found, run = expected(path, *changes), dt.run(path, set=list(changes))
    # More messages start while the run waits for the messages of its duration.
    flows = run.flows.filter(run.flows["start_us"] < run.data["simulated_s"] * 1e6)
    endless = flows["bytes"].null_count()
    queries = run.queries.filter(run.queries["start_us"] < run.data["simulated_s"] * 1e6).height
    for value, estimate in (
        (flows.height - endless, found["messages"]),
        (endless, found["flows_without_end"]),
        (run.data["packet_hops"], found["packet_hops"]),
        (flows.height, found["rows"]["flows"]),
        (queries, found["rows"]["queries"]),
        (run.links.height, found["rows"]["links"]),
    ):
        assert value / 2 <= estimate <= 2 * value


@pytest.mark.parametrize(
    ("file", "changes", "what", "least"),
    [
        ("messages", ["messages=100_000_000"], "messages", 9e7),
        # The largest network that there may be: 128 000 hosts.
        ("fat-tree", ["k=80"], "memory_bytes", 4e8),
    ],
)
def test_largest_runs_are_answered_at_once(file: str, changes: list[str], what: str, least: float) -> None:
    begun = time.process_time()
    found = expected(SCENARIOS.parent / "bench/scale" / f"{file}.toml", *changes)
    assert found[what] > least
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("name", "key", "each"),
    [("messages", "messages", 1), ("fan-in", "leaves", 1)],
)
def test_memory_is_that_of_the_record(name: str, key: str, each: int) -> None:
    """`make scale` measures the memory of whole processes."""
    record = max((SCENARIOS.parent / "bench/record").glob("*-scale.jsonl"))
    rows = json.loads(record.read_text().splitlines()[-1])["results"][name]
    assert len(rows) >= 3
    for row in rows:
        found = expected(SCENARIOS.parent / "bench/scale" / f"{name}.toml", f"{key}={row['at'] // each}")
        assert row["memory_mb"] / 2 <= found["memory_bytes"] / 1e6 <= 2 * row["memory_mb"], row["at"]


def test_check_prints_the_cost(duetime: Command, small: Path) -> None:
    done = duetime("check", small)
    assert "  expected cost: " in done.stdout
    data = json.loads(duetime("check", small, "--explain", "--json").stdout)
    assert data["cost"] == expected(SMALL)


def test_more_than_the_memory_is_refused_unless_yes(duetime: Command, small: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = duetime("run", small, "--max-memory", "1 MB", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "of memory, and --max-memory allows 1 MB; --yes runs it anyway" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert duetime("run", small, "--max-memory", "1 MB", "--yes").returncode == 0
    assert duetime("run", small, "--max-memory", "1 GB").returncode == 0
    assert "'lots' is not a size" in duetime("run", small, "--max-memory", "lots").stderr


@pytest.mark.parametrize("out", [[], ["--out", "out"]])
def test_a_billion_seeds_are_refused_by_the_same_rule(
    duetime: Command, small: Path, tmp_path: Path, out: list[str]
) -> None:
    done = duetime("compare", small, "--transports", "tcp,d2tcp", "--seeds", 1_000_000_000, *out)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 2,000,000,000 runs of about ")
    assert "--yes runs it anyway" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["sweep", "grid.toml"], 8),
        (["robust", "small.toml", "--transports", "tcp,d2tcp", "--variants", "3"], 6),
        # Levels at 0, 20, 40, 60 and 80 percent.
        (["tighten", "small.toml", "--target", "5%", "--seeds", "2", "--step", "20%"], 10),
        (
            ["capacity", "small.toml", "--target", "5%", "--over", "traffic.queries.leaves", "--seeds", "2"],
            None,
        ),
        (["need", "small.toml", "--target", "5%", "--over", "network.rate"], None),
        (["reproduce", "d2tcp/fig10", "--cut", "5 ms"], None),
    ],
)
def test_commands_of_many_runs_refuse_them_before_the_first(
    duetime: Command, small: Path, tmp_path: Path, words: list[str], runs: int | None
) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    done = duetime(*words, "--max-memory", "1 MB", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    many = r"[\d,]+" if runs is None else str(runs)
    said = rf"error: {many} runs of about .* each: about .* of memory, and --max-memory allows 1 MB; --yes .*"
    assert re.fullmatch(said, done.stderr.splitlines()[-1])
    assert not list((tmp_path / "out").rglob("*.json"))
    assert small.exists()


def test_variants_of_an_experiment_count_before_the_first_run(duetime: Command, tmp_path: Path) -> None:
    words = ("reproduce", "d2tcp/fig10", "--cut", "5 ms", "--out", "out")
    small = duetime(*words, "--max-memory", "1 MB")
    most = int(re.match(r"[\s\S]*error: ([\d,]+) runs", small.stderr)[1].replace(",", ""))  # type: ignore[index]
    # Enough for the experiment itself, and not for the figures of all its variants.
    done = duetime(*words, "--robust", "200", "--jobs", "1", "--max-memory", f"{31 + most * 0.2:.0f} MB")
    assert (done.returncode, done.stdout) == (2, "")
    said = re.search(r"error: ([\d,]+) runs of about .*; --yes runs it anyway", done.stderr)
    assert said is not None, done.stderr
    assert int(said[1].replace(",", "")) > most
    assert not list((tmp_path / "out").rglob("result.json"))


def test_a_check_of_the_largest_network_takes_seconds(duetime: Command) -> None:
    """A fat-tree with k = 80 has 128 000 hosts and ten million pairs of switches."""
    file, words = SCENARIOS.parent / "bench/scale/fat-tree.toml", ("--set", "k=80")
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = duetime("check", file, *words)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert "the asked loads of links between switches are not known" in done.stdout
    assert ended.ru_utime - begun.ru_utime < 30
