"""Sweeps: their tables, their failures, and what a kill leaves behind."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

import duetime as dt
from conftest import SCENARIOS, Command, arguments
from duetime.report import experiments
from duetime.sweeping import read, sweep

SWEEP = """
scenario = "small.toml"
transports = ["dctcp", "d2tcp"]
seeds = 2

[grid]
traffic.queries.leaves = [2, 4]

[list]
network.rate = ["1 Gbps", "2 Gbps"]
network.buffer = ["500 KB", "1 MB"]
"""
TABLES = ("sweep.parquet", "classes.parquet", "differences.parquet", "sweep.json")


@pytest.fixture
def file(small: Path) -> Path:
    path = small.parent / "s.toml"
    path.write_text(SWEEP)
    return path


def test_each_run_has_a_row(file: Path, tmp_path: Path) -> None:
    swept = sweep(file, out=tmp_path / "out")
    runs = pl.read_parquet(tmp_path / "out/sweep.parquet")
    assert runs.equals(swept.runs())
    assert runs.height == 2 * 2 * 2 * 2
    assert runs.columns[:6] == [
        "point",
        "traffic.queries.leaves",
        "network.rate",
        "network.buffer",
        "transport",
        "seed",
    ]
    row = runs.row(13, named=True)
    where = (row["point"], row["traffic.queries.leaves"], row["network.rate"], row["transport"], row["seed"])
    assert where == (3, 4, "2 Gbps", "dctcp", 6)
    set = ["traffic.queries.leaves=4", "network.rate=2 Gbps", "network.buffer=1 MB"]
    alone = dt.run(tmp_path / "small.toml", seed=6, set=set, transport="dctcp")
    assert row["missed_percent"] == alone.summary["missed_percent"]
    assert row["fct_us_p99"] == alone.summary["fct_us"]["p99"]
    assert row["packets_sent"] == alone.data["packets"]["sent"]
    assert row["bound_missed_percent"] == alone.data["bound"]["missed_percent"]
    classes = pl.read_parquet(tmp_path / "out/classes.parquet")
    assert classes["class"].to_list() == ["queries", "web"] * 16
    assert classes.row(26, named=True)["messages"] == alone.classes["queries"]["messages"]
    assert classes.row(26, named=True)["bound_missed"] == alone.data["bound"]["classes"]["queries"]["missed"]
    record = json.loads((tmp_path / "out/sweep.json").read_text())
    assert (record["runs"], record["failures"], record["seeds"]) == (16, [], [5, 6])
    assert "wall_s" not in runs.columns


def test_transports_are_compared_seed_by_seed(duetime: Command, file: Path, tmp_path: Path) -> None:
    swept = sweep(file, out=tmp_path / "out", against="d2tcp")
    runs, differences = swept.runs(), pl.read_parquet(tmp_path / "out/differences.parquet")
    assert differences["transport"].unique().to_list() == ["dctcp"]
    assert differences["against"].unique().to_list() == ["d2tcp"]
    assert differences.height == runs["point"].n_unique()
    for row in differences.to_dicts():
        of_point = runs.filter(point=row["point"]).sort("seed")
        one, other = (of_point.filter(transport=name)["fct_us_p99"].to_list() for name in ("dctcp", "d2tcp"))
        assert row["seeds"] == len(one)
        pairs = [a - b for a, b in zip(one, other, strict=True)]
        assert row["fct_us_p99"] == pytest.approx(sum(pairs) / len(pairs), abs=1e-9)
        assert row["fct_us_p99_low"] is None or row["fct_us_p99_low"] <= row["fct_us_p99"]
    done = duetime("sweep", file, "--out", tmp_path / "out")
    assert "missed % - dctcp" in done.stdout, "the first of the transports, unless another is named"
    wrong = duetime("sweep", file, "--out", tmp_path / "out", "--against", "tcp")
    assert (wrong.returncode, "is not among" in wrong.stderr) == (2, True)


def test_a_killed_sweep_goes_on_and_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    file.write_text('set.run.duration = "600 ms"\n' + SWEEP)
    run = subprocess.Popen(arguments("sweep", "s.toml", "--out", "killed", "--jobs", 1), cwd=tmp_path)
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("killed/runs/*/*.json"))) < 8 and time.monotonic() < end:
        time.sleep(0.005)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("killed/runs/*/*.json")}
    assert 8 <= len(finished) < 16, "it was killed in the middle"
    assert not (tmp_path / "killed/sweep.json").exists()

    sweep(file, out=tmp_path / "killed")
    sweep(file, out=tmp_path / "whole")
    for name in TABLES:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert {path: path.stat().st_mtime_ns for path in finished} == finished, "nothing was run again"


def test_a_changed_sweep_runs_what_is_new(file: Path, tmp_path: Path) -> None:
    sweep(file, out=tmp_path / "out")
    first = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/*/*.json")}
    file.write_text(SWEEP.replace("[2, 4]", "[2, 4, 5]"))
    swept = sweep(file, out=tmp_path / "out")
    second = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/*/*.json")}
    assert (len(first), len(second), swept.runs().height) == (16, 24, 24)
    assert {name: second[name] for name in first} == first


def test_failing_points_are_listed_and_the_rest_is_run(duetime: Command, file: Path, tmp_path: Path) -> None:
    file.write_text(SWEEP.replace("[2, 4]", "[2, 40]"))
    done = duetime("sweep", "s.toml", "--out", "s")
    assert done.returncode == 1
    assert "8 runs went well, 8 failed" in done.stdout
    assert "failed: 8 runs, first with traffic.queries.leaves = 40" in done.stderr
    assert done.stderr.count("parents and leaves need 41 hosts") == 1
    record = json.loads((tmp_path / "s/sweep.json").read_text())
    assert {failure["traffic.queries.leaves"] for failure in record["failures"]} == {40}
    assert pl.read_parquet(tmp_path / "s/sweep.parquet").height == 8


def test_mistakes_are_shown_in_the_sweeps_file(duetime: Command, file: Path) -> None:
    file.write_text(SWEEP.replace("network.buffer", "network.bufer"))
    done = duetime("sweep", "s.toml", "--out", "s")
    assert done.returncode == 2
    assert "s.toml:11:9" in done.stderr
    assert "did you mean `buffer`?" in done.stderr
    assert duetime("sweep", "none.toml").returncode == 2


@pytest.mark.usefixtures("file")
def test_a_folder_with_something_else_is_left_alone(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/thesis.txt").write_text("mine")
    done = duetime("sweep", "s.toml", "--out", "s")
    assert (done.returncode, done.stdout) == (2, "")
    assert "s: holds something else (thesis.txt)" in done.stderr
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["thesis.txt"]


def test_without_transports_and_seeds_it_is_the_scenarios(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    keys = ["count = 3", 'traffic.web.load = "uniform(0.1, 0.5)"']
    path.write_text("\n".join([f'scenario = "{small.name}"', 'title = "Loads"', "[sample]", *keys]))
    swept = sweep(path, out=tmp_path / "out")
    runs = swept.runs()
    assert runs["transport"].to_list() == ["d2tcp"] * 3
    assert runs["seed"].to_list() == [5] * 3
    assert runs["traffic.web.load"].is_between(0.1, 0.5).all()
    assert read(path).title == "Loads"


def test_a_parameter_called_like_a_figure_keeps_its_values(
    duetime: Command, small: Path, tmp_path: Path
) -> None:
    used = small.read_text().replace("leaves = 4", 'leaves = "$messages"')
    small.write_text("[parameters]\nmessages = 4\nseed = 1\n" + used.replace('title = "Small"', ""))
    (tmp_path / "s.toml").write_text(
        f'scenario = "{small.name}"\nseeds = [7, 8]\n[grid]\nmessages = [2, 3, 40]\nseed = [5]\n'
    )
    done = duetime("sweep", "s.toml", "--out", "s")
    # Nor is there a transport to be named where none was asked for.
    assert "failed: 2 runs, first with $messages = 40, $seed = 5, seed = 7\n" in done.stderr
    for name in ("sweep.parquet", "classes.parquet"):
        table = pl.read_parquet(tmp_path / "s" / name)
        assert table["$messages"].unique().sort().to_list() == [2, 3]
        assert table["$seed"].unique().to_list() == [5]
        assert table["seed"].unique().sort().to_list() == [7, 8]
        assert table["messages"].min() > 3  # type: ignore[operator]
    assert json.loads((tmp_path / "s/sweep.json").read_text())["axes"] == ["$messages", "$seed"]
    assert duetime("report", "s").returncode == 0


def test_what_only_some_transports_have_is_null_for_the_others(file: Path, tmp_path: Path) -> None:
    file.write_text(SWEEP.replace('"dctcp", "d2tcp"', '"dctcp", "d3"'))
    runs = sweep(file, out=tmp_path / "out").runs()
    assert "rate_requests" not in runs.columns
    by_transport = {str(name): part["rate_requests_requests"] for (name,), part in runs.group_by("transport")}
    assert by_transport["dctcp"].null_count() == by_transport["dctcp"].len()
    assert by_transport["d3"].null_count() == 0


def test_the_example_is_what_its_first_line_says() -> None:
    example = read(SCENARIOS / "sweeps/threshold.toml")
    assert len(example.points) == 54
    page = (SCENARIOS.parent / "docs/sweeps.md").read_text()
    text = (SCENARIOS / "sweeps/threshold.toml").read_text()
    assert text.partition("\n")[2] in page, "the page shows the file"


def test_the_commands_of_the_page_run(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(SCENARIOS)
    page = (SCENARIOS.parent / "docs/sweeps.md").read_text()
    commands = [block.strip() for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    assert [command.split()[1] for command in commands] == ["sweep", "tighten", "capacity", "need", "robust"]
    for command in commands:
        shorter = ["--seeds", 2, "--set", "run.duration=2 s"]
        shorter = {"sweep": [], "robust": ["--variants", 2]}.get(command.split()[1], shorter)
        done = duetime(*shlex.split(command)[1:], *shorter)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/threshold/sweep.parquet").exists()


def test_requests_have_a_column_for_each_goal(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f'scenario = "{SCENARIOS / "rpc.toml"}"\nset.run.duration = "12 ms"\n'
        '[grid]\nevery = ["100 us", "200 us"]\n'
    )
    printed = duetime("sweep", "s.toml", "--out", "out").stdout
    heading = next(line for line in printed.splitlines() if "missed %" in line)
    assert heading.index("deadline met %") < heading.index("missed %")
    runs = pl.read_parquet(tmp_path / "out/sweep.parquet")
    (met,) = runs.filter(pl.col("every") == "100 us")["requests_goals_deadline_attainment_percent"].to_list()
    row = next(line for line in printed.splitlines() if line.split()[:1] == ["100"])
    assert f"{met:.2f}" in row
    titles = [chart.title for chart in experiments(tmp_path / "out")[0].charts]
    assert titles[0] == "Requests that reached all goals in time"
