"""The library that tells deadlines for HTTP/1.1 servers: what it announces for what a server does."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HTTP = Path(__file__).parents[1] / "deploy" / "linux" / "clients" / "http"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="the library is for Linux, in C"
)

#: Accepts one connection, and does with it what it was told.
SERVER = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
exec(sys.argv[1])
"""
GET = b"GET / HTTP/1.1\r\nHost: a\r\nx-deadline-MS:  400 \r\n\r\n"
PLAIN = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@dataclass(frozen=True)
class Told:
    """A line of the spy."""

    what: str
    size: int
    ms: int
    tag: int


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("http")
    for name in ("libd2tcp-http.so", "spy.so"):
        subprocess.run(["make", "-s", "-C", HTTP, f"OUT={folder}", f"{folder}/{name}"], check=True)
    return f"{folder}/libd2tcp-http.so {folder}/spy.so"


def told(libraries: str, requests: list[bytes], server: str, **environment: str) -> list[Told]:
    """Return the announcements when a server runs the code `server` and is sent `requests`, in turn."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, server],
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[writer],
        env={**os.environ, "LD_PRELOAD": libraries, "SPY": str(writer), **environment},
    )
    os.close(writer)
    with process, open(reader, encoding="utf-8") as said:
        assert process.stdout is not None
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline()))) as client:
            for request in requests:
                client.sendall(request)
                # What the server reads at once shall be one request.
                assert process.stdout.readline() == "read\n"
            while client.recv(1 << 16):
                pass
        lines = [line.split() for line in said]
        assert process.wait(20) == 0
    return [
        Told("announce", int(words[2]), int(words[3]), int(words[4]))
        if words[0] == "announce"
        else Told("cancel", 0, 0, int(words[2]))
        for words in lines
    ]


def reading(rest: str) -> str:
    """Return a server that reads once and continues with `rest`."""
    return f"connection.recv(65536); print('read', flush=True)\n{rest}"


def test_a_response_is_announced_with_its_head_before_it_is_written(libraries: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    (one,) = told(libraries, [GET], reading(f"connection.sendall({head!r} + bytes(1000))"))
    assert (one.what, one.size, one.tag) == ("announce", len(head) + 1000, 1)
    # 400 ms, less the least of 80 ms and a quarter.
    assert 200 < one.ms <= 320


@pytest.mark.parametrize(("margin", "left"), [("0", 400), ("10", 390), ("5000", 300)])
def test_the_margin_is_the_operators(libraries: str, margin: str, left: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    (one,) = told(
        libraries, [GET], reading(f"connection.sendall({head!r} + bytes(10))"), D2TCP_HTTP_MARGIN_MS=margin
    )
    assert left - 80 < one.ms <= left


def test_the_name_of_the_header_is_the_operators(libraries: str) -> None:
    request = GET.replace(b"x-deadline-MS", b"Patience")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    server = reading(f"connection.sendall({head!r} + bytes(10))")
    assert told(libraries, [request], server) == []
    assert len(told(libraries, [request], server, D2TCP_HTTP_HEADER="Patience")) == 1


def test_head_in_pieces_and_body_by_sendfile(libraries: str, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(bytes(5000))
    server = reading(f"""
connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Le")
os.writev(connection.fileno(), [b"ngth: 5000\\r\\n", b"Server: x\\r\\n\\r\\n"])
with open({str(file)!r}, "rb") as body:
    os.sendfile(connection.fileno(), body.fileno(), 0, 3000)
    os.sendfile(connection.fileno(), body.fileno(), 3000, 2000)
""")
    (one,) = told(libraries, [GET], server)
    # The first piece had been written when the length became known.
    assert one.size == len(b"ngth: 5000\r\nServer: x\r\n\r\n") + 5000


def test_responses_in_turn_and_one_without_a_deadline(libraries: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    again = reading(f"connection.sendall({head!r} + bytes(100))\n")
    got = told(libraries, [GET, PLAIN, GET], again * 3)
    assert [(one.size, one.tag) for one in got] == [(len(head) + 100, 1), (len(head) + 100, 3)]


def test_pipelined_requests_have_their_own_deadlines(libraries: str) -> None:
    late = GET.replace(b"400", b"40000")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    server = reading(f"connection.sendall({head!r} + bytes(100) + {head!r} + bytes(100))")
    first, second = told(libraries, [GET + late], server)
    # The second begins where the first ends.
    assert first.size == second.size == len(head) + 100
    assert first.ms <= 320 < 30000 < second.ms


def test_a_request_with_a_body_is_read_to_its_end(libraries: str) -> None:
    body = b"X-Deadline-Ms: 1\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    post = b"POST / HTTP/1.1\r\nContent-Length: %d\r\nX-Deadline-Ms: 400\r\n\r\n" % len(body) + body
    chunked = (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Deadline-Ms: 800\r\n\r\n"
        b"5;a=b\r\nGET /\r\n0\r\nTrailer: 1\r\n\r\n"
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    got = told(libraries, [post, chunked, GET], reading(f"connection.sendall({head!r} + bytes(7))\n") * 3)
    assert [one.tag for one in got] == [1, 2, 3]
    assert got[0].ms <= 320 < got[1].ms <= 720
    assert got[2].ms <= 320


@pytest.mark.parametrize(
    ("request_", "status"), [(GET.replace(b"GET", b"HEAD"), b"200 OK"), (GET, b"304 Not"), (GET, b"204 None")]
)
def test_responses_without_a_body(libraries: str, request_: bytes, status: bytes) -> None:
    head = b"HTTP/1.1 %s\r\nContent-Length: 123\r\n\r\n" % status
    full = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    server = reading(f"connection.sendall({head!r})\n") + reading(f"connection.sendall({full!r} + bytes(5))")
    assert [one.size for one in told(libraries, [request_, GET], server)] == [len(head), len(full) + 5]


def test_continue_is_not_the_response(libraries: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    server = reading(f"""
connection.sendall(b"HTTP/1.1 100 Continue\\r\\n\\r\\n")
connection.sendall({head!r} + bytes(5))
""")
    assert [one.size for one in told(libraries, [GET], server)] == [len(head) + 5]


def test_a_chunked_response_is_announced_as_it_goes_and_at_its_end(libraries: str) -> None:
    server = reading("""
connection.sendall(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
for _ in range(3):
    connection.sendall(b"c350\\r\\n" + bytes(50000) + b"\\r\\n")
connection.sendall(b"0\\r\\n\\r\\n")
connection.sendall(b"")
""")
    # After 100 kB, after which 50 kB are less than a step; and at the end.
    assert [(one.size, one.tag) for one in told(libraries, [GET], server)] == [(0, 1), (0, 1)]
    # The next one is found behind it.
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    more = server + reading(f"connection.sendall({head!r} + bytes(5))")
    assert [(one.size, one.tag) for one in told(libraries, [GET, GET], more)][2:] == [(len(head) + 5, 2)]


def test_a_response_that_ends_with_the_connection(libraries: str) -> None:
    server = reading('connection.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n" + bytes(70000))')
    assert [(one.what, one.size) for one in told(libraries, [GET], server)] == [("announce", 0)]


@pytest.mark.parametrize("end", ["connection.close()", "connection.shutdown(socket.SHUT_WR)"])
def test_what_is_broken_off_is_cancelled(libraries: str, end: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    got = told(libraries, [GET], reading(f"connection.sendall({head!r} + bytes(999))\n{end}"))
    assert [one.what for one in got] == ["announce", "cancel"]
    got = told(libraries, [GET], reading(f"connection.sendall({head!r} + bytes(1000))\n{end}"))
    assert [one.what for one in got] == ["announce"]


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + GET,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + GET,
        b"CONNECT a:1 HTTP/1.1\r\nX-Deadline-Ms: 400\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"X-Deadline-Ms: 400\r\n\r\n",
        GET.replace(b"400", b"0"),
        GET.replace(b"400", b"-5"),
        GET.replace(b"400", b"4e2"),
        GET.replace(b"400", b"99999999999999999999"),
        PLAIN,
    ],
    ids=["tls", "http2", "connect", "long", "zero", "negative", "no number", "beyond", "plain"],
)
def test_what_is_no_request_with_a_deadline_is_left_alone(libraries: str, request_: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    server = f"""
connection.settimeout(0.3)
try:
    while connection.recv(65536): pass
except TimeoutError: pass
print("read", flush=True)
connection.sendall({head!r} + bytes(10))
"""
    assert told(libraries, [request_], server) == []


def test_partial_writes_are_announced_once(libraries: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n"
    server = reading(f"""
connection.setblocking(False)
data, at = {head!r} + bytes(20000000), 0
while at < len(data):
    try: at += os.writev(connection.fileno(), [data[at:at+70], data[at+70:]])
    except BlockingIOError: time.sleep(0.005)
""")
    assert [one.size for one in told(libraries, [GET], server)] == [len(head) + 20000000]


@pytest.mark.parametrize(
    "field",
    [
        *(b"Content-Length: %d" % length for length in (2**40 + 1, 2**63 - 1, 2**63, 2**64, -1)),
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length:\r\n 5",
        b"Content-Length: 5\0",
        b"Content-\rLength: 5",
        b"Content-Length: " + b"0" * 100 + b"5",
    ],
)
def test_a_response_whose_length_is_not_certain_is_left_alone(libraries: str, field: bytes) -> None:
    response = b"HTTP/1.1 200 OK\r\n" + field + b"\r\n\r\n" + bytes(10)
    assert told(libraries, [GET], reading(f"connection.sendall({response!r})")) == []


@pytest.mark.parametrize(
    "chunk", [b"7fffffffffffffff", b"7ffffffffffffffd", b"10000000001", b"-1", b"0x5", b"", b"0" * 100 + b"5"]
)
def test_a_chunk_whose_length_is_not_certain_is_left_alone(libraries: str, chunk: bytes) -> None:
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + b"\r\n"
    # Neither as a response nor as a request, after which no response is looked at.
    assert told(libraries, [GET], reading(f"connection.sendall({response!r} + bytes(200000))")) == []
    post = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Deadline-Ms: 400\r\n\r\n" + chunk + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    assert told(libraries, [post], reading(f"connection.sendall({head!r} + bytes(10))")) == []


def test_the_longest_response_is_announced(libraries: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % 2**40
    got = told(libraries, [GET], reading(f"connection.sendall({head!r})"))
    # The head is added; how the kernel treats that size is its affair. The rest is never sent.
    assert [(one.what, one.size) for one in got] == [("announce", len(head) + 2**40), ("cancel", 0)]


def test_more_requests_than_can_wait_are_left_alone(libraries: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    server = reading(f"connection.sendall(({head!r} + bytes(5)) * 9)")
    assert len(told(libraries, [GET * 8], server.replace("* 9", "* 8"))) == 8
    assert told(libraries, [GET * 9], server) == []


def test_bytes_that_a_server_discards_are_not_looked_at(libraries: str) -> None:
    post = GET.replace(b"GET", b"POST").replace(b"Host: a", b"Content-Length: 30")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    # TCP discards the bytes read with MSG_TRUNC: the body is counted, the next request is read.
    server = f"""
connection.recv({len(post)}); print('read', flush=True)
connection.recv(30, socket.MSG_TRUNC | socket.MSG_WAITALL); print('read', flush=True)
connection.sendall({head!r} + bytes(5))
{reading(f"connection.sendall({head!r} + bytes(5))")}"""
    body = b"GET / HTTP/1.1\r\n" + b"x" * 14
    assert [one.tag for one in told(libraries, [post, body, GET], server)] == [1, 2]
