"""Rows that are written during a run are the same as the rows of that run in memory."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import duetime as dt
from conftest import Command
from duetime import scenario
from duetime.run import simulate

#: Everything that writes into rows late, and every table. This has losses, connections that stay open and
#: flows without end that keep their block back. It also has queries, a warm-up, a cool-down, missed
#: deadlines, sets, and samples.
BUSY = """
title = "Busy"
profile = "classic"
[run]
duration = "60 ms"
warm_up = "2 ms"
cool_down = "10 ms"
trace = { every = "150 us", what = ["throughput", "cwnd", "queue"] }
[network]
topology = "leaf-spine"
leaves = 2
hosts_per_leaf = 4
spines = 2
uplink = "700 Mbps"
rate = "1 Gbps"
delay = "5 us"
buffer = "20 packets"
mark = "8 packets"
[transport]
name = "d2tcp"
rto_min = "1 ms"
[[traffic]]
name = "long"
set = "rest"
pattern = "long"
from = "0..2"
to = 7
[[traffic]]
name = "web"
set = "rest"
pattern = "poisson"
load = 0.3
size = "3 KB"
connections = "persistent"
deadline = "400 us"
[[traffic]]
name = "asked"
pattern = "fan-in"
leaves = 6
every = "300 us"
size = "5 KB"
deadline = "2 ms"
"""
TABLES = ("flows", "queries", "links", "trace")


def without_clock(result: dt.Result) -> str:
    return json.dumps({name: value for name, value in result.data.items() if name != "wall_s"})


@pytest.mark.parametrize("block", [1, 16, 65_536])
@pytest.mark.parametrize("transport", ["d2tcp", "tcp"])
def test_streamed_or_in_memory_a_result_is_the_same(transport: str, block: int, tmp_path: Path) -> None:
    read = scenario.read(BUSY)
    whole = simulate(read, None, None, transport, None)
    streamed = simulate(read, None, None, transport, None, out=tmp_path, block=block)
    assert without_clock(streamed) == without_clock(whole)
    assert without_clock(simulate(read, None, None, transport, None, rows=False)) == without_clock(whole)
    assert whole.summary["missed"] > 100
    loaded = dt.load(tmp_path)
    assert isinstance(loaded, dt.Result)
    assert without_clock(loaded) == without_clock(whole)
    for name in TABLES:
        assert_frame_equal(getattr(loaded, name), getattr(whole, name), check_exact=True)
        assert getattr(whole, name).height > 0
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", *(f"{name}.parquet" for name in TABLES)}


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    changes = {"run.duration": "1 ns", "run.cool_down": "0 s", "run.warm_up": "0 s"}
    nothing = dt.run(BUSY.replace('pattern = "long"', 'pattern = "long"\nstart = "5 ns"'), set=changes)
    saved = dt.run(
        BUSY.replace('pattern = "long"', 'pattern = "long"\nstart = "5 ns"'), set=changes, out=tmp_path / "o"
    )
    assert nothing.flows.height == saved.flows.height == 0
    assert saved.flows.schema == nothing.flows.schema


def test_what_is_asked_of_a_streamed_result_is_read_from_its_folder(tmp_path: Path) -> None:
    result = dt.run(BUSY, out=tmp_path / "o")
    assert_frame_equal(result.flows, pl.read_parquet(tmp_path / "o" / "flows.parquet"))
    result.save(tmp_path / "again")
    assert_frame_equal(dt.run(BUSY).flows, pl.read_parquet(tmp_path / "again" / "flows.parquet"))


def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    def enough(now: float, *_: object) -> None:
        if now > 0.01:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        dt.run(BUSY, out=tmp_path / "o", progress=enough)
    assert not list(tmp_path.iterdir())


def test_a_run_without_a_folder_keeps_no_rows() -> None:
    result = simulate(scenario.read(BUSY), None, None, None, None, rows=False)
    with pytest.raises(RuntimeError, match="not kept"):
        _ = result.flows


def test_the_command_writes_what_python_writes(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "busy.toml").write_text(BUSY)
    done = duetime("run", str(tmp_path / "busy.toml"), "--out", str(tmp_path / "o"), "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"Saved in {tmp_path / 'o'}\n")
    assert_frame_equal(pl.read_parquet(tmp_path / "o" / "flows.parquet"), dt.run(BUSY).flows)
