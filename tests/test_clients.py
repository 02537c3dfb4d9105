"""The client libraries: the same example in every language, with and without D2TCP."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from duetime.testbed import control, need

ROOT = Path(__file__).parents[1]
CLIENTS = ROOT / "deploy" / "linux" / "clients"
PYTHON = CLIENTS / "python"
sys.path.insert(0, str(PYTHON))

import d2tcp  # noqa: E402

GO = shutil.which("go") or next((str(go) for go in [Path("/usr/local/go/bin/go")] if go.exists()), None)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the clients are for Linux")
HOOKED = "root, cgroup2 and target/release/d2tcp are needed (make linux)"


@dataclass(frozen=True)
class Example:
    """A server and a client."""

    server: list[str]
    client: list[str]


def _c(folder: Path) -> Example:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    subprocess.run(["make", "-s", "-C", CLIENTS / "c", f"OUT={folder}"], check=True)
    return Example([f"{folder}/server"], [f"{folder}/client"])


def _python(folder: Path) -> Example:  # noqa: ARG001
    return Example(
        *([sys.executable, str(PYTHON / "examples" / f"{end}.py")] for end in ("server", "client"))
    )


def _rust(folder: Path) -> Example:  # noqa: ARG001
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    target = ROOT / "target"
    manifest = CLIENTS / "rust" / "Cargo.toml"
    command = ["cargo", "build", "--quiet", "--locked", "--examples", "--manifest-path", manifest]
    subprocess.run([*command, "--target-dir", target], check=True)
    return Example(*([str(target / "debug" / "examples" / end)] for end in ("server", "client")))


def _go(folder: Path) -> Example:
    if GO is None:
        pytest.skip("no Go")
    for end in ("server", "client"):
        subprocess.run([GO, "build", "-o", folder / end, f"./examples/{end}"], cwd=CLIENTS / "go", check=True)
    return Example([f"{folder}/server"], [f"{folder}/client"])


@pytest.fixture(scope="module", params=[_c, _python, _rust, _go], ids=["c", "python", "rust", "go"])
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Example:
    build: Callable[[Path], Example] = request.param
    return build(tmp_path_factory.mktemp("client"))


def test_a_reply_arrives_where_nothing_is_attached(example: Example) -> None:
    with not_attached():
        said = ask(example, None, ["100000 20"])
    assert said[0].startswith("reply 100000 deadline not told: ")
    assert len(said) == 1


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0 or not need.cgroup2() or not need.find("d2tcp"), reason=HOOKED)
def test_a_deadline_is_told_by_an_unprivileged_program(example: Example) -> None:
    with hooked() as group:
        said = ask(example, group, ["100000 500", "3000 500", "5 0"])
    assert said[0] == "reply 100000 deadline told"
    assert said[1].startswith("state messages=1 alpha=")
    assert said[2] == "reply 3000 deadline told"
    assert said[3].startswith("state messages=1 alpha=")
    # A deadline of 0 is refused, and the reply sent all the same.
    assert said[4].startswith("reply 5 deadline not told: ")


def test_python_says_what_is_wrong() -> None:
    with not_attached(), socket.socket() as sock:
        with pytest.raises(d2tcp.NotAttached):
            d2tcp.use(sock)
        with pytest.raises(d2tcp.NotAttached):
            d2tcp.send_deadline(sock, 1000, 0.01)
        with pytest.raises(d2tcp.WrongControl):
            d2tcp.state(sock)
        with pytest.raises(OSError, match="beyond what fits"):
            d2tcp.send_deadline(sock, 1 << 63, 0.01)


def ask(example: Example, group: Path | None, queries: list[str]) -> list[str]:
    """Run the example, unprivileged and in `group`; give what the server said."""

    def join() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text("0")

    # Without any capability; but still with the right to read the files of this checkout.
    unprivileged = ["setpriv", "--bounding-set=-all", "--no-new-privs"] if os.geteuid() == 0 else []
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"}
    with ExitStack() as stack:

        def start(command: list[str]) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [*unprivileged, *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
                preexec_fn=join,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert process.stdout is not None
            stack.callback(process.stdout.close)
            return process

        server = start([*example.server, "0"])
        assert server.stdout is not None
        listening, port = server.stdout.readline().split()
        assert listening == "listening"
        said = []
        for query in queries:
            client = start([*example.client, "127.0.0.1", port, *query.split()])
            answer, _ = client.communicate(timeout=20)
            assert answer == f"received {query.split()[0]}\n"
            said.append(server.stdout.readline().rstrip("\n"))
            if said[-1].endswith("told"):
                said.append(server.stdout.readline().rstrip("\n"))
        return said


@contextmanager
def not_attached() -> Iterator[None]:
    """Keep others from attaching meanwhile."""
    if os.geteuid() == 0:
        with control.alone():
            if "d2tcp" in control.available():
                pytest.skip("D2TCP is attached to this machine")
            yield
    else:
        if "d2tcp" in control.available():
            pytest.skip("D2TCP is attached to this machine")
        yield


@contextmanager
def hooked() -> Iterator[Path]:
    """Attach D2TCP to a control group of the test's own."""
    with control.alone(), control.control_group() as group, control.attached(group, {}):
        yield group


class _Kernel:
    """A socket of which the kernel says `answer`."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def getsockopt(self, level: int, option: int, room: int) -> bytes:
        assert (level, option, room) == (0xD27C, 4, 192)
        return self.answer


def test_outcomes_in_python_are_those_of_messages_that_ended() -> None:
    def read(answer: bytes) -> list[d2tcp.Outcome]:
        return d2tcp.outcomes(_Kernel(answer))  # type: ignore[arg-type]

    def one(result: int) -> bytes:
        return struct.pack("=QqII", 7, -5_000_000_000, result, 9)

    assert read(one(0)) == [], "no message has ended"
    assert read(one(4)) == [], "of a later version"
    assert read(b"") == []
    assert read(one(1) + b"\0" * 23) == [d2tcp.Outcome(7, -5.0, d2tcp.Result.MET, 9)]
    assert [each.result for each in read(one(2) + one(3))] == [d2tcp.Result.MISSED, d2tcp.Result.CANCELLED]
