"""From the name of a peer, as an RPC framework gives it, to the connection."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

Address = tuple[str, int]

#: Where this process's descriptors are listed.
_DESCRIPTORS = Path("/proc/self/fd")


def address(peer: str) -> Address | None:
    """Read ``ipv4:10.0.0.1:1234`` or ``ipv6:%5Bfd00::1%5D:1234``; None for what is not TCP."""
    family, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if family not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    return _plain(host.strip("[]")), int(port)


class Connections:
    """The sockets of this process by their peers. Safe to use from several threads."""

    def __init__(self) -> None:
        """Know none yet."""
        self._lock = threading.Lock()
        self._known: dict[Address, int] = {}
        #: Descriptor -> which socket it was when it was last looked at, and its peer.
        self._seen: dict[int, tuple[int, Address]] = {}

    @contextlib.contextmanager
    def to(self, peer: Address) -> Iterator[socket.socket | None]:
        """Give the connection to `peer`, as a duplicate that nobody else can close meanwhile.

        None if there is none any more, or more than one: then it is not known which is meant.
        """
        with self._lock:
            found = self._open(self._known.get(peer, -1), peer)
            if found is None:
                self._look()
                found = self._open(self._known.get(peer, -1), peer)
        try:
            yield found
        finally:
            if found is not None:
                found.close()

    def _open(self, descriptor: int, peer: Address) -> socket.socket | None:
        """Duplicate a descriptor if it is (still) a connection to `peer`."""
        if descriptor < 0:
            return None
        try:
            found = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            return None
        if _peer(found) == peer:
            return found
        found.close()
        return None

    def _look(self) -> None:
        """Look through the descriptors; those of sockets that are known cost a call of the kernel each."""
        known: dict[Address, int] = {}
        seen: dict[int, tuple[int, Address]] = {}
        for each in _DESCRIPTORS.iterdir():
            descriptor = int(each.name)
            with contextlib.suppress(OSError):
                about = os.fstat(descriptor)
                if not stat.S_ISSOCK(about.st_mode):
                    continue
                socket_, peer = self._seen.get(descriptor, (0, None))
                if socket_ != about.st_ino:
                    with socket.socket(fileno=os.dup(descriptor)) as found:
                        peer = _peer(found)
                if peer is not None:
                    seen[descriptor] = about.st_ino, peer
                    # Two connections from the same port, to two ports of ours: neither is known.
                    known[peer] = -1 if peer in known else descriptor
        self._known, self._seen = known, seen


def _peer(sock: socket.socket) -> Address | None:
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    try:
        host, port, *_ = sock.getpeername()
    except OSError:
        return None
    return _plain(host), port


def _plain(host: str) -> str:
    """An address without its zone; IPv4 as such where it is mapped into IPv6."""
    host = host.partition("%")[0]
    return host.removeprefix("::ffff:") if "." in host else host
