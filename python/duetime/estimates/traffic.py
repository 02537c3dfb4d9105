"""The messages and the links that they cross: drawn and routed by the engine, and not sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from duetime import _core, errors, foreseen, scenario
from duetime.foreseen import Column
from duetime.quantities import size_bytes, time_ps

if TYPE_CHECKING:
    from duetime.contract.scenarios import Resolved, Transport

#: Messages continue beyond the measured time, as in a run, for as long as this share of them takes at most on
#: an empty network. So the messages that start last meet others too. More would cost more and change little.
GOES_ON = 0.99


#: A message is long from this number of round trips on an empty path: then its rate follows from the other
#: senders, and not from its first windows. Of 1, 3 and 10 this was nearest to full runs of 64 hosts.
LONG = 3
#: How long messages are under way is reckoned with at most this load: at full load it would be forever.
MAX_LOAD = 0.8
#: Acknowledgements take no more than this share of a link: a 40 B header for each byte would leave nothing.
MAX_ACKS = 0.5
#: Iterations in which rates and times converge. From the seventh on some tenth of the messages still moves by
#: a step and back, as shares that are nearly equal change places.
ROUNDS = 8
#: However much others take of a link, this part of it is left: at overload the rest would be negative.
MIN_SHARE = 0.05
#: A long message that other links slow down is sent at the rate of its path over one of these. Half octaves
#: and less suffice, as shares are means over a time in which they change by more.
STEPS = np.array([1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32])
#: The rate of a message that no other link slows down.
NOT_HELD = np.iinfo(np.int64).max
#: An empty array of messages: (message, start, bytes).
NONE = np.zeros((0, 3), dtype=np.int64)


@dataclass(frozen=True)
class Framing:
    """How a class's messages become packets, in bytes."""

    mss: int
    #: Headers of a packet and its framing: the whole size of an acknowledgement.
    overhead: int
    #: Segments to an acknowledgement.
    ack_every: int

    @property
    def frame(self) -> int:
        """A full packet on the wire."""
        return self.mss + self.overhead


@dataclass(frozen=True)
class Traffic:
    """Messages (a row each, in order of their start), links (one for each direction), and the links they
    cross.

    Times are in ps, amounts in bytes, rates in bit/s; -1 means no deadline or no query.
    """

    resolved: Resolved
    classes: Column
    sender: Column
    receiver: Column
    start: Column
    bytes: Column
    deadline: Column
    ideal: Column
    query: Column
    #: Row i's links are ``hops[first[i] : first[i + 1]]``.
    first: Column
    hops: Column
    rate: Column
    delay: Column
    #: What the port that feeds a link holds and where it marks, infinite where there is no limit.
    room: Column
    mark: Column
    names: Sequence[tuple[str, str]]
    framing: Sequence[Framing]

    def of_class(self, what: str) -> Column:
        """A figure of each message's framing."""
        return np.array([getattr(each, what) for each in self.framing], dtype=np.int64)[self.classes]

    @cached_property
    def packets(self) -> Column:
        """Number of packets of each message."""
        found: Column = np.maximum(-(-self.bytes // self.of_class("mss")), 1)
        return found

    @cached_property
    def wire(self) -> Column:
        """Bytes of each message with its headers."""
        found: Column = self.bytes + self.packets * self.of_class("overhead")
        return found

    @cached_property
    def counted(self) -> Column:
        """The messages that the summaries include, as a mask."""
        run = self.resolved["run"]
        return (self.start >= time_ps(run["warm_up"])) & (self.start < time_ps(run["duration"]))

    @cached_property
    def row(self) -> Column:
        """The message of each crossing of a link."""
        return np.repeat(np.arange(len(self.start)), np.diff(self.first))

    @cached_property
    def place(self) -> Column:
        """The number of links before each crossing."""
        return np.arange(len(self.hops)) - self.first[self.row]

    @cached_property
    def _by_link(self) -> tuple[Column, Column]:
        order = np.argsort(self.hops, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(self.hops, minlength=len(self.rate)))])
        return order, ends

    def crossings(self, link: int) -> Column:
        """Return the crossings of a link, in order of the messages' starts."""
        order, ends = self._by_link
        return order[ends[link] : ends[link + 1]]

    @cached_property
    def long(self) -> Column:
        """The mask of the long messages."""
        frames, acks = self.of_class("frame")[self.row], self.of_class("overhead")[self.row]
        trip = 2 * self.delay[self.hops] + (frames + acks) * 8e12 / self.rate[self.hops]
        return self.ideal >= LONG * np.bincount(self.row, weights=trip, minlength=len(self.start))

    @cached_property
    def _by_sender(self) -> tuple[Column, Column]:
        order = np.argsort(self.sender, kind="stable")
        return order, np.searchsorted(self.sender[order], np.arange(int(self.sender.max()) + 2))

    def beside(self, rows: Column, of: Column) -> Column:
        """Return what the senders of long messages `of` send in addition to them: (message, start, bytes)."""
        own = of[self.long[of]]
        found = [
            self._sent_by(each, own[self.sender[own] == each], rows) for each in np.unique(self.sender[own])
        ]
        return np.concatenate([NONE, *found])

    def answering(self, rows: Column) -> Column:
        """Return the messages of the receiver of these while long ones arrive: (message, start, bytes)."""
        return self._sent_by(int(self.receiver[rows[0]]), rows[self.long[rows]], rows)

    def _sent_by(self, host: int, during: Column, but: Column) -> Column:
        """Return the messages of a host while others are under way, without some that are known.

        Of a message it is the rest when the first of the others starts, as far as it can be sent while they
        are under way.
        """
        order, ends = self._by_sender
        if host + 1 >= len(ends) or ends[host] == ends[host + 1]:
            return NONE
        sent = np.setdiff1d(order[ends[host] : ends[host + 1]], but, assume_unique=True)
        rate = float(self.rate[self.own_link[host]]) * 1e-12 / 8
        found = [NONE]
        for begin, end in _joined(self.start[during], self.start[during] + self.lasts[during]):
            there = sent[(self.start[sent] < end) & (self.start[sent] + self.lasts[sent] > begin)]
            start = np.maximum(self.start[there], begin)
            left = self.bytes[there] * (1 - (start - self.start[there]) / self.lasts[there])
            size = np.maximum(np.minimum(left, (end - start) * rate), 1).astype(np.int64)
            found.append(np.stack([there, start, size], axis=1))
        return np.concatenate(found)

    @cached_property
    def lasts(self) -> Column:
        """Time that each message is taken to be under way, in ps.

        A link that long messages share evenly multiplies their time by 1 / (1 - load) on average, whatever
        their sizes (processor sharing). Each message crosses a sender's and a receiver's link.
        """
        ends = np.unique(np.concatenate([self.hops[self.first[:-1]], self.hops[self.first[1:] - 1]]))
        load = min(float(self.load[ends].mean()), MAX_LOAD)
        found: Column = self.ideal * (1 + 2 * load / (1 - load))
        return found

    @cached_property
    def shares(self) -> Column:
        """The rate that each crossing's link leaves its message over the message's time, in bit/s.

        A link is shared evenly by the long messages that it slows down most of all links of their paths.
        Other long messages take what their own slowest link leaves them, and short messages their own load.
        The time of a message depends on its rate, and so this is iterated.
        """
        long = self.long[self.row]
        capacity = self.rate.astype(float)
        found: Column = capacity[self.hops]
        at = np.flatnonzero(long)
        if not len(at):
            return found
        row, link = self.row[at], self.hops[at]
        begins = np.flatnonzero(np.append(True, np.diff(row) > 0))
        message = np.cumsum(np.append(False, np.diff(row) > 0))
        carried = np.bincount(self.hops[~long], weights=self.wire[self.row[~long]], minlength=len(self.rate))
        left = np.maximum(capacity - carried * 8 / self.seconds, capacity * MIN_SHARE)[link]
        start, size, share = self.start[row].astype(float), self.wire[row] * 8e12, left
        for _ in range(ROUNDS):
            rate = np.minimum.reduceat(share, begins)[message]
            slowest = share <= rate
            many = _beside_each(link, start, size / rate, slowest.astype(float))
            others = _beside_each(link, start, size / rate, np.where(slowest, 0.0, rate))
            # The geometric mean with the last share: without it shares swing between two states.
            share = np.sqrt(share * np.maximum(left - others, left * MIN_SHARE) / (1 + many))
        found[at] = share
        return found

    @cached_property
    def held(self) -> Column:
        """The rate (bit/s) at which another link holds the long message of each crossing, or `NOT_HELD`.

        At the slowest link of its path a message is not held: it queues there, and nowhere else. In steps of
        the rate of an empty path, so that few paths differ. The sender's own link does not hold a message at
        the receiver's, whose simulation has what else the sender sends.
        """
        found = np.full(len(self.hops), NOT_HELD)
        length = np.diff(self.first)
        for many in np.unique(length[self.long]):
            at = self.first[:-1][(length == many) & self.long][:, None] + np.arange(many)
            share, nominal = self.shares[at], self.rate[self.hops[at]].min(axis=1)
            slowest, part = share.argmin(axis=1), nominal / share.min(axis=1)
            step = STEPS[np.abs(np.log(part)[:, None] - np.log(STEPS)).argmin(axis=1)]
            rate = np.where(step > 1, (nominal / step).astype(np.int64), NOT_HELD)
            for place in range(int(many)):
                elsewhere = (slowest != place) & ~((slowest == 0) & (place == many - 1))
                found[at[elsewhere, place]] = rate[elsewhere]
        return found

    @cached_property
    def load(self) -> Column:
        """The share of each link that messages take."""
        carried = np.bincount(self.hops, weights=self.wire[self.row], minlength=len(self.rate))
        return carried * 8 / self.seconds / self.rate

    def part(self, link: int, messages: Column) -> float:
        """Return the share of some (message, start, bytes) in the bytes that cross a link."""
        whole = self.bytes[self.row[self.crossings(link)]].sum()
        return float(messages[:, 2].sum() / whole) if whole else 0.0

    @property
    def seconds(self) -> float:
        """Time in which messages start, in s."""
        return max(int(self.start[-1]), time_ps(self.resolved["run"]["duration"])) * 1e-12

    @cached_property
    def opposite(self) -> Column:
        """The link in the opposite direction of each link."""
        number = {ends: place for place, ends in enumerate(self.names)}
        return np.array([number[to, source] for source, to in self.names])

    @cached_property
    def own_link(self) -> Column:
        """The link by which each host sends."""
        found = np.zeros(int(self.sender.max()) + 1, dtype=np.int64)
        found[self.sender] = self.hops[self.first[:-1]]
        return found

    @cached_property
    def acks(self) -> Column:
        """Share of each link that acknowledgements of the opposite direction's traffic take."""
        many = -(-self.packets // self.of_class("ack_every"))
        crossing = np.bincount(
            self.hops, weights=(many * self.of_class("overhead"))[self.row], minlength=len(self.rate)
        )
        return np.minimum(crossing[self.opposite] * 8 / self.seconds / self.rate, MAX_ACKS)

    @cached_property
    def packet_hops(self) -> int:
        """Crossings of links by the packets of all messages and by their acknowledgements, with no loss."""
        acks = -(-self.packets // self.of_class("ack_every"))
        return int(((self.packets + acks) * np.diff(self.first)).sum())


def _beside_each(link: Column, start: Column, lasts: Column, amount: Column) -> Column:
    """Return for each entry the sum of `amount` of the others on its link, as a mean over its time."""
    begin = start - start.min()
    # Links one after the other in time.
    _, number = np.unique(link, return_inverse=True)
    begin += number * ((begin + lasts).max() + 1)
    end = begin + lasts
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    under_way = np.cumsum(np.concatenate([amount, -amount])[order])
    area = np.append(0.0, np.cumsum(under_way[:-1] * np.diff(times)))
    mean = (np.interp(end, times, area) - np.interp(begin, times, area)) / lasts
    found: Column = np.maximum(mean - amount, 0.0)
    return found


def _joined(begins: Column, ends: Column) -> list[tuple[int, int]]:
    """Return the spans of time, with overlapping spans joined."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(zip(begins.tolist(), ends.tolist(), strict=True)):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], int(end))
        else:
            found.append((int(begin), int(end)))
    return found


def of(resolved: Resolved, read: scenario.Scenario, changes: Sequence[str], seed: int) -> Traffic:
    """Draw and route the messages of a scenario. Raises `Unreadable` where they depend on a run."""
    duration = time_ps(resolved["run"]["duration"])
    found = _foreseen(resolved, read, changes, seed)
    ideal = found.ideal[found.counted]
    more = min(int(np.quantile(ideal, GOES_ON)), duration) if len(ideal) else 0
    if not more:
        return found
    longer = (*changes, f"run.duration={duration + more} ps")
    return _foreseen(resolved, read, longer, seed)


def _foreseen(resolved: Resolved, read: scenario.Scenario, changes: Sequence[str], seed: int) -> Traffic:
    try:
        ahead = _core.foreseen(read.text, read.name, folder=read.folder, set=list(changes), seed=seed)
    except _core.ScenarioError:
        raise
    except ValueError as error:
        raise errors.Unreadable(
            f"{read.name}: class `{error}`: when its messages start follows from others (levels, sessions), "
            "and an estimate draws them ahead; `duetime run` simulates it"
        ) from None
    columns = foreseen.columns(ahead)
    framing = [
        _framing(each, frame) for each, frame in zip(transports(resolved), columns["frame"], strict=True)
    ]

    def whole(name: str) -> Column:
        return columns[name].astype(np.int64)

    return Traffic(
        resolved,
        classes=whole("class"),
        sender=whole("from"),
        receiver=whole("to"),
        start=whole("start"),
        bytes=whole("bytes"),
        deadline=whole("deadline"),
        ideal=whole("ideal"),
        query=whole("query"),
        first=whole("first"),
        hops=whole("hops"),
        rate=whole("rate"),
        delay=whole("delay"),
        room=columns["room"],
        mark=columns["mark"],
        names=ahead["links"],
        framing=framing,
    )


def transports(resolved: Resolved) -> list[Transport]:
    """The transport of each class."""
    return [each.get("transport") or resolved["transport"] for each in resolved["traffic"]]


def _framing(transport: Transport, frame: float) -> Framing:
    mss = size_bytes(transport["mss"])
    return Framing(mss, int(frame) - mss, int(transport["ack_every"]))
