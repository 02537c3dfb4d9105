"""Folders of results: complete or not there, and never an obstacle."""

import json
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

import duetime as dt
from conftest import Command, arguments
from duetime import files, manifest

FLOWS = [
    *("class", "src", "dst", "query", "bytes", "start_us", "end_us", "fct_us", "ideal_fct_us", "slowdown"),
    *("deadline_us", "missed", "aborted", "counted", "timeouts", "retransmits", "marks"),
]
LINKS = [
    *(
        "src",
        "dst",
        "rate_bps",
        "packets",
        "bytes",
        "drops",
        "marks",
        "utilisation",
        "queue_mean",
        "queue_p5",
    ),
    *("queue_p50", "queue_p99", "queue_max"),
    *("requests", "denied", "inverted", "overtaken", "displaceable", "refused"),
    *("passed_over", "counted_flows", "allocated_bps", "requested_bps"),
]
TRACE = ["time_s", "what", "class", "src", "dst", "message", "link", "value"]
TRACED = 'run.trace={ every = "1 ms", what = ["cwnd", "queue"] }'


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_out_writes_tables_and_a_record(duetime: Command, small: Path, tmp_path: Path) -> None:
    done = duetime("run", small, "--out", "made/result", "--json")
    assert (done.returncode, done.stderr) == (0, "Saved in made/result\n")
    folder = tmp_path / "made/result"
    assert names(folder) == [manifest.NAME, "flows.parquet", "links.parquet", "queries.parquet", "run.json"]
    assert names(folder.parent) == ["result"]
    assert pl.read_parquet(folder / "flows.parquet").columns == FLOWS
    assert pl.read_parquet(folder / "links.parquet").columns == LINKS

    record = json.loads((folder / "run.json").read_text())
    data = json.loads(done.stdout)
    assert {key: record[key] for key in data} == data
    assert record["version"] == dt.__version__
    assert record["scenario"]["network"]["hosts"] == 6
    assert record["notes"] == []


def test_a_saved_result_reads_as_the_run_did(small: Path, tmp_path: Path) -> None:
    run = dt.run(small, set=[TRACED])
    loaded = dt.load(run.save(tmp_path / "result"))
    assert names(tmp_path / "result") == [
        manifest.NAME,
        "flows.parquet",
        "links.parquet",
        "queries.parquet",
        "run.json",
        "trace.parquet",
    ]
    assert (loaded.data, loaded.scenario, loaded.notes) == (run.data, run.scenario, run.notes)
    assert loaded.flows.equals(run.flows)
    assert loaded.queries.equals(run.queries)
    assert loaded.links.equals(run.links)
    assert loaded.trace.equals(run.trace)


def test_the_trace_speaks_of_messages_and_links(small: Path) -> None:
    run = dt.run(small, set=[TRACED])
    assert run.trace.columns == TRACE
    windows, queues = run.trace.filter(what="cwnd"), run.trace.filter(what="queue")
    assert windows.height > 0
    assert windows["link"].null_count() == windows.height
    assert windows["message"].null_count() == 0
    assert windows["value"].min() > 0  # type: ignore[operator]
    assert queues["message"].null_count() == queues.height > 0
    of = run.flows[windows["message"].to_list()]
    assert of["src"].to_list() == windows["src"].to_list()
    assert of["class"].to_list() == windows["class"].to_list()


def test_an_untraced_run_has_an_empty_trace(small: Path) -> None:
    trace = dt.run(small).trace
    assert (trace.columns, trace.height) == (TRACE, 0)


def test_a_former_result_is_replaced(duetime: Command, small: Path, tmp_path: Path) -> None:
    assert duetime("run", small, "--out", "result", "--set", TRACED).returncode == 0
    (tmp_path / "result/plots").mkdir()
    (tmp_path / "result/plots/overview.png").write_bytes(b"")
    assert duetime("run", small, "--out", "result", "--seed", "9").returncode == 0
    assert names(tmp_path / "result") == [
        manifest.NAME,
        "flows.parquet",
        "links.parquet",
        "queries.parquet",
        "run.json",
    ]
    assert dt.load(tmp_path / "result").seed == 9
    assert names(tmp_path) == ["result", "small.toml"]


@pytest.mark.parametrize("kept", ["notes.txt", "data.json", "run.json"])
def test_what_is_not_ours_is_left_alone(duetime: Command, small: Path, tmp_path: Path, kept: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / kept).write_text("{}")
    done = duetime("run", small, "--out", mine)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"error: {mine}: is not empty and holds no former result; name another folder\n"
    assert (mine / kept).read_text() == "{}"
    assert names(mine) == [kept]


def test_a_former_result_with_something_else_in_it_is_left_alone(
    duetime: Command, small: Path, tmp_path: Path
) -> None:
    dt.run(small).save(tmp_path / "result")
    (tmp_path / "result/notes.txt").write_text("mine")
    done = duetime("run", small, "--out", "result")
    assert done.returncode == 2
    assert "notes.txt" in done.stderr
    assert (tmp_path / "result/notes.txt").read_text() == "mine"


@pytest.mark.parametrize("out", ["small.toml", "small.toml/below", "/proc/nowhere", ".", ".."])
def test_places_that_cannot_be_written_are_refused_at_once(
    duetime: Command, endless: Path, small: Path, tmp_path: Path, out: str
) -> None:
    before = small.read_text()
    done = duetime("run", endless, "--out", out, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert names(tmp_path) == ["endless.toml", "small.toml"]
    assert small.read_text() == before


def test_a_bad_scenario_leaves_no_folder(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("nonsense = 1\n")
    assert duetime("run", "bad.toml", "--out", "a/b").returncode == 2
    assert names(tmp_path) == ["bad.toml"]


def test_a_killed_run_leaves_nothing_that_looks_finished_and_the_next_removes_that(
    duetime: Command, endless: Path, small: Path, tmp_path: Path
) -> None:
    runs = [
        subprocess.Popen(
            arguments("run", endless, "--out", "result"), cwd=tmp_path, stderr=subprocess.DEVNULL
        )
        for _ in range(2)
    ]

    def partial() -> list[str]:
        return [name for name in names(tmp_path) if name not in ("endless.toml", "small.toml")]

    end = time.monotonic() + 60
    before: list[str] = []
    # The same ones twice: each run also tries beforehand whether it will be able to write.
    while len(before) < 2 or partial() != before:
        assert time.monotonic() < end, "the runs do not write"
        before = partial()
        time.sleep(0.5)
    assert [run.poll() for run in runs] == [None, None]
    runs[0].send_signal(signal.SIGKILL)
    runs[0].wait()
    assert all(name.startswith(".result.") and name.endswith(".partial") for name in partial())
    # What the other one is still writing stays.
    assert duetime("run", small, "--out", "result").returncode == 0
    assert [name[:8] for name in partial()] == [".result.", "result"]
    runs[1].send_signal(signal.SIGKILL)
    runs[1].wait()
    assert duetime("run", small, "--out", "result").returncode == 0
    assert partial() == ["result"]


def test_dying_while_writing_leaves_the_former_result(tmp_path: Path, small: Path) -> None:
    dt.run(small, seed=1).save(tmp_path / "result")
    script = (
        "import os, sys, duetime; from duetime import files; from pathlib import Path\n"
        "with files.replacing(Path('result')) as aside:\n"
        "    duetime.run('small.toml', seed=2).write(aside)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([arguments()[0], "-c", script], cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    assert dt.load(tmp_path / "result").seed == 1
    left = [path for path in tmp_path.iterdir() if path.name not in ("result", "small.toml")]
    assert [path.name[:8] + path.suffix for path in left] == [".result..partial"]


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("calls", range(12))
def test_a_kill_between_any_two_renames_keeps_a_result_and_its_runs(
    tmp_path: Path, calls: int, exchange: bool
) -> None:
    """The process ends before the system call of this number that changes names or removes."""
    if exchange:
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
        able = files._exchange(tmp_path / "one", tmp_path / "other")
        for name in ("one", "other"):
            (tmp_path / name).rmdir()
        if not able:
            pytest.skip("this file system cannot exchange two names in one step")
    target = tmp_path / "result"
    (target / "runs").mkdir(parents=True)
    (target / "runs" / "kept.json").write_text("{}")
    (target / "compare.json").write_text('{"version": "former"}')
    script = f"""
import os, pathlib, shutil, duetime.files as files
left = {calls}
def counted(call):
    def do(*arguments, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), 9)
        left -= 1
        return call(*arguments, **options)
    return do
def work():
    with files.replacing(pathlib.Path("result"), keep="runs") as aside:
        (aside / "compare.json").write_text('{{"version": "new"}}')
        pathlib.Path.rename = counted(pathlib.Path.rename)
        shutil.rmtree = counted(shutil.rmtree)
        os.rmdir = counted(os.rmdir)
        files._exchange = counted(files._exchange) if {exchange} else lambda one, other: False
work()
"""
    ended = subprocess.run([arguments()[0], "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr

    def versions() -> list[str]:
        found = [*tmp_path.glob("result/compare.json"), *tmp_path.glob(".result.*/compare.json")]
        return [json.loads(path.read_text())["version"] for path in found]

    assert versions()
    if exchange:
        assert (target / "compare.json").exists()
    # The next process puts the missing parts back, before it works.
    files.check(target, keep="runs")
    assert (target / "compare.json").exists()
    assert (target / "runs" / "kept.json").exists()
    with files.replacing(target, keep="runs"):
        assert (target / "compare.json").exists()
        assert (target / "runs" / "kept.json").exists()
        assert len(versions()) == 1
        (next(tmp_path.glob(".result.*.partial")) / "compare.json").write_text('{"version": "next"}')
    assert versions() == ["next"]
    assert (target / "runs" / "kept.json").exists()
    assert names(tmp_path) == ["result"]


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with files.replacing(tmp_path / "result") as aside:
            (aside / "flows.parquet").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert names(tmp_path) == []


def test_a_run_of_a_comparison_is_read_by_itself(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    dt.compare(small, ["tcp", "dctcp"]).save(folder)
    assert dt.load(folder / "tcp").data["transport"] == "tcp"
