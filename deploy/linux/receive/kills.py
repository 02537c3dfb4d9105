"""Kill the daemon while it holds senders, again and again: `kills.py [COUNT]`. Needs root.

Every answer must be complete, and no sender may wait longer than a second for its window. It prints the
longest wait, and the programs that are left in the kernel.
"""

from __future__ import annotations

import ctypes
import os
import platform
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator

import bed

SENDERS, SIZE = 12, 150_000
#: Slow enough that most senders are still held when the daemon is killed.
RATE_MBPS = 10
_HOLD_S = 0.25
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
#: bpf(2): its number, its commands, and the bytes of its attributes.
_BPF = 280 if platform.machine() in ("aarch64", "riscv64") else 321
_NEXT_PROGRAM, _OPEN_PROGRAM, _ABOUT_PROGRAM = 11, 13, 15
_ATTRIBUTES = 128
#: `struct bpf_prog_info`: the bytes asked for, and the place of the name.
_ABOUT, _NAME = 80, 64


def programs() -> list[str]:
    """Return the names of the daemon's programs that the kernel has."""
    return [name for name in _programs() if name.startswith("receive_")]


def _programs() -> Iterator[str]:
    """Yield the name of each BPF program of the kernel (bpf(2)); needs root."""
    number = 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("=III", number, 0, 0), _ATTRIBUTES)
        if _bpf(_NEXT_PROGRAM, attributes) < 0:
            return
        (number,) = struct.unpack_from("=I", attributes.raw, 4)
        program = _bpf(_OPEN_PROGRAM, ctypes.create_string_buffer(struct.pack("=I", number), _ATTRIBUTES))
        if program < 0:
            # It has ended meanwhile.
            continue
        try:
            about = ctypes.create_string_buffer(_ABOUT)
            asked = struct.pack("=IIQ", program, _ABOUT, ctypes.addressof(about))
            if _bpf(_ABOUT_PROGRAM, ctypes.create_string_buffer(asked, _ATTRIBUTES)) == 0:
                yield about.raw[_NAME : _NAME + 16].split(b"\0")[0].decode()
        finally:
            os.close(program)


def _bpf(command: int, attributes: ctypes.Array[ctypes.c_char]) -> int:
    """Call bpf(2); returns its result, below 0 for an error."""
    return _LIBC.syscall(_BPF, command, attributes, _ATTRIBUTES)


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
