"""Deadlines for TCP messages under D2TCP on Linux.

    d2tcp.send_deadline(connection, len(reply), 0.020)  # 20 ms from now
    connection.sendall(reply)

The call needs no privilege. Where D2TCP is not attached it raises `NotAttached`; the connection works as
ever. Numbers and structures are those of ``linux/include/d2tcp.h``.
"""

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass

__all__ = ["NotAttached", "State", "WrongControl", "send_deadline", "state", "use"]

_LEVEL, _MESSAGE, _STATE = 0xD27C, 1, 2
_STRUCT_MESSAGE = struct.Struct("=qq")
_STRUCT_STATE = struct.Struct("=12I3Qq7Q")
_ONE = 1 << 20
_ECN, _SLOW_START, _DEADLINE, _EXPIRED, _RECOVERY = 1, 2, 4, 8, 16
_LONGEST = (1 << 63) - 1


class NotAttached(OSError):
    """D2TCP is not attached where this program runs."""


class WrongControl(OSError):
    """The connection is not under D2TCP: another control, or nothing is attached when the state is read."""


@dataclass(frozen=True)
class State:
    """What a connection does. Counts begin with the connection."""

    #: Both ends agreed on ECN; without it the connection behaves as Reno.
    ecn: bool
    slow_start: bool
    #: A message with a deadline is being sent, ...
    deadline: bool
    #: ... and its deadline has passed.
    expired: bool
    recovery: bool
    #: Payload bytes of a full segment.
    mss: int
    #: In segments.
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


def use(sock: socket.socket) -> None:
    """Put `sock` under D2TCP: before `connect` or `listen`, or ECN will not be negotiated."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"d2tcp")
    except FileNotFoundError as error:
        raise NotAttached(error.errno, "D2TCP is not attached here") from None


def send_deadline(sock: socket.socket, size: int, seconds: float) -> None:
    """Say that the next `size` bytes written to `sock` should be acknowledged within `seconds`.

    Raises `NotAttached`, `WrongControl`, or another `OSError`: ``EINVAL`` for impossible values,
    ``ENOTCONN``, ``ENOBUFS`` when too many messages wait. The message can be sent in any case.
    """
    nanoseconds = round(seconds * 1e9)
    if not (-_LONGEST <= size <= _LONGEST and -_LONGEST <= nanoseconds <= _LONGEST):
        raise OSError(errno.EINVAL, "size or deadline is beyond what fits")
    try:
        sock.setsockopt(_LEVEL, _MESSAGE, _STRUCT_MESSAGE.pack(size, nanoseconds))
    except OSError as error:
        raise _named(error) from None


def state(sock: socket.socket) -> State:
    """Read the connection's state; raises as `send_deadline` does."""
    try:
        got = sock.getsockopt(_LEVEL, _STATE, _STRUCT_STATE.size)
    except OSError as error:
        raise _named(error) from None
    # What this kernel side does not know yet is 0.
    values = _STRUCT_STATE.unpack(got.ljust(_STRUCT_STATE.size, b"\0"))
    _, _, flags, mss, cwnd, fraction, ssthresh, srtt_us, alpha, d, p, queued, messages, met, missed, *rest = (
        values
    )
    time_left_ns, bytes_left, bytes_acked, bytes_marked, windows, cuts, losses, timeouts = rest
    return State(
        ecn=bool(flags & _ECN),
        slow_start=bool(flags & _SLOW_START),
        deadline=bool(flags & _DEADLINE),
        expired=bool(flags & _EXPIRED),
        recovery=bool(flags & _RECOVERY),
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
    )


def _named(error: OSError) -> OSError:
    if error.errno == errno.ENOPROTOOPT:
        return NotAttached(error.errno, "D2TCP is not attached here")
    if error.errno == errno.EOPNOTSUPP:
        return WrongControl(error.errno, "the connection is not under D2TCP")
    return error
