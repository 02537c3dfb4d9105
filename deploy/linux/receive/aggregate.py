"""An aggregator: it asks many senders at once, reads their answers, and counts the late ones.

It keeps reading every socket, as ordinary programs do. With ``--announce`` it tells `d2tcp receive` the
length and the deadline of each answer; otherwise only rules can know them. It prints its figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import select
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients" / "python"))
import d2tcp


class Answer:
    """An answer that is being received."""

    def __init__(self, sock: socket.socket, size: int, begun: float, due: float) -> None:
        """Begin at a time on the monotonic clock, to be received by `due`."""
        self.sock, self.left, self.begun, self.due = sock, size, begun, due


class Aggregator:
    """Connections to the senders, and the answers that they are sending."""

    def __init__(self, options: argparse.Namespace, connections: int) -> None:
        """Connect to the senders."""
        self._options = options
        self._poll = select.epoll()
        self._buffer = bytearray(1 << 18)
        self._answers: dict[int, Answer] = {}
        self.times: list[float] = []
        self.missed = self.skipped = self.unannounced = 0
        self._free = [self._connect() for _ in range(connections)]
        time.sleep(0.3)

    def _connect(self) -> socket.socket:
        sock = socket.create_connection((self._options.address, self._options.port))
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._poll.register(sock, select.EPOLLIN)
        return sock

    @property
    def is_busy(self) -> bool:
        """Return true while an answer is not complete."""
        return bool(self._answers)

    def ask(self, deadline: float) -> None:
        """Ask a sender for an answer within `deadline` seconds."""
        if not self._free:
            self.skipped += 1
            return
        sock, size = self._free.pop(), self._options.size
        now = time.monotonic()
        self._answers[sock.fileno()] = Answer(sock, size, now, now + deadline)
        if self._options.announce:
            try:
                d2tcp.expect(sock, size, deadline)
            except OSError:
                self.unannounced += 1
        sock.send(struct.pack("!Q", size))

    def read(self, timeout: float) -> None:
        """Read the bytes that have arrived, and wait at most `timeout` seconds for it."""
        for number, _ in self._poll.poll(timeout):
            answer = self._answers.get(number)
            if answer is None:
                continue
            answer.left -= answer.sock.recv_into(self._buffer)
            if answer.left <= 0:
                now = time.monotonic()
                self.times.append(now - answer.begun)
                self.missed += now > answer.due
                self._free.insert(0, answer.sock)
                del self._answers[number]


def _bursts(aggregator: Aggregator, options: argparse.Namespace, chance: random.Random) -> list[float]:
    """Ask all senders at once, again and again. Return the time of each query's last answer."""
    last = []
    for _ in range(options.queries):
        begun = time.monotonic()
        for _ in range(options.senders):
            aggregator.ask(options.base * (1 + chance.random() * 0.5))
        while aggregator.is_busy:
            aggregator.read(2.0)
        last.append(time.monotonic() - begun)
        time.sleep(options.base * 0.25)
    return last


def _overlapping(aggregator: Aggregator, options: argparse.Namespace, chance: random.Random) -> list[float]:
    """Ask at random times, while earlier answers are under way. Return how late the queries began."""
    late, at = [], time.monotonic() + 0.05
    for _ in range(options.queries):
        at += chance.expovariate(1 / options.every)
        deadlines = [options.base * (1 + chance.random() * 0.5) for _ in range(options.senders)]
        while (left := at - time.monotonic()) > 0:
            aggregator.read(left)
        late.append(time.monotonic() - at)
        for deadline in deadlines:
            aggregator.ask(deadline)
    while aggregator.is_busy:
        aggregator.read(2.0)
    return late


def main() -> None:
    """Run the queries that the command line describes, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--port", type=int, default=7000)
    parser.add_argument("--senders", type=int, default=20)
    parser.add_argument("--queries", type=int, default=36)
    parser.add_argument("--size", type=int, default=300_000)
    parser.add_argument("--base", type=float, required=True, help="the least deadline, in seconds")
    parser.add_argument(
        "--every", type=float, default=0, help="the mean time between queries; 0: one after the other"
    )
    parser.add_argument("--pools", type=int, default=1, help="connections to each sender")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--announce", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    aggregator = Aggregator(options, options.senders * options.pools)
    begun = time.monotonic()
    spread = (_overlapping if options.every else _bursts)(aggregator, options, chance)
    times = sorted(aggregator.times)
    figures = {
        "answers": len(times),
        "missed": aggregator.missed,
        "percent": round(100 * aggregator.missed / len(times), 2),
        "unannounced": aggregator.unannounced,
        "skipped": aggregator.skipped,
        "median_ms": round(times[len(times) // 2] * 1e3, 1),
        "p99_ms": round(times[int(len(times) * 0.99)] * 1e3, 1),
        "longest_ms": round(times[-1] * 1e3, 1),
        "last_ms": round(sum(spread) / len(spread) * 1e3, 1),
        "last_longest_ms": round(max(spread) * 1e3, 1),
        "begun_s": begun,
        "took_s": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
