"""Deadlines for TCP messages under D2TCP on Linux.

    d2tcp.send_deadline(connection, len(reply), 0.020)  # 20 ms from now
    connection.sendall(reply)

The call needs no privilege. Where D2TCP is not attached it raises `NotAttached`, and the connection works as
before. Numbers and structures are as in ``deploy/linux/include/d2tcp.h``.

`d2tcp.grpc` has interceptors that announce the deadlines of gRPC servers, and `d2tcp.streams` a writer for
asyncio.
"""

from __future__ import annotations

import enum
import errno
import fcntl
import socket
import struct
import sys
from collections.abc import Collection
from dataclasses import dataclass

__all__ = [
    "MARGIN",
    "MARGIN_SHARE",
    "NotAttached",
    "Outcome",
    "Result",
    "State",
    "WrongControl",
    "cancel",
    "expect",
    "outcomes",
    "send_deadline",
    "settle",
    "state",
    "time_to_send",
    "use",
]

#: The time that is subtracted from a caller's time left before it is announced, in seconds. The caller's time
#: ends when it has decoded the last byte, and the kernel's when it knows that the last byte has been
#: received. Also, D2TCP completes a message *at* its deadline rather than before it.
MARGIN = 0.080
#: The maximum share of the time left that is subtracted, so that short deadlines stay useful.
MARGIN_SHARE = 0.25

_LEVEL, _MESSAGE, _STATE, _CANCEL, _OUTCOMES, _EXPECT = 0xD27C, 1, 2, 3, 4, 5
_STRUCT_MESSAGE = struct.Struct("=qq")
_STRUCT_ANNOUNCEMENT = struct.Struct("=qqQII")
_STRUCT_STATE = struct.Struct("=12I3Qq9QII")
_STRUCT_OUTCOME = struct.Struct("=QqII")
_OUTCOMES_KEPT = 8
_ENDS_PREVIOUS = 1
_SIOCOUTQ = 0x5411
_ONE = 1 << 20
_ECN, _SLOW_START, _DEADLINE, _EXPIRED, _RECOVERY, _LIMITED = 1, 2, 4, 8, 16, 32
_LONGEST = (1 << 63) - 1


class NotAttached(OSError):
    """D2TCP is not attached where this program runs."""


class WrongControl(OSError):
    """The connection is under another control, or D2TCP is not attached when the state is read."""


@dataclass(frozen=True)
class State:
    """The state of a connection. Counts begin with the connection."""

    #: Both ends agreed on ECN; without it the connection behaves as Reno.
    ecn: bool
    slow_start: bool
    #: A message with a deadline is being sent.
    deadline: bool
    #: The deadline of that message has passed.
    expired: bool
    recovery: bool
    #: The user's budget of urgency is spent: d is at most 1 for now.
    limited: bool
    #: Payload bytes of a full segment.
    mss: int
    #: The congestion window, in segments.
    cwnd: float
    ssthresh: int
    srtt_us: int
    #: Extent of marking, 0 to 1.
    alpha: float
    #: Imminence of the deadline, 1 without one.
    d: float
    #: alpha to the power of d; a cut takes half of it.
    p: float
    #: Messages whose last byte has not been acknowledged.
    queued: int
    messages: int
    met: int
    missed: int
    #: Until the first message's deadline, in seconds; negative when it has passed, 0 without one.
    time_left: float
    bytes_left: int
    bytes_acked: int
    bytes_marked: int
    windows: int
    cuts: int
    losses: int
    timeouts: int
    #: Messages that were cancelled.
    cancelled: int
    #: The tag of the first queued message; 0 without one.
    tag: int
    #: The number, from 1, of the operator's rule that governs the connection; 0 if none does.
    rule: int


class Result(enum.IntEnum):
    """The outcome of a message."""

    MET = 1
    MISSED = 2
    CANCELLED = 3


_RESULTS = frozenset(Result)


@dataclass(frozen=True)
class Outcome:
    """A message that has ended."""

    tag: int
    #: The time left in seconds when its last byte was acknowledged, or when it was cancelled; negative if
    #: late.
    time_left: float
    result: Result
    #: The number of ended messages of the connection, including this one.
    number: int


def use(sock: socket.socket) -> None:
    """Put `sock` under D2TCP, before `connect` or `listen`, or ECN will not be negotiated."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"d2tcp")
    except FileNotFoundError as error:
        raise NotAttached(error.errno, "D2TCP is not attached here") from None


def send_deadline(
    sock: socket.socket, size: int, seconds: float, *, tag: int = 0, ends_previous: bool = False
) -> None:
    """Announce that the next `size` bytes written to `sock` should be acknowledged within `seconds`.

    A size of 0 means all bytes written so far. `tag` is the program's own name for the message, for `cancel`
    and `outcomes`. With `ends_previous` earlier messages end with the bytes written so far.

    Raises `NotAttached`, `WrongControl`, or another `OSError`: ``EINVAL`` for invalid values, ``ENOTCONN``,
    or ``ENOBUFS`` when too many messages are queued. The message can be sent in any case.
    """
    nanoseconds = round(seconds * 1e9)
    if not (-_LONGEST <= size <= _LONGEST and -_LONGEST <= nanoseconds <= _LONGEST and 0 <= tag < 1 << 64):
        raise OSError(errno.EINVAL, "size, deadline or tag is beyond what fits")
    flags = _ENDS_PREVIOUS if ends_previous else 0
    _set(sock, _MESSAGE, _STRUCT_ANNOUNCEMENT.pack(size, nanoseconds, tag, flags, 0))


def expect(sock: socket.socket, size: int, seconds: float) -> None:
    """Announce that the next `size` bytes read from `sock` should have been received within `seconds`.

    It is for the receiving end, where `d2tcp receive` runs, and needs no change at the sender. Announce a
    message before its request is sent, or as soon as its length is known.

    Raises `NotAttached` where the daemon does not run, or another `OSError`: ``EINVAL`` for invalid values,
    ``ENOTCONN``, and ``EOPNOTSUPP`` for a connection that it does not schedule. The message is received in
    any case.
    """
    nanoseconds = round(seconds * 1e9)
    if not (-_LONGEST <= size <= _LONGEST and -_LONGEST <= nanoseconds <= _LONGEST):
        raise OSError(errno.EINVAL, "size or deadline is beyond what fits")
    try:
        sock.setsockopt(_LEVEL, _EXPECT, _STRUCT_MESSAGE.pack(size, nanoseconds))
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            raise NotAttached(error.errno, "d2tcp receive does not run here") from None
        raise


def cancel(sock: socket.socket, tag: int = 0) -> None:
    """Cancel the messages with this tag, or all for 0: their unwritten bytes will never be written.

    Raises as `send_deadline` does.
    """
    _set(sock, _CANCEL, tag.to_bytes(8, sys.byteorder))


def outcomes(sock: socket.socket) -> list[Outcome]:
    """Return the outcomes of the last messages, the youngest first; raises as `send_deadline` does."""
    got = _get(sock, _OUTCOMES, _OUTCOMES_KEPT * _STRUCT_OUTCOME.size)
    whole = len(got) - len(got) % _STRUCT_OUTCOME.size
    # Result 0 means that no message has ended; other unknown results are of a later version.
    return [
        Outcome(tag, left_ns / 1e9, Result(result), number)
        for tag, left_ns, result, number in _STRUCT_OUTCOME.iter_unpack(got[:whole])
        if result in _RESULTS
    ]


def time_to_send(time_left: float, *, margin: float = MARGIN, share: float = MARGIN_SHARE) -> float:
    """Return the time to announce for a caller's time left, in seconds: less `margin` or `share` of it."""
    return time_left - min(margin, share * time_left)


def settle(sock: socket.socket, finished: Collection[int] | None = None) -> None:
    """Cancel the first queued message if its rest will never be written.

    The message must extend beyond the bytes written so far. Also, its tag must be among the `finished`
    replies or, without such a collection, its deadline must have passed. Raises as `send_deadline` does.
    """
    now = state(sock)
    over = now.time_left < 0 if finished is None else now.tag in finished
    if now.queued and over and now.bytes_left > _unacknowledged(sock):
        cancel(sock, now.tag)


def _unacknowledged(sock: socket.socket) -> int:
    """Return the bytes that were written and not yet acknowledged."""
    return int(struct.unpack("=i", fcntl.ioctl(sock.fileno(), _SIOCOUTQ, bytes(4)))[0])


def state(sock: socket.socket) -> State:
    """Read the connection's state; raises as `send_deadline` does."""
    got = _get(sock, _STATE, _STRUCT_STATE.size)
    # Fields that this kernel side does not know yet are 0.
    values = _STRUCT_STATE.unpack(got.ljust(_STRUCT_STATE.size, b"\0"))
    _, _, flags, mss, cwnd, fraction, ssthresh, srtt_us, alpha, d, p, queued, messages, met, missed, *rest = (
        values
    )
    time_left_ns, bytes_left, bytes_acked, bytes_marked, windows, cuts, losses, timeouts, *rest = rest
    cancelled, tag, rule, _ = rest
    return State(
        ecn=bool(flags & _ECN),
        slow_start=bool(flags & _SLOW_START),
        deadline=bool(flags & _DEADLINE),
        expired=bool(flags & _EXPIRED),
        recovery=bool(flags & _RECOVERY),
        limited=bool(flags & _LIMITED),
        mss=mss,
        cwnd=cwnd + fraction / _ONE,
        ssthresh=ssthresh,
        srtt_us=srtt_us,
        alpha=alpha / _ONE,
        d=d / _ONE,
        p=p / _ONE,
        queued=queued,
        messages=messages,
        met=met,
        missed=missed,
        time_left=time_left_ns / 1e9,
        bytes_left=bytes_left,
        bytes_acked=bytes_acked,
        bytes_marked=bytes_marked,
        windows=windows,
        cuts=cuts,
        losses=losses,
        timeouts=timeouts,
        cancelled=cancelled,
        tag=tag,
        rule=rule,
    )


def _set(sock: socket.socket, option: int, value: bytes) -> None:
    try:
        sock.setsockopt(_LEVEL, option, value)
    except OSError as error:
        raise _named(error) from None


def _get(sock: socket.socket, option: int, room: int) -> bytes:
    try:
        return sock.getsockopt(_LEVEL, option, room)
    except OSError as error:
        raise _named(error) from None


def _named(error: OSError) -> OSError:
    if error.errno == errno.ENOPROTOOPT:
        return NotAttached(error.errno, "D2TCP is not attached here")
    if error.errno == errno.EOPNOTSUPP:
        return WrongControl(error.errno, "the connection is not under D2TCP")
    return error
