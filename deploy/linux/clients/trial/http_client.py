"""Requests a path of an HTTP server, and prints the milliseconds and the received bytes of each reply.

http_client.py ADDRESS PORT PATH MILLISECONDS REPLIES [--break BYTES]

Requests have ``X-Deadline-Ms``, except for 0. They are made one after another on one connection, after one
without a deadline. A new connection assumes that every packet is marked, and D2TCP has no effect until it has
estimated the real share. With ``--break`` each has its own connection, which is closed after so many bytes.
"""

from __future__ import annotations

import argparse
import http.client
import time


def main() -> None:
    """Send the requests as the options say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("path")
    parser.add_argument("milliseconds", type=int)
    parser.add_argument("replies", type=int)
    parser.add_argument("--break", type=int, dest="broken")
    options = parser.parse_args()
    connection = http.client.HTTPConnection(options.address, options.port, timeout=60)
    _connect(connection)
    connection.request("GET", options.path)
    connection.getresponse().read()
    print("ready", flush=True)
    headers = {"X-Deadline-Ms": str(options.milliseconds)} if options.milliseconds else {}
    for _ in range(options.replies):
        begun = time.monotonic()
        connection.request("GET", options.path, headers=headers)
        response = connection.getresponse()
        assert response.status == 200, response.status
        got, most = 0, options.broken or 1 << 62
        while got < most and (part := response.read(min(1 << 18, most - got))):
            got += len(part)
        if options.broken:
            connection.close()
        print(round(1e3 * (time.monotonic() - begun)), got, flush=True)


def _connect(connection: http.client.HTTPConnection) -> None:
    """Connect to a server that may still be starting."""
    patience = time.monotonic() + 20
    while True:
        try:
            return connection.connect()
        except ConnectionRefusedError:
            if time.monotonic() > patience:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main()
