"""Kill the daemon while it holds senders, again and again: `kills.py [COUNT]`. Needs root.

Every answer must be complete, and no sender may wait longer than a second for its window. It prints the
longest wait, and the programs that are left in the kernel.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import bed

SENDERS, SIZE = 12, 150_000
#: Slow enough that most senders are still held when the daemon is killed.
RATE_MBPS = 10
_HOLD_S = 0.25
_CLONE_NEWNET = 0x40000000


def programs() -> list[str]:
    """Return the names of the daemon's programs that the kernel has."""
    said = subprocess.run(
        ["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True
    ).stdout
    return [
        program.get("name", "")
        for program in json.loads(said)
        if program.get("name", "").startswith("receive_")
    ]


def ask(port: int = bed.PORT) -> dict[int, tuple[socket.socket, int]]:
    """Connect to the senders from this thread's namespace, and ask each for an answer."""
    answers = {}
    for _ in range(SENDERS):
        sock = socket.create_connection((bed.SENDERS, port))
        answers[sock.fileno()] = (sock, SIZE)
    for sock, _ in answers.values():
        sock.send(struct.pack("!Q", SIZE))
        sock.setblocking(False)
    return answers


def read(
    answers: dict[int, tuple[socket.socket, int]], until: float, first: dict[int, float] | None = None
) -> None:
    """Read until a time or the last byte; note the time of each connection's first bytes."""
    poll = select.poll()
    for sock, _ in answers.values():
        poll.register(sock, select.POLLIN)
    while answers and (left := until - time.monotonic()) > 0:
        for number, _ in poll.poll(left * 1e3):
            sock, rest = answers[number]
            got = len(sock.recv(1 << 16))
            if not got:
                raise bed.BedError("a sender has closed its connection")
            if first is not None:
                first.setdefault(number, time.monotonic())
            answers[number] = (sock, rest - got)
            if rest == got:
                poll.unregister(sock)
                sock.close()
                del answers[number]


def once(made: bed.Bed, how: signal.Signals, also_guard: bool = False) -> float:
    """Kill a daemon that holds senders. Return the longest wait of one for its next bytes, in seconds."""
    daemon = made.receive("--rate", f"{RATE_MBPS}Mbps", "--credit", "6kB")
    guard = int(str(made.status()["guard"]))
    answers = ask()
    read(answers, time.monotonic() + _HOLD_S)
    waiting = list(answers)
    killed = time.monotonic()
    # Both are ours: started above, and by the daemon.
    if also_guard:
        os.kill(guard, how)
    daemon.send_signal(how)
    first: dict[int, float] = {}
    read(answers, killed + 30, first)
    if answers:
        raise bed.BedError(f"{len(answers)} answers are incomplete")
    if how == signal.SIGSTOP:
        daemon.send_signal(signal.SIGCONT)
        daemon.send_signal(signal.SIGTERM)
    daemon.wait()
    return max(first[number] - killed for number in waiting)


def main(count: int) -> None:
    """Print the longest waits of `count` kills."""
    with bed.bed(RATE_MBPS) as made:
        made.serve()
        enter(made)
        waits = sorted(once(made, signal.SIGKILL) for _ in range(count))
    time.sleep(1)
    middle = waits[len(waits) // 2]
    print(
        f"{count} kills: median {middle * 1e3:.0f} ms, longest {waits[-1] * 1e3:.0f} ms; left: {programs()}"
    )


def enter(made: bed.Bed) -> None:
    """Move this thread into the aggregator's namespace."""
    namespace = os.open(f"/run/netns/{made.namespace('a')}", os.O_RDONLY | os.O_CLOEXEC)
    # os.setns is of Python 3.12.
    failed = ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET)
    os.close(namespace)
    if failed:
        raise OSError(ctypes.get_errno(), "could not enter the namespace")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
