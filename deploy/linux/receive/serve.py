"""Senders: `serve.py ADDRESS PORT CONTROL` answers each request, a number of 8 bytes, with as many bytes."""

from __future__ import annotations

import selectors
import socket
import struct
import sys

_BYTES = memoryview(bytes(1 << 16))
#: Unsent bytes that the kernel takes of a connection: more would delay other connections' turns.
_UNSENT = 131_072


def main(address: str, port: int, control: str) -> None:
    """Serve until the process ends."""
    chosen = selectors.DefaultSelector()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    listener.bind((address, port))
    listener.listen(1024)
    listener.setblocking(False)
    chosen.register(listener, selectors.EVENT_READ)
    left: dict[socket.socket, int] = {}
    print("serving", flush=True)
    while True:
        for key, events in chosen.select():
            if key.fileobj is listener:
                client, _ = listener.accept()
                client.setblocking(False)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
                left[client] = 0
                chosen.register(client, selectors.EVENT_READ)
                continue
            client = key.fileobj  # type: ignore[assignment]
            try:
                if events & selectors.EVENT_READ:
                    request = client.recv(8)
                    if not request:
                        raise ConnectionResetError
                    left[client] += struct.unpack("!Q", request)[0]
                if left[client]:
                    left[client] -= client.send(_BYTES[: min(left[client], len(_BYTES))])
            except BlockingIOError:
                pass
            except OSError:
                chosen.unregister(client)
                client.close()
                del left[client]
                continue
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if left[client] else 0)
            chosen.modify(client, wanted)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
