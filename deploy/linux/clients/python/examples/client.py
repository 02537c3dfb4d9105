"""Asks for BYTES within MILLISECONDS, and counts the received bytes.

client.py ADDRESS PORT BYTES MILLISECONDS
"""

import socket
import sys

import d2tcp


def main() -> None:
    """Send one query, and print the size of its reply."""
    address, port, size, milliseconds = sys.argv[1:]
    connection = socket.socket()
    try:
        d2tcp.use(connection)  # both ends, or ECN is not negotiated
    except d2tcp.NotAttached as error:
        print(f"not under D2TCP: {error.strerror}", file=sys.stderr)
    connection.connect((address, int(port)))
    connection.sendall(f"{size} {milliseconds}\n".encode())
    received = 0
    while received < int(size):
        got = connection.recv(1 << 16)
        if not got:
            sys.exit(f"client: the reply ended after {received} of {size} bytes")
        received += len(got)
    print("received", received)


if __name__ == "__main__":
    main()
