"""Calls the service of `grpc_server.py`, and prints the milliseconds and the result of each call.

grpc_client.py ADDRESS BYTES SECONDS CALLS [--stream] [--cancel SECONDS]

The calls are made one after another on one connection, after one without a deadline. A new connection
assumes that every packet is marked, and D2TCP has no effect until it has estimated the real share. With
``--cancel`` each call is cancelled after this time.
"""

from __future__ import annotations

import argparse
import time

import grpc  # type: ignore[import-untyped]


def main() -> None:
    """Call the service as the options say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("bytes", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("calls", type=int)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--cancel", type=float)
    options = parser.parse_args()
    with grpc.insecure_channel(options.address, [("grpc.max_receive_message_length", -1)]) as channel:
        get, stream = channel.unary_unary("/trial.Bytes/Get"), channel.unary_stream("/trial.Bytes/Stream")
        get(str(options.bytes).encode(), wait_for_ready=True)
        print("ready", flush=True)
        for _ in range(options.calls):
            begun = time.monotonic()
            try:
                if options.cancel is not None:
                    call = get.future(str(options.bytes).encode(), timeout=options.seconds)
                    time.sleep(options.cancel)
                    call.cancel()
                    got = 0
                elif options.stream:
                    parts = stream(str(options.bytes).encode(), timeout=options.seconds)
                    got = sum(map(len, parts))
                else:
                    got = len(get(str(options.bytes).encode(), timeout=options.seconds))
                said = "complete" if got == options.bytes else "broken off"
            except grpc.RpcError as error:
                said = error.code().name
            print(round(1e3 * (time.monotonic() - begun)), said, flush=True)


if __name__ == "__main__":
    main()
