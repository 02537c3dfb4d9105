"""Ctrl-C: stops soon, says which results are kept, leaves no half results."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import duetime as dt
from conftest import SMALL, arguments


def interrupted(words: list[str], folder: Path, after_s: float) -> tuple[int, str, str]:
    """Interrupt a command when it has used so many seconds of processor time, however busy the machine is."""
    run = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while used_s(run.pid) < after_s:
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    out, error = run.communicate(timeout=20)
    return run.returncode, out, error


def used_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_run_stops_and_keeps_nothing(endless: Path, tmp_path: Path) -> None:
    code, out, error = interrupted(arguments("run", endless), tmp_path, 1)
    assert (code, out) == (130, "")
    assert error.strip() == "Interrupted: nothing was kept."


def test_a_run_with_a_folder_writes_nothing(endless: Path, tmp_path: Path) -> None:
    code, _, error = interrupted(arguments("run", endless, "--out", "result"), tmp_path, 1)
    assert code == 130
    assert error.strip() == "Interrupted: nothing was written to result."
    assert [path.name for path in tmp_path.iterdir()] == ["endless.toml"]


@pytest.mark.parametrize("after_ms", [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
def test_ctrl_c_while_the_command_loads_has_no_traceback(after_ms: int, endless: Path) -> None:
    words = [sys.executable, "-c", START, "duetime", "run", endless]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "started\n"
    time.sleep(after_ms / 1000)
    run.send_signal(signal.SIGINT)
    out, error = run.communicate(timeout=60)
    # Killed by the signal while it loads, or stopped as later on: a shell sees 130 either way.
    assert run.returncode in (-signal.SIGINT, 130)
    assert (out, error.strip()) in (("", ""), ("", "Interrupted: nothing was kept."))


#: The installed command, which says when its imports begin: the time before is Python's own.
START = """
import sys
sys.argv = sys.argv[1:]

class Told:
    def find_spec(name, path, target=None):
        if name == "duetime._core":
            print("started", flush=True)

sys.meta_path.insert(0, Told)
from duetime.cli import main
main()
"""


def test_a_program_that_uses_duetime_keeps_its_ctrl_c() -> None:
    script = "import signal, duetime; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_comparison_keeps_what_was_finished(tmp_path: Path) -> None:
    quick = dt.run(SMALL, set={"run.duration": "100 ms"}).data["wall_s"]
    # Each run takes about half a second, all of them minutes.
    changes = ["--set", f"run.duration={max(1, round(0.5 / quick)) * 100} ms"]
    (tmp_path / "small.toml").write_text(SMALL)
    words = arguments("compare", "small.toml", "--transports", "tcp,d2tcp", "--seeds", 200, "--jobs", 1)
    code, out, error = interrupted([*words, *changes, "--json", "--out", "result"], tmp_path, 4)
    assert code == 130
    runs = json.loads(out)["runs"]
    finished = sum(len(run["seeds"]) for run in runs.values())
    assert 1 <= finished < 400
    last = (
        f"Interrupted: {finished} of 400 runs finished and printed above and saved in result; "
        "the same command goes on from there."
    )
    assert error.splitlines()[-1] == last
    record = json.loads((tmp_path / "result/compare.json").read_text())
    assert record["interrupted"] is True
    assert record["runs"] == runs
    assert len(list((tmp_path / "result").glob("*/seed-*/run.json"))) == finished
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result", "small.toml"]


def test_a_comparison_of_which_nothing_was_finished_says_so(endless: Path, tmp_path: Path) -> None:
    words = arguments("compare", endless, "--transports", "tcp,dctcp", "--jobs", 2, "--out", "result")
    code, out, error = interrupted(words, tmp_path, 1.5)
    assert (code, out) == (130, "")
    assert error.strip() == "Interrupted: no run was finished, nothing was kept."
    assert [path.name for path in tmp_path.iterdir()] == ["endless.toml"]
