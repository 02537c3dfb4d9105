"""Deadlines of gRPC calls for the kernel, without a change to the service.

    grpc.server(pool, interceptors=[d2tcp.grpc.DeadlineInterceptor()])
    grpc.aio.server(interceptors=[d2tcp.grpc.AioDeadlineInterceptor()])

Before a response is handed to gRPC the kernel is told how long it is and how much of the caller's deadline
is left, less a margin (`d2tcp.MARGIN`). Calls without a deadline are left alone. Where D2TCP is not
attached nothing is told, and nothing fails.

What is told is the length of the message itself: frames, headers, trailers and TLS come on top (9 bytes for
16 KiB, say), so that an announcement ends a little before its last byte rather than never. One that turns
out too long, since the message was compressed or its call cancelled, is taken back when the call ends.
Several responses at once on one connection share it frame by frame; each is then announced to end a little
early or late.
"""

from __future__ import annotations

import inspect
import itertools
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]

import d2tcp
from d2tcp._peers import Address, Connections, address

__all__ = ["AioDeadlineInterceptor", "DeadlineInterceptor"]

#: Connections of which ended calls are remembered, and calls of each: no more can wait in the kernel than 32.
_REMEMBERED, _CALLS = 4096, 64
#: The longest deadline that the kernel takes, a day.
_LONGEST_S = 86400.0

_log = logging.getLogger("d2tcp")


class _Response:
    """What a method gives until it is serialized: the response, and the call that it belongs to."""

    __slots__ = ("call", "message")

    def __init__(self, call: _Call, message: Any) -> None:
        self.call, self.message = call, message


class _Teller:
    """Announces the messages of calls, and clears away what calls that ended have left."""

    def __init__(self, margin: float, share: float) -> None:
        self._margin, self._share = margin, share
        self._connections = Connections()
        self._tags = itertools.count(1)
        self._ended: OrderedDict[Address, set[int]] = OrderedDict()

    def call(self, context: Any) -> _Call | None:
        """A call that has a deadline and came over TCP."""
        peer, left = address(context.peer()), context.time_remaining()
        # gRPC gives none, or centuries, for a call without a deadline.
        if peer is None or left is None or left > _LONGEST_S:
            return None
        return _Call(self, context, peer, next(self._tags))

    def announce(self, call: _Call, size: int) -> None:
        """Tell the kernel of a message of so many bytes."""
        left = call.context.time_remaining()
        if left is None or left <= 0 or size == 0:
            return
        seconds = d2tcp.time_to_send(left, margin=self._margin, share=self._share)
        with self._connections.to(call.peer) as sock:
            if sock is None:
                return
            if call.peer in self._ended:
                with suppress(OSError):
                    d2tcp.settle(sock, self._ended[call.peer])
            try:
                d2tcp.send_deadline(sock, size, seconds, tag=call.tag)
            except OSError as error:
                _log.debug("no deadline for a response to %s: %s", call.peer, error)
            else:
                call.announced = True

    def end(self, call: _Call) -> None:
        """A call is over: what it has not written by now it never will."""
        if not call.announced:
            return
        ended = self._ended.setdefault(call.peer, set())
        self._ended.move_to_end(call.peer)
        if len(ended) >= _CALLS:
            ended.discard(min(ended))
        ended.add(call.tag)
        if len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
        with self._connections.to(call.peer) as sock, suppress(OSError):
            if sock is not None:
                d2tcp.settle(sock, ended)


class _Call:
    """A call with a deadline."""

    __slots__ = ("announced", "context", "peer", "tag", "teller")

    def __init__(self, teller: _Teller, context: Any, peer: Address, tag: int) -> None:
        self.teller, self.context, self.peer, self.tag = teller, context, peer, tag
        self.announced = False

    def end(self, *_: Any) -> None:
        self.teller.end(self)


class _Interceptor:
    def __init__(self, *, margin: float = d2tcp.MARGIN, share: float = d2tcp.MARGIN_SHARE) -> None:
        """Take `margin` seconds off each deadline, but no more than `share` of the time left."""
        self._teller = _Teller(margin, share)

    def _serializer(self, inner: Callable[[Any], bytes] | None) -> Callable[[Any], bytes]:
        """Announce a response once its length is known, right before gRPC writes it."""

        def serialize(response: Any) -> bytes:
            if not isinstance(response, _Response):
                return inner(response) if inner else response
            data = inner(response.message) if inner else response.message
            response.call.teller.announce(response.call, len(data))
            return data

        return serialize


class DeadlineInterceptor(_Interceptor, grpc.ServerInterceptor):  # type: ignore[misc]
    """For `grpc.server`."""

    def intercept_service(
        self, continuation: Callable[[Any], Any], handler_call_details: Any
    ) -> grpc.RpcMethodHandler | None:
        """Wrap the method's handler."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        teller = self._teller

        def begin(context: Any) -> _Call | None:
            call = teller.call(context)
            # False: it is over already, and nobody waits for the response.
            return call if call and context.add_callback(call.end) else None

        def one(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
            def wrapped(request: Any, context: Any) -> Any:
                call = begin(context)
                response = method(request, context)
                return response if call is None or response is None else _Response(call, response)

            return wrapped

        def many(method: Callable[[Any, Any], Iterator[Any]]) -> Callable[[Any, Any], Iterator[Any]]:
            def wrapped(request: Any, context: Any) -> Iterator[Any]:
                call = begin(context)
                for response in method(request, context):
                    yield response if call is None else _Response(call, response)

            return wrapped

        return _wrapped(handler, one, many, self._serializer(handler.response_serializer))


class AioDeadlineInterceptor(_Interceptor, grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """For `grpc.aio.server`. Methods that are not asynchronous (gRPC runs them in threads) are left alone."""

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> grpc.RpcMethodHandler | None:
        """Wrap the method's handler."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        teller, serialize = self._teller, self._serializer(handler.response_serializer)

        def begin(context: Any) -> _Call | None:
            call = teller.call(context)
            if call is not None:
                context.add_done_callback(call.end)
            return call

        def one(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
            async def wrapped(request: Any, context: Any) -> Any:
                call = begin(context)
                response = await method(request, context)
                return response if call is None or response is None else _Response(call, response)

            return wrapped if inspect.iscoroutinefunction(method) else method

        def many(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], AsyncIterator[Any]]:
            async def wrapped(request: Any, context: Any) -> AsyncIterator[Any]:
                call = begin(context)
                if call is not None:
                    context = _Writer(context, call)
                given = method(request, context)
                if hasattr(given, "__aiter__"):
                    async for response in given:
                        yield response if call is None else _Response(call, response)
                else:
                    # A coroutine: it writes by itself.
                    await given

            asynchronous = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
            return wrapped if asynchronous else method

        return _wrapped(handler, one, many, serialize)


class _Writer:
    """A context whose `write` belongs to a call."""

    def __init__(self, context: Any, call: _Call) -> None:
        self._context, self._call = context, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def write(self, message: Any) -> None:
        await self._context.write(_Response(self._call, message))


def _wrapped(handler: Any, one: Any, many: Any, serialize: Callable[[Any], bytes]) -> grpc.RpcMethodHandler:
    """The same handler with its method and its serializer exchanged."""
    inputs, outputs = (
        "stream" if each else "unary" for each in (handler.request_streaming, handler.response_streaming)
    )
    kind = f"{inputs}_{outputs}"
    method = (many if handler.response_streaming else one)(getattr(handler, kind))
    make = getattr(grpc, f"{kind}_rpc_method_handler")
    return make(method, request_deserializer=handler.request_deserializer, response_serializer=serialize)
