"""Answers each line "BYTES MILLISECONDS" with so many bytes, after an announcement of their deadline.

server.py PORT (0: any)
"""

import contextlib
import socket
import sys

import d2tcp


def main() -> None:
    """Serve one connection after another."""
    listener = socket.socket()
    try:
        d2tcp.use(listener)  # before listen, for ECN
    except d2tcp.NotAttached as error:
        print(f"not under D2TCP: {error.strerror}", file=sys.stderr)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    listener.listen()
    print("listening", listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile() as queries, contextlib.suppress(ConnectionError):
            for query in queries:
                size, milliseconds = map(int, query.split())
                reply(connection, size, milliseconds)


def reply(connection: socket.socket, size: int, milliseconds: int) -> None:
    """Send `size` bytes, with a deadline if D2TCP accepts it."""
    try:
        d2tcp.send_deadline(connection, size, milliseconds / 1e3)
        print("reply", size, "deadline told", flush=True)
    except OSError as error:
        print("reply", size, "deadline not told:", error.strerror, flush=True)
    connection.sendall(bytes(size))
    with contextlib.suppress(OSError):
        state = d2tcp.state(connection)
        print(
            f"state messages={state.messages} alpha={state.alpha:.3f} d={state.d:.3f} cwnd={state.cwnd:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
