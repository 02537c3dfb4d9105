"""Runs that are made once and kept."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import duetime as dt
from conftest import ENDLESS, SMALL
from duetime import manifest
from duetime.engine.points import Point, key, run_points
from duetime.errors import Damaged
from duetime.files import Refused

CDF = "1000 0\n20000 1\n"


def files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}


def test_a_point_is_the_run_of_the_command_line(small: Path, tmp_path: Path) -> None:
    point = Point(small, ("network.mark=10 packets",), "dctcp", 9)
    (kept,) = run_points([point], store=tmp_path / "store", tables=["flows"])
    alone = dt.run(small, seed=9, set=point.overrides, transport="dctcp")
    expected = dict(alone.data)
    del expected["wall_s"]
    assert (kept.point, kept.error, kept.result) == (point, None, expected)
    assert kept.table("flows").equals(alone.flows)
    assert kept.scenario == alone.scenario
    assert set(files(tmp_path / "store")) == {
        f"{kept.key[:2]}/{kept.key}.flows.parquet",
        f"{kept.key[:2]}/{kept.key}.json",
        manifest.NAME,
    }
    with pytest.raises(FileNotFoundError, match="`links`"):
        kept.table("links")


def test_what_is_kept_is_not_run_again(small: Path, tmp_path: Path) -> None:
    points = [Point(small, (), "tcp", seed) for seed in (3, 1, 3)]
    first = run_points(points, store=tmp_path / "store")
    assert [kept.result["seed"] for kept in first] == [3, 1, 3]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.json")}
    assert len(before) == 2
    # If it were run, the figure that is put in here would be overwritten.
    (tmp_path / "store" / manifest.NAME).unlink()
    path = tmp_path / "store" / first[0].key[:2] / f"{first[0].key}.json"
    record = json.loads(path.read_text())
    record["result"]["drops"] = -1
    path.write_text(json.dumps(record))
    again = run_points([*points, Point(small, (), "tcp", 4)], store=tmp_path / "store")
    assert [kept.result["drops"] for kept in again[:3]] == [-1, first[1].result["drops"], -1]
    assert len(files(tmp_path / "store")) == 3 + 1
    # A table that was not asked for before is one more run.
    asked = run_points(points[:1], store=tmp_path / "store", tables=["links"])
    assert asked[0].result == first[0].result


def test_a_record_that_was_cut_short_is_run_again(small: Path, tmp_path: Path) -> None:
    def run() -> dict[str, object]:
        return run_points([Point(small)], store=tmp_path / "store")[0].result

    first = run()
    (path,) = (tmp_path / "store").glob("*/*.json")
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    # The store is finished and has the record's checksum: whoever reads it should know.
    with pytest.raises(Damaged, match=r"differs from its checksum .* remove it to have its run repeated$"):
        run()
    path.unlink()
    assert (run(), path.read_bytes()) == (first, whole)
    # A store that was interrupted has none yet.
    (tmp_path / "store" / manifest.NAME).unlink()
    path.write_bytes(whole[:100])
    assert (run(), path.read_bytes()) == (first, whole)


def test_the_number_of_jobs_changes_no_byte(small: Path, tmp_path: Path) -> None:
    points = [Point(small, (), transport, seed) for transport in ("tcp", "d2tcp") for seed in (1, 2, 3)]
    for jobs in (1, 3):
        run_points(points, store=tmp_path / str(jobs), jobs=jobs, tables=["flows", "links", "trace"])
    assert files(tmp_path / "1") == files(tmp_path / "3")
    assert len(files(tmp_path / "1")) == 24 + 1


def test_the_key_follows_from_what_decides(tmp_path: Path) -> None:
    scenario = tmp_path / "a.toml"
    scenario.write_text(SMALL.replace('size = "uniform(2 KB, 20 KB)"', 'size = "cdf(sizes.txt)"'))
    (tmp_path / "sizes.txt").write_text(CDF)
    base = key(Point(scenario))
    assert key(Point(scenario, ("network.buffer=500 KB",), "d2tcp", 1)) == base, "what it is by default"
    others = [
        Point(scenario, seed=2),
        Point(scenario, transport="tcp"),
        Point(scenario, ("network.buffer=400 KB",)),
        Point(scenario, ("title=b",)),
    ]
    assert len({base, *map(key, others)}) == 5
    scenario.write_text("# a remark\n" + scenario.read_text())
    assert key(Point(scenario)) == base
    (tmp_path / "sizes.txt").write_text(CDF.replace("20000", "20001"))
    assert key(Point(scenario)) != base


def test_files_of_a_scenario_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "scenarios"
    folder.mkdir()
    scenario = folder / "a.toml"
    scenario.write_text(SMALL.replace('size = "uniform(2 KB, 20 KB)"', 'size = "cdf(../sizes.txt)"'))
    (tmp_path / "sizes.txt").write_text(CDF)
    monkeypatch.chdir("/")
    (kept,) = run_points([Point(scenario, seed=5)], store=tmp_path / "store")
    assert kept.error is None
    assert kept.result["summary"] == dt.run(scenario).summary


def test_a_failing_point_does_not_stop_the_rest(small: Path, tmp_path: Path) -> None:
    points = [
        Point(small, ("network.bufer=1 KB",)),
        Point(small),
        Point(tmp_path / "none.toml"),
        Point(small, seed=-1),
    ]
    kept = run_points(points, store=tmp_path / "store")
    assert [each.error is None for each in kept] == [False, True, False, False]
    assert "did you mean `buffer`?" in str(kept[0].error)
    assert "none.toml: No such file" in str(kept[2].error)
    assert (kept[0].key, kept[0].result) == ("", {})
    assert len(files(tmp_path / "store")) == 1 + 1


def test_a_store_that_cannot_be_is_refused(small: Path) -> None:
    with pytest.raises(Refused, match="cannot be written"):
        run_points([Point(small)], store=small / "store")
    with pytest.raises(ValueError, match="the tables are"):
        run_points([Point(small)], store=small.parent / "store", tables=["flow"])


def test_ctrl_c_leaves_a_store_to_go_on_from(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "endless.toml").write_text(ENDLESS)
    program = """
from pathlib import Path
from duetime.engine.points import Point, run_points
points = [Point(Path("small.toml")), Point(Path("endless.toml"))]
try:
    run_points(points, store=Path("store"), jobs=2)
except KeyboardInterrupt as error:
    print(error)
"""
    run = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 30
    while not list(tmp_path.glob("store/*/*.json")) and time.monotonic() < limit:
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGINT)
    try:
        out, error = run.communicate(timeout=20)
    finally:
        run.kill()
    assert (out.strip(), error) == ("1 of 2 runs finished and kept in store", "")
    assert [len(part.name) for part in (tmp_path / "store").rglob("*.*")] == [64 + len(".json")]
