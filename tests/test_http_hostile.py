"""Servers that preload the library for HTTP deadlines stay alive, whatever a client sends."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HTTP = ROOT / "deploy" / "linux" / "clients" / "http"
sys.path.insert(0, str(ROOT / "deploy" / "linux" / "clients" / "trial"))

import ways  # noqa: E402

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="the library is for Linux, in C"
)

#: Names that a program calls; any other could take the place of one of the program's own.
INTERPOSED = (
    "accept accept4 close read readv recv recvfrom recvmsg send sendfile sendfile64 sendmsg sendto shutdown "
    "write writev __read_chk __recv_chk __recvfrom_chk"
)
LIMIT = 1 << 40

CHUNKS = [
    *(
        f"{length:x}"
        for length in (LIMIT, LIMIT + 1, 2**63 - 3, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 1, 2**64)
    ),
    *(
        "f" * 90,
        "f" * 200,
        "0" * 200 + "5",
        "-1",
        "-7fffffffffffffff",
        "+5",
        "0x7fffffffffffffff",
        " 5",
        "",
        ";",
    ),
    "7FFFFFFFFFFFFFFF;name=value",
    "5\r;\r",
    "5\0",
]
LENGTHS = [
    *(str(length) for length in (LIMIT, LIMIT + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**128)),
    *("-1", "+5", "0x5", "5 5", "5, 5", "5\0", "", "9" * 90, "9" * 200, "0" * 200 + "5"),
]
DEADLINES = [str(2**63 - 1), str(2**63), "-1", "86400000", "86400001", "9" * 200, "4e2", "5\0", ""]
BODY = "x" * 70000


def _requests() -> dict[str, bytes]:
    """Return everything that a client sends, by its name."""
    chunked = "POST /reply HTTP/1.1\r\nHost: a\r\nX-Deadline-Ms: 400\r\nTransfer-Encoding: chunked\r\n\r\n"
    sized = "POST /reply HTTP/1.1\r\nHost: a\r\nX-Deadline-Ms: 400\r\nContent-Length: {}\r\n\r\n"
    get = "GET /reply HTTP/1.1\r\nHost: a\r\nX-Deadline-Ms: {}\r\n\r\n"
    texts = {
        **{f"chunk {length[:40]!r}": f"{chunked}{length}\r\n{BODY}" for length in CHUNKS},
        **{f"second chunk {length[:40]!r}": f"{chunked}1\r\na\r\n{length}\r\n{BODY}" for length in CHUNKS},
        **{f"length {length[:40]!r}": sized.format(length) + BODY for length in LENGTHS},
        **{f"deadline {ms[:40]!r}": get.format(ms) for ms in DEADLINES},
        "two lengths": sized.format("5\r\nContent-Length: 9223372036854775807") + BODY,
        "folded": sized.format("\r\n 9223372036854775807") + BODY,
        "pipelined": get.format(400) * 1000,
        "endless head": "GET /reply HTTP/1.1\r\n" + "a: b\r\n" * 20000,
        "endless line": "GET /reply HTTP/1.1\r\n" + "a" * 200000,
        "endless trailer": f"{chunked}0\r\n" + "a: b\r\n" * 20000,
        "empty lines": "\r\n" * 100000 + get.format(400),
    }
    return {name: text.encode("latin-1") for name, text in texts.items()}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("http")
    path = f"{folder}/libd2tcp-http.so"
    subprocess.run(["make", "-s", "-C", HTTP, f"OUT={folder}", path], check=True)
    return path


@pytest.fixture(params=["http.server", "nginx"])
def server(
    request: pytest.FixtureRequest, library: str, tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a server with the library; its port."""
    (tmp_path / "reply").write_bytes(bytes(1000))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    if request.param == "nginx":
        try:
            program = ways.nginx()
        except ways.Unavailable as why:
            pytest.skip(str(why))
        configuration = tmp_path / "nginx.conf"
        configuration.write_text(ways.NGINX.format(folder=tmp_path, address="127.0.0.1", port=port))
        command = [program, "-e", "stderr", "-c", str(configuration)]
    else:
        command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port), "-d", str(tmp_path)]
    with (
        open(tmp_path / "said", "wb") as said,
        subprocess.Popen(
            command, env={**os.environ, "LD_PRELOAD": library}, stdout=said, stderr=said
        ) as process,
    ):
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, (tmp_path / "said").read_text()
        yield process, port
        process.terminate()


def answer(port: int, *pieces: bytes) -> bytes:
    """Return the server's answer to a client that sends `pieces` and then no more."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        try:
            for piece in pieces:
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(1 << 16):
                got += part
        except TimeoutError:
            raise
        except OSError:
            # The server has closed the connection without reading all of it.
            pass
    return got


def test_a_hostile_request_leaves_the_server_alive(server: tuple[subprocess.Popen[bytes], int]) -> None:
    process, port = server
    requests = _requests()
    assert len(requests) > 60
    for name, request in requests.items():
        cut = min(len(request) - 1, 100)
        for pieces in ([request], [request[:cut], request[cut:]]):
            answer(port, *pieces)
            assert process.poll() is None, name
    assert b" 200 " in answer(port, b"GET /reply HTTP/1.1\r\nHost: a\r\nX-Deadline-Ms: 400\r\n\r\n")


def test_the_library_shows_only_the_names_it_stands_in_for(library: str) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    )
    assert sorted(line.split()[-1] for line in shown.stdout.splitlines()) == sorted(INTERPOSED.split())
