"""Deadlines for messages on asyncio's streams.

    messages = d2tcp.streams.Messages(writer)
    await messages.send(reply, within=0.020)

asyncio buffers the bytes that the kernel does not accept at once, so the kernel's count of written bytes is
below the program's. `Messages` counts the bytes written through it, and announces each message up to its real
end.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import cast

import d2tcp

__all__ = ["Messages"]


class Messages:
    """The messages of one connection, all of which must be written through this object."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Write to `writer`, to which nothing else writes."""
        self._writer = writer
        self._written = 0
        self._announced = 0

    async def send(self, message: bytes, *, within: float | None = None, tag: int = 0) -> bool:
        """Write a message, with a deadline in seconds if `within` is given, and wait for room for more.

        Returns true if the deadline was announced. A failed announcement is not an error here: the message is
        sent in any case.
        """
        told = within is not None and self._announce(len(message), within, tag)
        self._writer.write(message)
        self._written += len(message)
        await self._writer.drain()
        return told

    def _announce(self, size: int, within: float, tag: int) -> bool:
        in_kernel = self._written - self._writer.transport.get_write_buffer_size()
        end = self._written + size
        try:
            d2tcp.send_deadline(self.socket, end - max(self._announced, in_kernel), within, tag=tag)
        except OSError:
            return False
        self._announced = end
        return True

    @property
    def socket(self) -> socket.socket:
        """Return the connection's socket, for `d2tcp.state` and similar functions."""
        found = self._writer.get_extra_info("socket")
        if found is None:
            raise OSError(errno.ENOTCONN, "the connection is closed")
        # asyncio's substitute for the socket has the methods that are needed here.
        return cast(socket.socket, found)
