"""The Python API: sources, changes, progress, frames."""

import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import duetime as dt
from conftest import ENDLESS, SMALL
from duetime import _core, errors, files, plots, points, report, scenario, trouble
from duetime.engine import points as many_runs
from duetime.results import _series


def same(one: dt.Result, other: dt.Result) -> bool:
    return {**one.data, "wall_s": 0} == {**other.data, "wall_s": 0}


def test_a_path_a_text_and_a_dictionary_are_the_same(small: Path) -> None:
    run = dt.run(small)
    assert same(run, dt.run(str(small)))
    assert same(run, dt.run(SMALL))
    assert same(run, dt.run(tomllib.loads(SMALL)))


def test_changes_are_a_list_or_a_dictionary(small: Path) -> None:
    listed = dt.run(small, set=["run.duration=3 ms", "network.hosts=7"])
    assert same(listed, dt.run(small, set={"run.duration": "3 ms", "network.hosts": 7}))
    assert listed.data["simulated_s"] == 0.003
    with pytest.raises(TypeError, match="not one text"):
        dt.run(small, set="run.duration=3 ms")


def test_seed_and_transport_replace_those_of_the_scenario(small: Path) -> None:
    run = dt.run(small, seed=11, transport="cubic")
    assert (run.seed, run.transport, run.scenario["transport"]["name"]) == (11, "cubic", "cubic")
    messages, p99 = run.summary["messages"], run.summary["fct_us"]["p99"]
    assert repr(run).startswith(f"<Result of 'Small': cubic, seed 11; {messages:,} messages, ")
    assert f"% missed, FCT p99 {p99:,.4g} us, slowdown p99 " in repr(run)
    assert run.bound is not None
    assert repr(run.bound).startswith(f"<Bound: {run.bound['missed']:,} missed, ")
    assert max(len(repr(run)), len(repr(run.bound))) < 160


def test_what_toml_cannot_say_is_told() -> None:
    with pytest.raises(ValueError, match="scenario"):
        dt.run({"run": {"duration": object()}})


def test_a_change_may_be_a_table(small: Path) -> None:
    what = {"every": "10 ms", "what": ["queue"]}
    result = dt.run(small, set={"run.trace": what, "network.mark": {"host": "9 packets"}})
    assert set(result.trace["what"]) == {"queue"}
    assert result.scenario["network"]["mark"] == {"host": "9 packets"}


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"seed": 2**64}, {"set": {"network.mark": None}}])
def test_impossible_arguments_are_value_errors(small: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"a seed is 0|is no value of a scenario"):
        dt.run(small, **arguments)


def test_one_text_is_no_list(small: Path) -> None:
    with pytest.raises(TypeError, match="a list of names"):
        dt.compare(small, "tcp")
    with pytest.raises(TypeError, match="a change is a text"):
        dt.run(small, set=[1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a seed is a whole number, not '1'"):
        dt.run(small, seed="1")  # type: ignore[arg-type]


def test_check_gives_the_resolved_scenario_and_notes(small: Path) -> None:
    resolved, notes = dt.check(small, transport="tcp")
    assert resolved["transport"]["name"] == "tcp"
    assert notes == []


def test_progress_is_told_until_the_end(small: Path) -> None:
    told: list[tuple[float, float, int]] = []
    run = dt.run(small, progress=lambda *now: told.append(now))
    assert told
    assert all(duration == 0.01 for _, duration, _ in told)
    assert [now for now, _, _ in told] == sorted(now for now, _, _ in told)
    assert told[-1] == (0.01, 0.01, run.data["packets_delivered"])


def test_what_progress_raises_ends_the_run() -> None:
    def stop(now_s: float, _duration_s: float, _delivered: int) -> None:
        if now_s > 0.001:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        dt.run(ENDLESS, progress=stop)


def test_python_goes_on_while_a_run_simulates() -> None:
    end = time.monotonic() + 1.5

    def stop(*_: float) -> None:
        if time.monotonic() > end:
            raise TimeoutError

    def run() -> None:
        with pytest.raises(TimeoutError):
            dt.run(ENDLESS, progress=stop)

    thread = threading.Thread(target=run)
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    # Were Python's lock held, there would be a turn for each slice of 0.1 s.
    assert turns > 150


def test_frames_have_the_types_that_they_should(small: Path) -> None:
    run = dt.run(small)
    flows = run.flows.schema
    assert (flows["class"], flows["src"], flows["bytes"]) == (pl.String, pl.UInt32, pl.UInt64)
    assert (flows["fct_us"], flows["missed"], flows["counted"]) == (pl.Float64, pl.Boolean, pl.Boolean)
    assert run.flows["class"].unique().sort().to_list() == ["queries", "web"]
    assert run.flows.filter(pl.col("class") == "web")["deadline_us"].null_count() > 0
    assert run.flows["start_us"].is_sorted()
    assert run.links["src"].n_unique() == run.links["dst"].n_unique() == 7


def test_columns_with_gaps() -> None:
    numbers = np.array([1.5, 0.0], "float64").tobytes()
    assert _series("x", ("float64", numbers, b"\1\0", None)).to_list() == [1.5, None]
    codes = np.array([1, 0, 0], "uint32").tobytes()
    assert _series("x", ("uint32", codes, b"\1\0\1", ["a", "b"])).to_list() == ["b", None, "a"]
    assert _series("x", ("uint32", codes, b"\0\0\0", [])).to_list() == [None, None, None]
    assert _series("x", ("bool", b"\1\0", None, None)).to_list() == [True, False]
    assert _series("x", ("uint32", b"", None, [])).dtype == pl.String


def test_schema_and_catalog_are_plain_data() -> None:
    assert dt.schema()["$schema"].startswith("https://json-schema.org/")
    for kind in ("transports", "topologies", "patterns"):
        for entry in dt.catalog()[kind]:
            assert {"name", "help", "keys"} <= set(entry)
    assert _core.version() == dt.__version__


def test_former_names_of_errors_and_of_many_runs_still_work() -> None:
    assert points.run_points is many_runs.run_points
    assert (trouble.Missing, trouble.Unusable) == (errors.Missing, errors.Unusable)
    assert (files.Refused, scenario.Unreadable) == (errors.Refused, errors.Unreadable)
    assert (plots.NoResults, report.NoReport) == (errors.NoResults, errors.NoReport)
