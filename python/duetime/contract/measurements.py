"""The measurements of a run that the engine did not simulate: the argument of `_core.measured`.

Times are in ps and counted from the start of the run.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Counters(TypedDict):
    """The totals of a run."""

    packets_sent: int
    packets_received: int
    packets_delivered: int
    packet_hops: int
    drops: int
    marks: int


class ClassTotals(TypedDict):
    """The bytes of a class: payload that was delivered, and on the links of receivers."""

    delivered_bytes: int
    bottleneck_bytes: int


#: A message; None where a value is not known.
Message = TypedDict(
    "Message",
    {
        "class": int,
        "from": int,
        "to": int,
        "query": int | None,
        "bytes": int | None,
        "start": int,
        "end": int | None,
        "ideal": int | None,
        "deadline": int | None,
        "timeouts": int,
        "retransmits": int,
        "marks": int,
        "delivered": int,
    },
)


class Queue(TypedDict):
    """The distribution of a queue's length, in packets."""

    queue_mean: float
    queue_p5: int
    queue_p50: int
    queue_p99: int
    queue_max: int


class _Link(Queue):
    packets: int
    bytes: int
    drops: int
    marks: int
    utilisation: float


#: The ends of a link.
Ends = TypedDict("Ends", {"from": str, "to": str})


class Link(_Link, Ends):
    """A direction of a link."""


class Sample(TypedDict):
    """A sample of a message or of a link, by its row."""

    at: int
    what: str
    message: int | None
    link: int | None
    value: float


class Measured(TypedDict):
    """All measurements of a run."""

    simulated: int
    ended: NotRequired[int]
    counters: Counters
    classes: list[ClassTotals]
    messages: list[Message]
    links: list[Link]
    samples: list[Sample]
