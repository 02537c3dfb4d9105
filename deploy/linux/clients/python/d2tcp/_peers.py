"""The lookup of a connection by its peer's name in an RPC framework."""

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

#: The list of this process's descriptors.
_DESCRIPTORS = Path("/proc/self/fd")


def address(peer: str) -> Address | None:
    """Parse ``ipv4:10.0.0.1:1234`` or ``ipv6:%5Bfd00::1%5D:1234``; return None for other protocols."""
    family, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if family not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    return _plain(host.strip("[]")), int(port)


class Connections:
    """The sockets of this process by their peers. It is thread-safe."""

    def __init__(self) -> None:
        """Begin without known sockets."""
        self._lock = threading.Lock()
        self._known: dict[Address, int] = {}
        #: Descriptor -> the inode of its socket at the last scan, and its peer.
        self._seen: dict[int, tuple[int, Address]] = {}

    @contextlib.contextmanager
    def to(self, peer: Address) -> Iterator[socket.socket | None]:
        """Provide the connection to `peer`, as a duplicate that no other thread can close.

        It is None if there is no such connection, or more than one, which would be ambiguous.
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
        """Scan the descriptors; a known socket costs one system call."""
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
                    # Two connections from the same port to two of our ports are ambiguous.
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
    """Return an address without its zone, and an IPv4 address without its mapping into IPv6."""
    host = host.partition("%")[0]
    return host.removeprefix("::ffff:") if "." in host else host
