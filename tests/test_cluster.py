"""Runs on a real Dask scheduler with two worker processes on loopback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import SMALL, Command, arguments
from duetime.engine import cluster as cluster_module
from duetime.engine.points import Point, run_points
from duetime.errors import Unusable
from duetime.sweeping import sweep

#: Long enough that a worker is killed in the middle of a run.
CHANGES = ("run.duration=400 ms",)
SEEDS = 16


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.clients: list[subprocess.Popen[str]] = []
        file = folder / "scheduler.json"
        self._start("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file)
        # It is written in one piece, some time after it is there; its last byte closes an object.
        until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        self.address = str(json.loads(file.read_text())["address"])

    def worker(self, *words: object) -> subprocess.Popen[bytes]:
        """Start a worker; wait until the scheduler has it, or a client would say that there is none yet."""
        # In a folder of its own: nothing of the client's files is there.
        folder = self.folder / f"worker-{len(self.processes)}"
        log = self._log()
        folder.mkdir()
        process = self._start(
            "worker",
            self.address,
            "--no-nanny",
            "--nthreads",
            1,
            "--local-directory",
            folder,
            *words,
            folder=folder,
        )
        until(lambda: b"Registered to:" in log.read_bytes())
        return process

    def _start(self, *words: object, folder: Path | None = None) -> subprocess.Popen[bytes]:
        arguments = [str(Path(sys.executable).with_name("dask")), *map(str, words), "--no-dashboard"]
        with self._log().open("wb") as log:
            process = subprocess.Popen(arguments, cwd=folder or self.folder, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def _log(self) -> Path:
        """Return the path of the next process's output."""
        return self.folder / f"{len(self.processes)}.log"

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()
    for run in started.clients:
        run.kill()
        run.communicate()


def until(holds: Callable[[], object], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def client(folder: Path, cluster: Cluster) -> subprocess.Popen[str]:
    program = f"""
import sys
from pathlib import Path
from duetime.cli import status
from duetime.engine.points import Point, run_points
points = [Point(Path("small.toml"), {CHANGES!r}, "d2tcp", seed) for seed in range({SEEDS})]
def run():
    for kept in run_points(points, store=Path("store"), cluster={cluster.address!r}, tables=["flows"]):
        assert kept.error is None, kept.error
sys.exit(status(run))
"""
    run = subprocess.Popen([sys.executable, "-c", program], cwd=folder, stderr=subprocess.PIPE, text=True)
    cluster.clients.append(run)
    return run


def stored(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.glob("*/*") if not path.name.startswith(".")}


def test_a_worker_killed_in_the_middle_changes_no_byte(cluster: Cluster, tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SMALL.replace('size = "uniform(2 KB, 20 KB)"', 'size = "cdf(sizes.txt)"'))
    (tmp_path / "sizes.txt").write_text("1000 0\n20000 1\n")
    killed, other = cluster.worker(), cluster.worker()
    run = client(tmp_path, cluster)
    until(lambda: len(list(tmp_path.glob("store/*/*.json"))) >= 3)
    os.kill(killed.pid, signal.SIGKILL)
    before = len(list(tmp_path.glob("store/*/*.json")))
    assert before < SEEDS, "it was over before the worker was killed"
    _, error = run.communicate(timeout=120)
    assert (run.returncode, error) == (0, "")
    assert other.poll() is None
    points = [Point(scenario, CHANGES, "d2tcp", seed) for seed in range(SEEDS)]
    run_points(points, store=tmp_path / "local", tables=["flows"])
    assert stored(tmp_path / "store") == stored(tmp_path / "local")
    assert len(stored(tmp_path / "local")) == 2 * SEEDS


def test_a_sweep_is_the_same_to_the_byte(cluster: Cluster, small: Path, tmp_path: Path) -> None:
    grid = 'transports = ["tcp", "d2tcp"]\nseeds = 4\n[grid]\ntraffic.queries.leaves = [3, 40]\n'
    (tmp_path / "s.toml").write_text(f'scenario = "{small.name}"\nset.run.duration = "300 ms"\n{grid}')
    killed, _ = cluster.worker(), cluster.worker()
    words = arguments("sweep", "s.toml", "--cluster", cluster.address, "--out", "there")
    with (tmp_path / "there.log").open("w") as log:
        run = subprocess.Popen(words, cwd=tmp_path, stdout=log, stderr=log)
    until(lambda: len(list(tmp_path.glob("there/runs/*/*.json"))) >= 2)
    os.kill(killed.pid, signal.SIGKILL)
    assert run.wait(timeout=60) == 1, "half of the points fail"
    here = sweep(tmp_path / "s.toml", out=tmp_path / "here")
    assert (len(here.kept), len(here.failures)) == (16, 8)
    for name in ("sweep.parquet", "classes.parquet", "sweep.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name


def test_runs_larger_than_a_worker_are_refused_before_the_first(
    cluster: Cluster, small: Path, tmp_path: Path
) -> None:
    cluster.worker("--memory-limit", "20 MB")
    words = ("compare", small, "--transports", "tcp,d2tcp", "--cluster", cluster.address, "--out", "there")
    done = subprocess.run(arguments(*words), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    said = r"error: 1 run of about .* of memory, and each thread of a worker has 20 MB; --yes runs it anyway"
    assert re.fullmatch(said, done.stderr.splitlines()[-1])
    assert not (tmp_path / "there").exists()


def test_a_worker_with_another_version_is_named(cluster: Cluster, small: Path) -> None:
    preload = cluster.folder / "older.py"
    preload.write_text(
        "from duetime.engine import work\nold = work.Build('0.0.9', 'abc', '1.0')\nwork.build = lambda: old\n"
    )
    worker = cluster.worker("--preload", preload)
    run = client(small.parent, cluster)
    _, error = run.communicate(timeout=60)
    assert worker.poll() is None
    assert run.returncode == 2
    assert "error: the worker tcp://127.0.0.1:" in error
    assert "it has duetime 0.0.9 (engine abc)" in error
    assert "Traceback" not in error


def test_a_scheduler_that_is_lost_is_named(cluster: Cluster, small: Path) -> None:
    cluster.worker()
    run = client(small.parent, cluster)
    until(lambda: list(small.parent.glob("store/*/*.json")), 20)
    cluster.stop()
    _, error = run.communicate(timeout=60)
    assert run.returncode == 1
    assert error.splitlines()[-1].endswith("the scheduler was lost; what was finished is kept")


def test_no_scheduler_is_an_error(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE_S", 1)
    with pytest.raises(Unusable, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        run_points([Point(small)], store=tmp_path / "there/store", cluster="tcp://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == [small]
    (tmp_path / "mine").mkdir()
    with pytest.raises(Unusable):
        run_points([Point(small)], store=tmp_path / "mine/store", cluster="tcp://127.0.0.1:1")
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("nonsense", "missing port number"),
        ("foo://here:1", "an address is tcp://host:port"),
        ("tcp://127.0.0.1:port", "invalid literal"),
        ("tls://127.0.0.1:1", "no certificates"),
    ],
)
def test_a_wrong_address_is_told_at_once(duetime: Command, small: Path, address: str, reason: str) -> None:
    words = ("tighten", small, "--target", "5%", "--out", "o", "--cluster", address)
    done = duetime(*words, timeout=15)
    assert (done.returncode, done.stdout) == (2, "")
    # One line: nothing of the library's own follows when the process ends.
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"error: no Dask scheduler answers at {address}: ")
    assert reason in line
    assert list(small.parent.iterdir()) == [small]
