"""A bulk flow: `bulk.py ADDRESS PORT` receives without end.

It prints the time and its bytes ten times a second.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

_ENDLESS = 1 << 40


def main(address: str, port: int) -> None:
    """Receive until the process ends."""
    sock = socket.create_connection((address, port))
    sock.send(struct.pack("!Q", _ENDLESS))
    buffer, received, due = bytearray(1 << 18), 0, 0.0
    while True:
        received += sock.recv_into(buffer)
        now = time.monotonic()
        if now >= due:
            print(f"{now:.6f} {received}", flush=True)
            due = now + 0.1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
