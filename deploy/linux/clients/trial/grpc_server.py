"""A gRPC service that answers with as many bytes as the request asks for. It prints ``listening PORT``.

grpc_server.py ADDRESS [--aio] [--plain]
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import d2tcp.grpc
import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]

#: The number of parts of a stream.
PARTS = 4


def answer(request: bytes, context: Any) -> bytes:  # noqa: ARG001
    """Return so many bytes."""
    return bytes(int(request))


def answers(request: bytes, context: Any) -> Iterator[bytes]:  # noqa: ARG001
    """Yield so many bytes in parts."""
    for _ in range(PARTS):
        yield bytes(int(request) // PARTS)


async def aio_answer(request: bytes, context: Any) -> bytes:  # noqa: ARG001
    """Return so many bytes."""
    return bytes(int(request))


async def aio_answers(request: bytes, context: Any) -> Any:  # noqa: ARG001
    """Yield so many bytes in parts."""
    for _ in range(PARTS):
        yield bytes(int(request) // PARTS)


def handlers(one: Any, many: Any) -> Any:
    """Return the handlers of the service."""
    return grpc.method_handlers_generic_handler(
        "trial.Bytes",
        {
            "Get": grpc.unary_unary_rpc_method_handler(one),
            "Stream": grpc.unary_stream_rpc_method_handler(many),
        },
    )


async def serve_asynchronously(address: str, plain: bool) -> None:
    """Run the asynchronous service until killed."""
    server = grpc.aio.server(interceptors=[] if plain else [d2tcp.grpc.AioDeadlineInterceptor()])
    server.add_generic_rpc_handlers([handlers(aio_answer, aio_answers)])
    port = server.add_insecure_port(address)
    await server.start()
    print("listening", port, flush=True)
    await server.wait_for_termination()


def serve(address: str, plain: bool) -> None:
    """Run the service with threads until killed."""
    server = grpc.server(
        ThreadPoolExecutor(4), interceptors=[] if plain else [d2tcp.grpc.DeadlineInterceptor()]
    )
    server.add_generic_rpc_handlers([handlers(answer, answers)])
    port = server.add_insecure_port(address)
    server.start()
    print("listening", port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    where, plainly = sys.argv[1], "--plain" in sys.argv
    if "--aio" in sys.argv:
        asyncio.run(serve_asynchronously(where, plainly))
    else:
        serve(where, plainly)
