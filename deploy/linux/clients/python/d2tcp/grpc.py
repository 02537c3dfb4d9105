"""Announcements of the deadlines of gRPC calls to the kernel, without a change to the service.

    grpc.server(pool, interceptors=[d2tcp.grpc.DeadlineInterceptor()])
    grpc.aio.server(interceptors=[d2tcp.grpc.AioDeadlineInterceptor()])

Before a response is given to gRPC, its length and the caller's time left, less a margin (`d2tcp.MARGIN`), are
announced to the kernel. Calls without a deadline are not announced. Where D2TCP is not attached, the
announcements have no effect and cause no failure.

The announced length is that of the message itself. Frames, headers, trailers and TLS are sent in addition,
for example 9 bytes for 16 KiB. So an announcement ends a little before its last byte, rather than never. It
may be too long, since the message was compressed or its call cancelled; it is then cancelled at the call's
end. Concurrent responses on one connection share it frame by frame, and each announcement then ends a little
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

#: The maximum number of connections whose ended calls are remembered, and of calls of each. The kernel queues
#: at most 32 messages.
_REMEMBERED, _CALLS = 4096, 64
#: The longest deadline that the kernel accepts, a day.
_LONGEST_S = 86400.0

_log = logging.getLogger("d2tcp")


class _Response:
    """The result of a method before it is serialized: the response and its call."""

    __slots__ = ("call", "message")

    def __init__(self, call: _Call, message: Any) -> None:
        self.call, self.message = call, message


class _Teller:
    """Announces the messages of calls, and cancels the leftovers of ended calls."""

    def __init__(self, margin: float, share: float) -> None:
        self._margin, self._share = margin, share
        self._connections = Connections()
        self._tags = itertools.count(1)
        self._ended: OrderedDict[Address, set[int]] = OrderedDict()

    def call(self, context: Any) -> _Call | None:
        """Return the state of a call, if it has a deadline and is over TCP."""
        peer, left = address(context.peer()), context.time_remaining()
        # Without a deadline, gRPC returns none or centuries.
        if peer is None or left is None or left > _LONGEST_S:
            return None
        return _Call(self, context, peer, next(self._tags))

    def announce(self, call: _Call, size: int) -> None:
        """Announce a message of so many bytes to the kernel."""
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
        """Remember an ended call, whose unwritten bytes will never be written."""
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
    """A call that has a deadline."""

    __slots__ = ("announced", "context", "peer", "tag", "teller")

    def __init__(self, teller: _Teller, context: Any, peer: Address, tag: int) -> None:
        self.teller, self.context, self.peer, self.tag = teller, context, peer, tag
        self.announced = False

    def end(self, *_: Any) -> None:
        self.teller.end(self)


class _Interceptor:
    def __init__(self, *, margin: float = d2tcp.MARGIN, share: float = d2tcp.MARGIN_SHARE) -> None:
        """Subtract `margin` seconds from each deadline, but at most `share` of the time left."""
        self._teller = _Teller(margin, share)

    def _serializer(self, inner: Callable[[Any], bytes] | None) -> Callable[[Any], bytes]:
        """Return a serializer that announces a response of known length, right before gRPC writes it."""

        def serialize(response: Any) -> bytes:
            if not isinstance(response, _Response):
                return inner(response) if inner else response
            data = inner(response.message) if inner else response.message
            response.call.teller.announce(response.call, len(data))
            return data

        return serialize


class DeadlineInterceptor(_Interceptor, grpc.ServerInterceptor):  # type: ignore[misc]
    """The interceptor for `grpc.server`."""

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
            # False means that the call is over, and the response is not needed.
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
    """The interceptor for `grpc.aio.server`. Methods that are not asynchronous, which gRPC runs in threads,
    are not changed.
    """

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
                    # A coroutine writes its responses itself.
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
    """Return the same handler with another method and serializer."""
    inputs, outputs = (
        "stream" if each else "unary" for each in (handler.request_streaming, handler.response_streaming)
    )
    kind = f"{inputs}_{outputs}"
    method = (many if handler.response_streaming else one)(getattr(handler, kind))
    make = getattr(grpc, f"{kind}_rpc_method_handler")
    return make(method, request_deserializer=handler.request_deserializer, response_serializer=serialize)
