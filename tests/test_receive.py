"""`d2tcp receive` on this machine's kernel: deadlines from the receiving end, and nothing left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

RECEIVE = Path(__file__).parents[1] / "deploy" / "linux" / "receive"
sys.path.insert(0, str(RECEIVE))

import bed  # noqa: E402
import kills  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tool is for Linux")


@pytest.fixture(scope="module", autouse=True)
def tool() -> Path:
    """The tool; without it, or without root, there is nothing to test."""
    if os.geteuid() != 0:
        pytest.skip("root is needed")
    try:
        found = bed.tool()
    except bed.BedError as error:
        pytest.skip(str(error))
    said = subprocess.run([found, "receive", "--help"], capture_output=True, text=True)
    if said.returncode:
        pytest.skip("target/release/d2tcp is older than its sources: make linux")
    return found


@pytest.fixture
def made() -> Iterator[bed.Bed]:
    """Namespaces with senders behind a link of 100 Mbps."""
    with bed.bed() as namespaces:
        namespaces.serve()
        yield namespaces


@pytest.fixture
def slow() -> Iterator[bed.Bed]:
    """Namespaces whose link is so slow that most senders are held for long."""
    with bed.bed(kills.RATE_MBPS) as namespaces:
        namespaces.serve()
        yield namespaces


#: Twenty answers that fill the link 1.3 times as long as the least deadline.
BURSTS = ["--queries", "6", "--base", "0.386"]
RATE = ["--rate", "100Mbps", "--credit", "32kB"]


@pytest.mark.real
def test_announced_answers_meet_deadlines_that_plain_tcp_misses(made: bed.Bed) -> None:
    plain = made.aggregate(*BURSTS)
    made.receive(*RATE)
    scheduled = made.aggregate(*BURSTS, "--announce")
    assert plain["answers"] == scheduled["answers"] == 120
    assert plain["missed"] >= 12
    assert scheduled["missed"] <= 2
    assert scheduled["unannounced"] == 0
    assert scheduled["last_ms"] < 1.05 * plain["last_ms"], "no throughput is lost"
    state = made.status()
    assert state["announced"] == state["met"] == 120


@pytest.mark.real
def test_a_rule_halves_the_misses_of_an_unchanged_program(made: bed.Bed) -> None:
    plain = made.aggregate(*BURSTS)
    made.receive(*RATE, "--rule", "port=7000,deadline=386ms,size=300kB")
    ruled = made.aggregate(*BURSTS)
    assert ruled["missed"] <= 0.5 * plain["missed"]
    assert made.status()["requested"] == 120


@pytest.mark.real
def test_a_bulk_flow_keeps_what_messages_leave(made: bed.Bed) -> None:
    made.receive(*RATE)
    bulk = made.start("a", [sys.executable, RECEIVE / "bulk.py", bed.SENDERS, bed.PORT])
    time.sleep(1)
    queries = ["--queries", "5", "--size", "100000", "--base", "0.4", "--every", "0.4", "--pools", "8"]
    beside = made.aggregate(*queries, "--announce")
    bulk.terminate()
    read = [line.split() for line in bulk.communicate()[0].splitlines()]
    inside = [(float(at), int(count)) for at, count in read if float(at) >= beside["begun_s"]]
    (first, before), (last, after) = inside[0], inside[-1]
    assert beside["missed"] <= 1
    total = (after - before) * 8 / (last - first) / 1e6 + beside["answers"] * 0.8 / (last - first)
    assert total > 0.9 * 95.6, "the link is not left idle"


@pytest.mark.real
def test_windows_open_after_kill(slow: bed.Bed) -> None:
    def killed() -> None:
        kills.enter(slow)
        waits.extend(kills.once(slow, signal.SIGKILL) for _ in range(3))

    waits: list[float] = []
    in_thread(killed)
    assert len(waits) == 3
    assert max(waits) < 1
    assert until(lambda: not kills.programs()), "programs are left in the kernel"


@pytest.mark.real
@pytest.mark.parametrize("also_guard", [False, True], ids=["stopped", "killed with its guard"])
def test_windows_open_without_the_daemon(slow: bed.Bed, also_guard: bool) -> None:
    def lost() -> None:
        kills.enter(slow)
        how = signal.SIGKILL if also_guard else signal.SIGSTOP
        waits.append(kills.once(slow, how, also_guard=also_guard))

    waits: list[float] = []
    in_thread(lost)
    assert waits[0] < 1


@pytest.mark.real
def test_a_signal_leaves_nothing(made: bed.Bed) -> None:
    daemon = made.receive(*RATE)
    guard = int(str(made.status()["guard"]))
    assert set(kills.programs()) == {"receive_out", "receive_in", "receive_expect"}
    daemon.terminate()
    assert daemon.wait(5) == 0
    assert not Path(f"/proc/{guard}").exists()
    assert not Path(made.socket()).exists()
    assert until(lambda: not kills.programs())
    again = made.aggregate("--queries", "1", "--base", "1", "--announce")
    assert again["unannounced"] == 20, "the option is unknown again"


@pytest.mark.real
def test_the_length_of_an_http_answer_is_read(made: bed.Bed, tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(bytes(500_000))
    server = [
        sys.executable,
        "-u",
        "-m",
        "http.server",
        "--directory",
        tmp_path,
        "--bind",
        bed.SENDERS,
        "8080",
    ]
    made.start("s", server, stderr=subprocess.DEVNULL)
    made.receive(*RATE, "--rule", "port=8080,deadline=2s,http")
    url = f"http://{bed.SENDERS}:8080/answer"
    fetch = [
        "curl",
        "-s",
        "--retry",
        "5",
        "--retry-connrefused",
        "-o",
        "/dev/null",
        "-w",
        "%{size_download}",
        url,
    ]
    got = [made.start("a", fetch) for _ in range(4)]
    assert [each.communicate(timeout=20)[0] for each in got] == ["500000"] * 4
    until(lambda: made.status()["met"] == 4)
    state = made.status()
    assert [state[key] for key in ("requested", "met", "missed", "set_back")] == [4, 4, 0, 0]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--interface", "nowhere0"], 2, "there is no such interface"),
        (["--interface", "lo"], 2, "expected an Ethernet interface"),
        (["--interface", "lo", "--rule", "port=80,deadlin=1ms"], 2, "did you mean `deadline`?"),
        (["--interface", "lo", "--rate", "fast"], 2, "expected a rate with its unit"),
        (["--status", "--socket", "/run/d2tcp-none.sock"], 4, "no daemon answers"),
    ],
)
def test_mistakes_are_one_clear_message(tool: Path, options: list[str], code: int, said: str) -> None:
    done = subprocess.run([tool, "receive", *options], capture_output=True, text=True)
    assert done.returncode == code
    assert said in done.stderr
    assert "panicked" not in done.stderr


@pytest.mark.real
def test_a_second_daemon_is_refused(made: bed.Bed, tool: Path) -> None:
    made.receive(*RATE)
    second = made.start(
        "a",
        [tool, "receive", "--interface", "a0", "--socket", made.socket(), *RATE],
        stderr=subprocess.PIPE,
    )
    assert "a daemon runs already" in second.communicate(timeout=10)[1]
    assert second.returncode == 3


def until(holds: Callable[[], bool], seconds: float = 5) -> bool:
    """Return true as soon as something holds, and false after some seconds."""
    due = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > due:
            return False
        time.sleep(0.05)
    return True


def in_thread(work: Callable[[], None]) -> None:
    """Run in a thread, which may change its network namespace."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
