"""One link as a scenario of its own, and the completion times of its messages without other traffic.

A link is simulated between the hosts that send over it and the hosts that receive:

    sender -- its own link --> [ the link ] -- a link that is never full --> receiver

A sender's link has its host's rate (that of the slowest link on the way, if that is less), so that packets
arrive no faster than they could. A long message that another link of its path slows down (`Traffic.held`) has
a sender of its own, with the rate that it gets there. It queues and loses packets at its slowest link, and
not once more at each other link that would carry no more than its sender sends. The parts of the path between
a sender's link and the link, and behind the link, are delay, so that each message keeps its round trip. The
bandwidth of the link that acknowledgements of the other direction use is subtracted from its rate.

The simulation of a receiver's link has more traffic, while long messages (`traffic.LONG`) arrive:

- The other messages of their senders. A message that its sender slows down hardly queues at its receiver's
  link, and the times that it would take at each do not add up. So the delay of a long message at its sender
  is part of this simulation.
- The messages of the receiver itself, as its acknowledgements arrive by this link: in bursts, and not as a
  part of each moment. A message that has the link for itself arrives exactly as fast as the link can carry
  it. Only a burst of other traffic makes a queue build, and gives the first mark that ends its slow start.
  Without it, the message's window would grow for as long as it is alone, and the next message would meet all
  of it.

At a link between two switches a message waits for others of its sender too, as they share its sender's link
there. This is found by a second simulation in which each sender has the link for itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from duetime import scenario
from duetime.estimates.traffic import NONE, NOT_HELD, Framing, Traffic
from duetime.foreseen import Column
from duetime.language import catalog
from duetime.quantities import size_bytes

if TYPE_CHECKING:
    from duetime.contract.catalog import Listed
    from duetime.contract.scenarios import Network

#: How many times faster than the link are those behind it. Once would do for no queue to build; ten leaves
#: hardly a delay.
BEHIND = 10
#: A link is simulated for so much longer (ps) than its last message starts, that of late messages is known
#: how late.
AFTERWARDS = 10**12

#: A table of ``[[network.links]]``.
Link: TypeAlias = dict[str, int | str]
#: Rates (bit/s) and delays (ps) of the links of a path, in order.
Shape = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Alone:
    """A link to be simulated, and the data needed to read the result."""

    link: int
    scenario: scenario.Scenario
    #: Its messages, in order of their start.
    rows: Column
    #: The host that others are sent to.
    elsewhere: int | None
    #: Which of the shapes each of them has here.
    shape: Column
    shapes: list[Shape]
    #: Whether it is neither the first link of a path nor the last.
    between: bool
    #: Crossings of links by its packets and acknowledgements, with no loss.
    packet_hops: int


def alone(traffic: Traffic, link: int, only: Column | None = None, apart: bool = False) -> Alone:
    """Cut a link out of the network, with all that crosses it or `only` some of these crossings.

    With `apart` each sender has such a link of its own (between two switches): then messages wait only for
    others of their sender.
    """
    at = traffic.crossings(link)
    at = at if only is None else at[only]
    rows = traffic.row[at]
    before, behind, slowest = _around(traffic, at)
    held = traffic.held[at]
    slowest = np.minimum(slowest, held)
    rate, delay = int(traffic.rate[link]), int(traffic.delay[link])
    first, last = bool((before == 0).all() and traffic.place[at[0]] == 0), bool((behind < 0).all())
    inflated = rate * BEHIND
    frames, acks = traffic.of_class("frame")[rows], traffic.of_class("overhead")[rows]
    ahead = np.maximum(before - _crossing(frames, acks, slowest), 1).round().astype(np.int64)
    after = np.maximum(behind - _crossing(frames, acks, inflated), 1).round().astype(np.int64)
    nothing = np.zeros_like(rows)
    own = np.where(held < NOT_HELD, rows + 1, 0)
    sides, sending = _different(
        [traffic.sender[rows], *([nothing, nothing, nothing] if first else [own, slowest, ahead])]
    )
    ends, receiving = _different([traffic.receiver[rows], nothing if last else after])
    taken, shape = _different([sides[2][sending], sides[3][sending], ends[1][receiving]])
    shapes = [
        (
            *(() if first else ((int(speed), int(ahead)),)),
            (rate, delay),
            *(() if last else ((inflated, int(after)),)),
        )
        for speed, ahead, after in taken.T
    ]
    many = sides.shape[1]
    beside, answering = NONE, NONE
    if last:
        beside, answering = traffic.beside(rows, rows[held == NOT_HELD]), traffic.answering(rows)
    acks_share = float(traffic.acks[link]) * (1 - traffic.part(traffic.opposite[link], answering))
    nominal = {"rate": f"{int(rate * (1 - acks_share))} bps", "delay": f"{delay} ps", **_port(traffic, link)}
    links: list[Link] = []
    near = [f"near {host}" for host in range(many)] if apart else ["near"] * many
    if first:
        links.append({"from": 0, "to": "near", **nominal})
    else:
        links += [
            {
                "from": host,
                "to": near[host],
                "rate": f"{sides[2][host]} bps",
                "delay": f"{sides[3][host]} ps",
            }
            for host in range(many)
        ]
    switches = list(dict.fromkeys(near))
    if last:
        links.append({"from": "near", "to": many, **nominal})
    else:
        if not first:
            links += [{"from": switch, "to": "far", **nominal} for switch in switches]
            switches.append("far")
        links += [
            {
                "from": switches[-1],
                "to": many + host,
                "rate": f"{inflated} bps",
                "delay": f"{ends[1][host]} ps",
            }
            for host in range(ends.shape[1])
        ]
    many_hosts = many + ends.shape[1]
    title = "{} -> {}".format(*traffic.names[link])
    to = many + receiving
    fields = [
        traffic.classes[rows],
        traffic.bytes[rows],
        traffic.start[rows],
        traffic.deadline[rows],
        sending,
        to,
    ]
    others = np.concatenate([beside, answering])
    per_packet = 1 + 1 / traffic.of_class("ack_every")
    crossed = (traffic.packets * per_packet)[rows].sum() * (2 + (not first and not last))
    if len(others):
        crossed += 2 * (others[:, 2] / traffic.of_class("mss")[others[:, 0]] * per_packet[others[:, 0]]).sum()
        # All of it to a host behind a link that is never full, where nothing marks and deadlines mean
        # nothing.
        links.append(
            {"from": "near", "to": many_hosts, "rate": f"{rate * BEHIND * many} bps", "delay": f"{delay} ps"}
        )
        row, start, size = others.T
        host = np.searchsorted(sides[0], traffic.sender[row])
        host[len(beside) :] = many
        nowhere = np.full(len(row), many_hosts)
        also = traffic.classes[row], size, start, np.full(len(row), -1), host, nowhere
        fields = [np.concatenate(pair) for pair in zip(fields, also, strict=True)]
        many_hosts += 1
    network = {"hosts": many_hosts, "switches": switches}
    messages = _messages(traffic, *(field.tolist() for field in fields))
    run = {"duration": f"{int(traffic.start[rows[-1]]) + AFTERWARDS} ps"}
    read = _scenario(traffic, title, network, links, messages, run)
    elsewhere = many_hosts - 1 if len(others) else None
    return Alone(link, read, rows, elsewhere, shape, shapes, not (first or last), int(crossed))


def _around(traffic: Traffic, at: Column) -> tuple[Column, Column, Column]:
    """Return the times on each message's links before and behind (-1: none), and the slowest rate before."""
    rows = traffic.row[at]
    before, behind = np.zeros(len(at)), np.zeros(len(at))
    slowest = np.full(len(at), np.iinfo(np.int64).max)
    place = traffic.place[at]
    length = (traffic.first[rows + 1] - traffic.first[rows]).astype(int)
    frames, acks = traffic.of_class("frame")[rows], traffic.of_class("overhead")[rows]
    for step in range(int(length.max())):
        there = step < length
        hop = traffic.hops[np.where(there, traffic.first[rows] + step, 0)]
        takes = traffic.delay[hop] + _crossing(frames, acks, traffic.rate[hop])
        before += np.where(there & (step < place), takes, 0.0)
        behind += np.where(there & (step > place), takes, 0.0)
        slowest = np.where(there & (step < place), np.minimum(slowest, traffic.rate[hop]), slowest)
    return before, np.where(place == length - 1, -1.0, behind), slowest


def _crossing(frames: Column, acks: Column, rate: Column | int) -> Column:
    """Half of what a full packet and its acknowledgement take onto a link, in ps.

    A link's delay is the same both ways, so that this much on each keeps the round trip.
    """
    found: Column = (frames + acks) * 8e12 / rate / 2
    return found


def _different(columns: list[Column]) -> tuple[Column, Column]:
    """The different rows of some columns, as columns, and which each row is."""
    found, which = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return found, which.ravel()


def _messages(traffic: Traffic, classes: list[int], *fields: list[int]) -> dict[str, str]:
    """Return the messages of each class, as the pattern `flows` lists them."""
    names = [each["name"] for each in traffic.resolved["traffic"]]
    found: dict[str, list[str]] = {}
    for number, size, start, deadline, sender, receiver in zip(classes, *fields, strict=True):
        found.setdefault(names[number], []).append(_message(sender, receiver, size, start, deadline))
    return {name: _list(each) for name, each in found.items()}


def _message(sender: int, receiver: int, size: int, start: int, deadline: int) -> str:
    due = f', deadline = "{deadline} ps"' if deadline >= 0 else ""
    return f'{{ from = {sender}, to = {receiver}, size = "{size} B", start = "{start} ps"{due} }}'


def _list(messages: list[str]) -> str:
    return "[\n" + ",\n".join(messages) + "\n]"


def _port(traffic: Traffic, link: int) -> dict[str, str]:
    """Return where the link's port marks, and its buffer where that differs from the switch's share."""
    network = traffic.resolved["network"]
    room, mark = float(traffic.room[link]), float(traffic.mark[link])
    frame = max(each.frame for each in traffic.framing)
    found = {} if np.isinf(mark) else {"mark": _amount(mark, network.get("mark"), frame)}
    if not np.isinf(room) and round(room) != round(_shared(network, frame)):
        found["buffer"] = _amount(room, network["buffer"], frame)
    elif np.isinf(room):
        found["buffer"] = "1 TB"
    return found


def _shared(network: Network, frame: int) -> float:
    """Return the limit of a single busy port of a switch, in bytes."""
    if isinstance(network["buffer"], Mapping):
        # No limit is that of all switches: each port of the link's scenario has its own.
        return 0.0
    number, unit = network["buffer"].split()
    whole = float(number) * frame if unit.startswith("packet") else float(size_bytes(network["buffer"]))
    alpha = float(network["dynamic_alpha"])
    return {"dynamic": whole * alpha / (1 + alpha), "per-port": whole}.get(network["sharing"], 0.0)


def _of_any_switch(buffer: object) -> object:
    """Return one buffer for switches that the scenario of a link does not have."""
    return next(iter(buffer.values())) if isinstance(buffer, Mapping) else buffer


def _amount(size: float, as_in: object, frame: int) -> str:
    """Write an amount in packets, if the scenario says it so."""
    words = list(as_in.values()) if isinstance(as_in, Mapping) else [as_in]
    if all(isinstance(word, str) and "packet" in word for word in words) and round(size) % frame == 0:
        return f"{round(size) // frame} packets"
    return f"{round(size)} B"


@cache
def _keys(section: Listed) -> frozenset[str]:
    return frozenset(each["name"] for each in catalog()[section])


def _scenario(
    traffic: Traffic,
    title: str,
    network: Mapping[str, object],
    links: Sequence[Link],
    messages: Mapping[str, str],
    run: Mapping[str, str],
) -> scenario.Scenario:
    """Write it, with everything of the whole scenario that is not the network's shape or its traffic."""
    resolved = traffic.resolved
    shared, own = _keys("network") - {"rate", "delay", "mark"}, {*_keys("traffic"), "transport"} - {"set"}
    classes = [each for each in resolved["traffic"] if each["name"] in messages]
    whole: dict[str, object] = {
        "title": title,
        "profile": resolved["profile"],
        "run": {"seed": resolved["run"]["seed"], "cool_down": "0 s", **run},
        "network": {
            **{
                key: _of_any_switch(value) if key == "buffer" else value
                for key, value in resolved["network"].items()
                if key in shared
            },
            "topology": "custom",
            "rate": "1 Gbps",
            "delay": "1 us",
            **network,
            "links": LINKS,
        },
        "transport": resolved.get("transport"),
        "traffic": [
            {
                **{key: value for key, value in each.items() if key in own},
                "pattern": "flows",
                "flows": _place(number),
            }
            for number, each in enumerate(classes)
        ],
    }
    text = scenario.to_toml(whole)
    # They are many, and all of one form.
    text = text.replace(f'"{LINKS}"', _list([_link(each) for each in links]), 1)
    for number, each in enumerate(classes):
        text = text.replace(f'"{_place(number)}"', messages[each["name"]], 1)
    return scenario.Scenario(text, title, None)


#: A placeholder for the links until all else is written.
LINKS = "the links"


def _link(link: Link) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in link.items()) + " }"


def _place(number: int) -> str:
    return f"the messages of class {number}"


#: Sizes of messages that are simulated without other traffic, in packets: up to where a window has grown to
#: the capacity of its path.
SIZES = (
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
    192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
)  # fmt: skip
#: A window has grown once the message has sent this multiple of the path's capacity.
GROWN = 8
#: Each is sent so often, as a host's packets are late by chance (`host_jitter`).
TIMES = 8


def calibration(traffic: Traffic, number: int, shape: Shape) -> tuple[scenario.Scenario, Column]:
    """A path with one message of a class at a time, far apart; and their packets, in order of their start."""
    framing = traffic.framing[number]
    rate = min(rate for rate, _ in shape)
    least = sum(2 * delay + (framing.frame + framing.overhead) * 8e12 / rate for rate, delay in shape)
    holds = least * 1e-12 * rate / 8 / framing.frame
    sizes = np.repeat([each for each in SIZES if each <= max(GROWN * holds, 16)], TIMES)
    # As long as it would take at half the rate, and ten round trips.
    apart = np.ceil(10 * least + sizes * framing.frame * 16e12 / rate).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(apart)])
    flows = [
        _message(0, 1, packets * framing.mss, start, -1)
        for packets, start in zip(sizes.tolist(), starts[:-1].tolist(), strict=True)
    ]
    switches = [f"switch {place}" for place in range(len(shape) - 1)]
    nodes: list[int | str] = [0, *switches, 1]
    links: list[Link] = [
        {"from": a, "to": b, "rate": f"{rate} bps", "delay": f"{delay} ps", "buffer": "1 TB"}
        for a, b, (rate, delay) in zip(nodes[:-1], nodes[1:], shape, strict=True)
    ]
    name = traffic.resolved["traffic"][number]["name"]
    network = {"hosts": 2, "switches": switches}
    run = {"duration": f"{int(starts[-1])} ps"}
    return _scenario(traffic, f"{name} alone", network, links, {name: _list(flows)}, run), sizes


def ideal(shape: Shape, packets: Column, size: Column, framing: Framing) -> Column:
    """Return the completion times of messages on an empty path, in ps: `Net::ideal` of the engine."""
    full = framing.frame * 8e12
    last = (size - framing.mss * (packets - 1) + framing.overhead) * 8e12
    first, slowest, end = 0.0, 0.0, np.zeros(len(packets))
    for rate, delay in shape:
        slowest = max(slowest, full / rate)
        first += full / rate
        before = np.where(packets > 1, first + slowest * np.maximum(packets - 2, 0), 0.0)
        end = np.maximum(end, before) + last / rate + delay
        first += delay
    return end
