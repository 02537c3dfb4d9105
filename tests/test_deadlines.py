"""Deadlines of RPCs without changing programs: what the libraries make of peers and times, and, as root,
real replies.

Each way is tried beside three plain flows on a marked link; `deploy/linux/clients/trial` has the services and
clients.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from duetime.testbed import need

CLIENTS = Path(__file__).parents[1] / "deploy" / "linux" / "clients"
sys.path[:0] = [str(CLIENTS / "python"), str(CLIENTS / "trial")]

import bottleneck  # noqa: E402
import d2tcp  # noqa: E402
import measure  # noqa: E402
import ways  # noqa: E402
from d2tcp import _peers, streams  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="D2TCP is for Linux")
CAN = os.geteuid() == 0 and need.cgroup2() and need.find("d2tcp") and need.find("duetime-testbed")
on_a_kernel = pytest.mark.skipif(not CAN, reason="root, cgroup2 and the programs of `make linux` are needed")
#: Of each way, with and without deadlines: enough for a median, few enough for every run of the tests.
REPLIES = 3
#: Of `d2tcp attach`: a margin on top of the clients' own 80 ms, which a busy machine uses up.
EARLIER = ("--margin", "150ms")


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.0.0.1:1234", ("10.0.0.1", 1234)),
        ("ipv6:%5Bfd00::1%5D:1234", ("fd00::1", 1234)),
        ("ipv6:[::ffff:10.0.0.1]:80", ("10.0.0.1", 80)),
        ("ipv6:[fe80::1%25eth0]:80", ("fe80::1", 80)),
        ("unix:/run/socket", None),
        ("unknown", None),
    ],
)
def test_peers_are_read_as_grpc_writes_them(peer: str, address: tuple[str, int] | None) -> None:
    assert _peers.address(peer) == address


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_connection_is_found_by_its_peer_while_it_lasts(family: socket.AddressFamily) -> None:
    connections = _peers.Connections()
    # A service that listens on all addresses sees IPv4 peers as mapped ones.
    listener = socket.create_server(("", 0), family=family, dualstack_ipv6=family == socket.AF_INET6)
    address = "127.0.0.1", listener.getsockname()[1]
    with listener, socket.create_connection(address) as client:
        peer = client.getsockname()
        served, _ = listener.accept()
        with connections.to(peer) as found:
            assert found is not None
            assert os.fstat(found.fileno()).st_ino == os.fstat(served.fileno()).st_ino
        descriptor = served.detach()
        with socket.create_connection(address):
            # Another connection takes the descriptor of the closed one.
            another, _ = listener.accept()
            os.dup2(another.fileno(), descriptor)
            with another, connections.to(peer) as found:
                assert found is None
        os.close(descriptor)


def test_two_connections_of_one_peer_are_not_mixed_up() -> None:
    connections = _peers.Connections()
    first, second = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    with first, second, socket.socket() as one, socket.socket() as other:
        for client in (one, other):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        peer = one.getsockname()
        one.connect(first.getsockname())
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            other.bind(peer)
        except OSError:
            one.close()
            pytest.skip("this kernel does not give a port twice")
        other.connect(second.getsockname())
        ends = [first.accept()[0], second.accept()[0]]
        with connections.to(peer) as found:
            assert found is None
        for end in ends:
            end.close()


def test_a_margin_is_never_more_than_its_share() -> None:
    assert d2tcp.time_to_send(0.6) == pytest.approx(0.52)
    assert d2tcp.time_to_send(0.32) == pytest.approx(0.24)
    assert d2tcp.time_to_send(0.02) == pytest.approx(0.015)
    assert d2tcp.time_to_send(0.6, margin=0, share=1) == 0.6


def test_asyncio_announces_to_where_messages_end(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, float, int]] = []
    monkeypatch.setattr(
        d2tcp, "send_deadline", lambda _, size, within, *, tag: told.append((size, within, tag))
    )
    big = 30_000_000

    async def main() -> int:
        async def serve(_: Any, writer: asyncio.StreamWriter) -> None:
            messages = streams.Messages(writer)
            # Takes it as far as it will: the rest waits in asyncio.
            writer.transport.set_write_buffer_limits(high=2 * big)
            await messages.send(bytes(big))
            waiting = writer.transport.get_write_buffer_size()
            assert waiting > 0
            assert await messages.send(bytes(1000), within=0.5, tag=7)
            assert await messages.send(bytes(2000), within=0.4, tag=8)
            # The first counts the bytes that were not announced and have not reached the kernel, the second
            # begins behind them.
            assert told == [(waiting + 1000, 0.5, 7), (2000, 0.4, 8)]
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        got = 0
        while part := await reader.read(1 << 20):
            got += len(part)
        writer.close()
        server.close()
        return got

    assert asyncio.run(main()) == big + 3000


@pytest.mark.parametrize("kind", [[], ["--aio"]], ids=["threads", "asyncio"])
def test_grpc_responses_are_announced_with_their_length(kind: list[str], tmp_path: Path) -> None:
    try:
        python = ways.python_with_grpc()
        ways.run(["make", "-s", "-C", CLIENTS / "http", f"OUT={tmp_path}", f"{tmp_path}/spy.so"])
    except ways.Unavailable as why:
        pytest.skip(f"not to be had here: {why}")
    # Takes the announcements in the kernel's place.
    spied = {"LD_PRELOAD": str(tmp_path / "spy.so"), "PYTHONPATH": str(CLIENTS / "python")}
    reader, writer = os.pipe()
    with open(reader, encoding="utf-8") as said:
        server = subprocess.Popen(
            [python, CLIENTS / "trial" / "grpc_server.py", "127.0.0.1:0", *kind],
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[writer],
            env={**os.environ, **spied, "SPY": str(writer)},
        )
        os.close(writer)
        try:
            assert server.stdout is not None
            address = f"127.0.0.1:{server.stdout.readline().split()[1]}"
            for more in ([], ["--stream"]):
                asked = [address, "100000", "5", "2", *more]
                client = subprocess.run(
                    [python, CLIENTS / "trial" / "grpc_client.py", *asked],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=True,
                )
                assert client.stdout.count("complete") == 2, client.stdout
        finally:
            server.kill()
            server.communicate()
        told = [line.split() for line in said]
    # Of 5 s, which gRPC rounds up by a few ms, 80 ms are the margin.
    announced = [(int(size), tag) for what, _, size, ms, tag in told if 3000 < int(ms) < 4990]
    # Two calls with one response each, two with four; none for each client's first, without a deadline.
    assert len(announced) == len(told)
    assert [size for size, _ in announced] == [100_000] * 2 + [25_000] * 8
    assert [tag for _, tag in announced] == [*"12", *"3333", *"4444"]


@pytest.fixture(params=ways.WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> ways.Way:
    try:
        request.param.service(True)
        request.param.client(0, 0, 0, [])
    except ways.Unavailable as why:
        pytest.skip(f"not to be had here: {why}")
    assert isinstance(request.param, ways.Way)
    return request.param


@pytest.mark.real
@on_a_kernel
def test_replies_with_deadlines_come_in_time_beside_plain_flows(way: ways.Way) -> None:
    plain, announced = (measure.replies(way, told, REPLIES, EARLIER) for told in (False, True))
    if way.gives_up:
        # Without, a client gives up before its reply is there: by 0.3 s, so that a received reply is proof.
        assert not any(reply.complete for reply in plain), plain
        assert any(reply.complete for reply in announced), announced
    else:
        # A quarter of the link takes 1.6 s; the deadline less the client's margin and ours is 1.07 s.
        before, after = (statistics.median(reply.ms for reply in each) for each in (plain, announced))
        assert before > measure.DEADLINE_MS > after, (plain, announced)


@pytest.mark.real
@on_a_kernel
@pytest.mark.parametrize("name", ["grpc-python", "grpc-python-aio", "grpc-go", "http-netty", "http-preload"])
def test_replies_that_are_broken_off_leave_nothing_waiting(name: str) -> None:
    (broken,) = (way for way in ways.WAYS if way.name == name)
    more = ["--cancel", "0.15"] if broken.gives_up else ["--break", "500000"]
    try:
        with bottleneck.trial() as bed:
            port = measure.begin(bed, broken, True)
            # More than may wait on one connection, were they not taken out.
            told = measure.ask(bed, broken, port, 3, more)
            # Whole ones take 800 ms or more. The machine may pause during one of them.
            assert statistics.median(reply.ms for reply in told) < 500, told
            end = time.monotonic() + 10
            while bed.waiting() and time.monotonic() < end:
                time.sleep(0.1)
            assert bed.waiting() == 0
            assert bed.accepted() >= 3
    except ways.Unavailable as why:
        pytest.skip(f"not to be had here: {why}")
