"""A step of the fluid model: the sending of flows, the service of links, and the feedback to flows.

- A step lasts `tau`, the base round trip of most flows. All bytes that a flow sends in a step cross all its
  links in that step, thinned by the service of earlier links in the step before.
- A link serves its rate; the excess is queued, up to the port's room, and beyond that is lost. The share of a
  step in which the queue is above K is the share of packets that are marked.
- A flow is done when its bytes are through. Its end is when the last of them has waited in the current queues
  and crossed the links. It keeps its own clock, so that it may start within a step.
- Several laws may share the links; each sees its own flows.

Bytes are those on the wire. Losses are sent again, at no other cost than what the law makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from duetime.fluid.arrays import Array, Incidence, to_numpy
from duetime.fluid.laws import ENDLESS, FOREVER, Flows, Law, Rows, Seen

#: So many steps are made before flows that have ended leave the arrays and flows that begin are added.
CHUNK = 16

Column = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Links:
    """One entry per link, in bytes, bytes/s and s; infinite where there is no limit."""

    rate: Column
    delay: Column
    room: Column
    mark: Column


@dataclass(frozen=True)
class Messages:
    """One entry per message, in order of their starts; times in s, amounts in bytes on the wire."""

    start: Column
    bytes: Column
    #: From the start; infinite without a deadline.
    allowed: Column
    #: Messages by most hops: the links in order, and the number of links where there are fewer.
    hops: Column
    #: Which of the laws.
    law: Column
    #: Bytes of the last packet, which crosses the links one after the other.
    frame: Column


@dataclass
class Outcome:
    """The result of a run."""

    #: Time of the last byte's arrival; nan where it did not.
    end: Column
    #: Bytes of each message that were delivered, and that were lost on the way.
    delivered: Column
    lost: Column
    #: Of each link: bytes served, the mean of its queue and its longest, in bytes.
    served: Column
    queue_mean: Column
    queue_most: Column
    #: Steps, and flows summed over the steps.
    steps: int = 0
    flow_steps: int = 0
    tau: float = 0.0


@dataclass
class _Live:
    """The flows that are under way, as arrays of the library."""

    number: Column
    flows: Flows
    state: list[Rows]
    left: Array
    got: Array
    lost: Array
    first: Array
    delay: Array
    frame_time: Array
    end: Array
    law: Array
    own_start: Array
    incidence: Incidence = field(repr=False)


def simulate(
    xp: Any,
    links: Links,
    messages: Messages,
    laws: Sequence[Law],
    *,
    tau: float,
    until: float,
    abort_late: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Outcome:
    """Run the messages over the links until `until` (s).

    With `abort_late` a message is aborted when its deadline passes. `progress` is called with the time at
    times.
    """
    many = len(messages.start)
    per_link = [np.zeros(len(links.rate)) for _ in range(3)]
    nothing = (np.full(many, np.nan), np.zeros(many), np.zeros(many))
    outcome = Outcome(*nothing, per_link[0], per_link[1], per_link[2], tau=tau)
    net = _Net(xp, links, tau)
    live: _Live | None = None
    # The step in which each begins.
    first = np.ceil(messages.start / tau - 1e-9).astype(np.int64)
    admitted, step, last = 0, 0, int(np.ceil(until / tau))
    while step < last:
        chunk = min(CHUNK, last - step)
        new = int(np.searchsorted(first, step + chunk, side="left"))
        live = _admitted(xp, links, messages, laws, first, live, np.arange(admitted, new))
        admitted = new
        if live is None:
            # No flow is active until the next message, but queues drain.
            ahead = int(first[admitted]) if admitted < many else last
            net.drain((min(ahead, last) - step) * tau)
            step = min(ahead, last)
            continue
        for _ in range(chunk):
            _step(xp, net, live, laws, step, abort_late)
            step += 1
        outcome.flow_steps += chunk * len(live.number)
        live = _settled(live, outcome)
        if progress is not None:
            progress(step * tau)
    if live is not None:
        _book(live, outcome, np.ones(len(live.number), dtype=bool))
    outcome.steps = step
    outcome.served, outcome.queue_mean, outcome.queue_most = net.totals(step * tau)
    return outcome


class _Net:
    """The links, with a dummy at the end that is never full."""

    def __init__(self, xp: Any, links: Links, tau: float) -> None:
        def with_dummy(values: Column, dummy: float) -> Array:
            return xp.asarray(np.concatenate([np.minimum(values, 1e30), [dummy]]))

        self.xp, self.tau = xp, tau
        self.rate = with_dummy(links.rate, 1e30)
        self.room = with_dummy(links.room, 1e30)
        self.mark = with_dummy(links.mark, 1e30)
        self.queue = 0.0 * self.rate
        self.served_share = 1.0 + 0.0 * self.rate
        self.load = 0.0 * self.rate
        self.served = 0.0 * self.rate
        self.area = 0.0 * self.rate
        self.most = 0.0 * self.rate

    def carry(self, into: Array) -> tuple[Array, Array]:
        """Queue the bytes of a step; return the shares of them that are marked and lost."""
        xp, before = self.xp, self.queue
        able = self.rate * self.tau
        after = before + into - able
        over = xp.maximum(after - self.room, 0.0 * after)
        after = xp.clip(after, 0.0, None) - over
        low, high = xp.minimum(before, after), xp.maximum(before, after)
        spread = high - low
        above = xp.clip((high - self.mark) / xp.maximum(spread, 1e-9 + 0.0 * spread), 0.0, 1.0)
        marked = xp.where(spread > 1e-9, above, xp.astype(before > self.mark, before.dtype))
        served = xp.minimum(before + into - over, able)
        some = xp.maximum(into, 1e-9 + 0.0 * into)
        self.served_share = xp.where(
            into > 0.0, xp.minimum(served / some, 1.0 + 0.0 * some), 1.0 + 0.0 * some
        )
        self.load = into / able
        self.queue = after
        self.served = self.served + served
        self.area = self.area + 0.5 * (before + after) * self.tau
        self.most = xp.maximum(self.most, after)
        return marked, xp.where(into > 0.0, over / some, 0.0 * over)

    def drain(self, time: float) -> None:
        """Serve the queue for some time without arrivals."""
        xp = self.xp
        left = xp.clip(self.queue - self.rate * time, 0.0, None)
        self.served = self.served + self.queue - left
        self.area = self.area + 0.5 * (self.queue * self.queue - left * left) / self.rate
        self.queue = left

    def totals(self, time: float) -> tuple[Column, Column, Column]:
        served, area, most = (to_numpy(each)[:-1] for each in (self.served, self.area, self.most))
        return served, area / max(time, 1e-300), most


def _admitted(
    xp: Any,
    links: Links,
    messages: Messages,
    laws: Sequence[Law],
    first: Column,
    live: _Live | None,
    numbers: Column,
) -> _Live | None:
    """Return the flows under way, with the flows that begin."""
    if not len(numbers):
        return live
    rate = np.concatenate([links.rate, [np.inf]])
    delay = np.concatenate([links.delay, [0.0]])
    hops = messages.hops[numbers]
    one_way = delay[hops].sum(axis=1)
    frame_time = (messages.frame[numbers][:, None] / rate[hops]).sum(axis=1)
    amounts = np.minimum(messages.bytes[numbers], ENDLESS)
    fields = (
        amounts,
        np.minimum(messages.allowed[numbers], FOREVER),
        2.0 * one_way + frame_time,
        rate[hops[:, 0]],
        first[numbers].astype(np.float64),
        one_way,
        frame_time,
        messages.law[numbers].astype(np.float64),
        messages.start[numbers],
    )
    amount, allowed, rtt, line, begin, delays, frames, law, start = (xp.asarray(each) for each in fields)
    flows = Flows(amount, allowed, rtt, line)
    new = _Live(
        number=numbers,
        flows=flows,
        state=[each.start(flows) for each in laws],
        left=amount,
        got=0.0 * amount,
        lost=0.0 * amount,
        first=begin,
        delay=delays,
        frame_time=frames,
        end=xp.nan + 0.0 * amount,
        law=law,
        own_start=start,
        incidence=Incidence(xp, hops, len(rate)),
    )
    if live is None:
        return new
    every = np.concatenate([live.number, numbers])
    joined = _map(live, new, lambda a, b: xp.concat([a, b]))
    joined.number, joined.incidence = every, Incidence(xp, messages.hops[every], len(rate))
    return joined


def _step(xp: Any, net: _Net, live: _Live, laws: Sequence[Law], step: int, abort_late: bool) -> None:
    flows, tau, incidence = live.flows, net.tau, live.incidence
    # The flow's own clock at the end of this step.
    clock = (step + 1 - live.first) * tau
    on = (live.first <= step) & (live.left > 0.0)
    waits = incidence.of_links(net.queue / net.rate)
    wait = sum(waits[1:], waits[0])
    rtt = flows.rtt + wait
    rate = laws[0].rate(live.state[0], rtt, flows)
    for number, law in enumerate(laws[1:], 1):
        rate = xp.where(live.law == number, law.rate(live.state[number], rtt, flows), rate)
    rate = xp.minimum(xp.minimum(rate, live.left / tau), flows.line)
    sent = xp.where(on, rate * tau, 0.0 * rate)
    # What earlier links let through in the step before.
    through = 1.0 + 0.0 * sent
    arriving = []
    for share in incidence.of_links(net.served_share):
        arriving.append(sent * through)
        through = through * share
    marked_at, lost_at = net.carry(incidence.sums(arriving))
    unmarked, kept = 1.0 + 0.0 * sent, 1.0 + 0.0 * sent
    for marked, lost in zip(incidence.of_links(marked_at), incidence.of_links(lost_at), strict=True):
        unmarked = unmarked * (1.0 - marked)
        kept = kept * (1.0 - lost)
    before = live.left
    live.left = xp.where(on, xp.clip(before - sent * kept, 0.0, None), before)
    live.got = live.got + xp.where(on, xp.minimum(sent * kept, before), 0.0 * sent)
    live.lost = live.lost + sent * (1.0 - kept)
    done = on & (live.left <= 1e-6)
    # A window is sent at the rate of the link, a paced flow over the round trip.
    paced = live.law < 0.0
    for number, law in enumerate(laws):
        if law.paced:
            paced = paced | (live.law == number)
    slowest = xp.where(paced, xp.maximum(rate, 1e-9 + 0.0 * rate), flows.line)
    within = xp.minimum(before / slowest, tau + 0.0 * before)
    queues = incidence.of_links(net.queue / net.rate)
    tail = live.delay + live.frame_time + sum(queues[1:], queues[0])
    live.end = xp.where(done, live.own_start + clock - tau + within + tail, live.end)
    live.left = xp.where(done, 0.0 * live.left, live.left)
    time_left = flows.allowed - clock
    if abort_late:
        # Marked by a negative amount: neither under way nor done.
        gone = on & ~done & (time_left < 0.0)
        live.left = xp.where(gone, -live.left, live.left)
    seen = Seen(
        tau=tau,
        rtt=rtt,
        marked=1.0 - unmarked,
        lost=1.0 - kept,
        queued=sum((each / tau for each in waits[1:]), waits[0] / tau),
        load_price=lambda weight, cap: _price(incidence, net.load, weight, cap),
        left=live.left,
        time_left=time_left,
        flows=flows,
    )
    for number, law in enumerate(laws):
        after = law.step(live.state[number], seen)
        live.state[number] = {
            name: xp.where(on, value, live.state[number][name]) for name, value in after.items()
        }


def _price(incidence: Incidence, load: Array, weight: float, cap: float) -> Array:
    """The sum over the path of weight / (1 - load)^2; a link that nothing crosses has no price."""
    xp = incidence.xp
    at = weight / (1.0 - xp.clip(load, 0.0, cap)) ** 2
    prices = incidence.of_links(xp.where(load > 0.0, at, 0.0 * at))
    return sum(prices[1:], prices[0])


def _settled(live: _Live, outcome: Outcome) -> _Live | None:
    """Record the flows that have ended, and keep the rest."""
    over = to_numpy(live.left) <= 0.0
    if not over.any():
        return live
    _book(live, outcome, over)
    if over.all():
        return None
    xp = live.incidence.xp
    kept = np.flatnonzero(~over)
    at = xp.asarray(kept)
    rest = _map(live, live, lambda a, _: xp.take(a, at))
    hops = np.stack([to_numpy(column) for column in live.incidence.columns], axis=1)[kept]
    rest.number = live.number[kept]
    rest.incidence = Incidence(xp, hops, len(to_numpy(live.incidence.ends)) - 1)
    return rest


def _book(live: _Live, outcome: Outcome, which: Column) -> None:
    rows = live.number[which]
    outcome.end[rows] = to_numpy(live.end)[which]
    outcome.delivered[rows] = to_numpy(live.got)[which]
    outcome.lost[rows] = to_numpy(live.lost)[which]


def _map(one: _Live, other: _Live, of: Callable[[Array, Array], Array]) -> _Live:
    """The same operation on every array by flow."""
    flows = Flows(
        *(
            of(getattr(one.flows, name), getattr(other.flows, name))
            for name in ("bytes", "allowed", "rtt", "line")
        )
    )
    state: list[Mapping[str, Array]] = [
        {name: of(rows[name], others[name]) for name in rows}
        for rows, others in zip(one.state, other.state, strict=True)
    ]
    names = ("left", "got", "lost", "first", "delay", "frame_time", "end", "law", "own_start")
    arrays = {name: of(getattr(one, name), getattr(other, name)) for name in names}
    return _Live(
        number=one.number,
        flows=flows,
        state=[dict(rows) for rows in state],
        incidence=one.incidence,
        **arrays,
    )
