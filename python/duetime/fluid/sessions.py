"""The traffic of MCP's evaluation, read as sessions: each has its share of a link, and one message at a time.

Each host sends in six sessions and receives in six. A session has a type (query, short, long) and a share.
The shares of a host sum to 0.85 at both of its links, which leaves room for aiming 5 % early. A message's
deadline is its size over the share of the link. Load is the share of time that a session is on: after its
deadline it pauses, exponentially. So every message can be met by sending at the rate that its deadline needs,
on links that are not shared with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duetime.fluid.engine import Column, Links, Messages

TYPES = ("query", "short", "long")
#: Sizes in bytes, drawn from an exponential within these ends (5: mean 1 MB, capped at 100 MB).
ENDS = {"query": (2e3, 2e4), "short": (1e5, 1e6), "long": (1e6, 1e8)}
#: The share of the link that one session of a type has, two of each at a host. Not stated.
SHARES = {"query": 0.005, "short": 0.09, "long": 0.33}
MEAN = 1e6
#: Payload in a packet of 1500 B.
MSS, FRAME = 1460.0, 1500.0


@dataclass(frozen=True)
class Setting:
    """The settings that the paper leaves open, except the shares."""

    #: "sessions": the fabric has no collisions; "collisions": a fat-tree whose uplinks flows choose at
    #: random; "random": no sessions, each message between random hosts of that fat-tree.
    reading: str = "sessions"
    hosts: int = 128
    rate: float = 10e9 / 8
    core: float = 40e9 / 8
    #: Round trip on an empty path.
    rtt: float = 60e-6
    mark: float = 64 * FRAME
    room: float = 256 * FRAME
    #: No deadline is nearer than so many round trips.
    min_rtts: float = 4.0


@dataclass(frozen=True)
class Drawn:
    """Messages with the type of each."""

    links: Links
    messages: Messages
    type: Column


def draw(setting: Setting, load: float, duration: float, seed: int, law: int = 0) -> Drawn:
    """The messages that start before `duration` (s)."""
    random = np.random.default_rng([seed, round(1e6 * load)])
    hosts = setting.hosts
    columns: list[tuple[Column, ...]] = []
    for type_number, name in enumerate(TYPES):
        for _ in range(2):
            to = _permutation(random, hosts)
            for host in range(hosts):
                start, size, allowed = _session(random, setting, name, load, duration)
                many = len(start)
                ends = (np.full(many, host), np.full(many, to[host]))
                if setting.reading == "random":
                    ends = _random_pair(random, hosts, many)
                columns.append((start, size, allowed, np.full(many, type_number), *ends))
    start, size, allowed, kind, source, to = (np.concatenate(each) for each in zip(*columns, strict=True))
    order = np.argsort(start, kind="stable")
    source, to = source[order].astype(np.int64), to[order].astype(np.int64)
    one_big_switch = setting.reading == "sessions"
    links = _switch(setting) if one_big_switch else _fat_tree(setting)
    hops = (
        np.stack([source, hosts + to], axis=1)
        if one_big_switch
        else _paths(random, setting, source, to, len(links.rate))
    )
    wire = size * FRAME / MSS
    messages = Messages(
        start[order],
        wire[order],
        allowed[order],
        hops,
        np.full(len(order), law),
        np.minimum(wire[order], FRAME),
    )
    return Drawn(links, messages, kind[order])


def side_by_side(runs: Sequence[Drawn]) -> tuple[Drawn, Column]:
    """Many runs as one, each on links of its own; and which run each message is of."""
    shift, hops, first = 0, [], []
    total = sum(len(run.links.rate) for run in runs)
    most = max(run.messages.hops.shape[1] for run in runs)
    for number, run in enumerate(runs):
        own = run.messages.hops
        padded = np.full((len(own), most), total, dtype=np.int64)
        padded[:, : own.shape[1]] = np.where(own == len(run.links.rate), total, own + shift)
        hops.append(padded)
        first.append(np.full(len(own), number))
        shift += len(run.links.rate)
    links = Links(
        *(
            np.concatenate([getattr(run.links, name) for run in runs])
            for name in ("rate", "delay", "room", "mark")
        )
    )
    together = {
        name: np.concatenate([getattr(run.messages, name) for run in runs])
        for name in ("start", "bytes", "allowed", "law", "frame")
    }
    order = np.argsort(together["start"], kind="stable")
    messages = Messages(
        hops=np.concatenate(hops)[order], **{name: each[order] for name, each in together.items()}
    )
    kinds = np.concatenate([run.type for run in runs])[order]
    return Drawn(links, messages, kinds), np.concatenate(first)[order]


def _session(
    random: np.random.Generator, setting: Setting, name: str, load: float, duration: float
) -> tuple[Column, Column, Column]:
    """Starts, sizes and allowed times of one session."""
    low, high = ENDS[name]
    # None is shorter than the nearest deadline.
    many = int(duration / (setting.min_rtts * setting.rtt)) + 2
    # An exponential within its ends, by its inverse.
    ends = np.exp(-np.array([low, high]) / MEAN)
    size = -MEAN * np.log(ends[0] - random.random(many) * (ends[0] - ends[1]))
    time = size * FRAME / MSS / (SHARES[name] * setting.rate)
    allowed = np.maximum(time, setting.min_rtts * setting.rtt)
    pause = random.exponential(1.0, many) * np.mean(allowed) * (1.0 - load) / load
    begin = random.random() * (allowed[0] + pause[0])
    start = begin + np.concatenate([[0.0], np.cumsum(allowed + pause)[:-1]])
    inside = start < duration
    return start[inside], size[inside], allowed[inside]


def _permutation(random: np.random.Generator, hosts: int) -> Column:
    """Draw the receiver of each host: every host receives once, and none from itself."""
    order = random.permutation(hosts)
    to = np.empty(hosts, dtype=np.int64)
    to[order] = np.roll(order, 1)
    return to


def _random_pair(random: np.random.Generator, hosts: int, many: int) -> tuple[Column, Column]:
    source = random.integers(0, hosts, many)
    return source, (source + random.integers(1, hosts, many)) % hosts


def _switch(setting: Setting) -> Links:
    """Every host on one switch: links out of the hosts, then links to them."""
    hosts = setting.hosts
    ports = np.concatenate([np.full(hosts, np.inf), np.full(hosts, 1.0)])
    rate = np.full(2 * hosts, setting.rate)
    return Links(rate, np.full(2 * hosts, setting.rtt / 4), setting.room * ports, setting.mark * ports)


def _fat_tree(setting: Setting) -> Links:
    """Return the links of `_switch`, then edge to aggregation and back, aggregation to core and back."""
    k = _arity(setting.hosts)
    half = k // 2
    edges = k * half * half
    hosts = _switch(setting)
    rates = [hosts.rate, np.full(2 * edges, setting.rate), np.full(2 * edges, setting.core)]
    many = 4 * edges
    # The path of six links has the round trip of the two.
    delay = np.full(len(hosts.rate) + many, setting.rtt / 12)
    return Links(
        np.concatenate(rates),
        delay,
        np.concatenate([hosts.room, np.full(many, setting.room)]),
        np.concatenate([hosts.mark, np.full(many, setting.mark)]),
    )


def _arity(hosts: int) -> int:
    k: int = round(float(4 * hosts) ** (1 / 3))
    if k % 2 or k**3 != 4 * hosts:
        raise ValueError(f"no fat-tree has {hosts} hosts; it has k^3 / 4 of them, k even")
    return k


def _paths(random: np.random.Generator, setting: Setting, source: Column, to: Column, dummy: int) -> Column:
    """Up as far as needed and down again; the way up is drawn."""
    k, hosts = _arity(setting.hosts), setting.hosts
    half = k // 2
    edges = k * half * half
    up, down, high, low = 2 * hosts, 2 * hosts + edges, 2 * hosts + 2 * edges, 2 * hosts + 3 * edges
    edge_from, edge_to = source // half, to // half
    pod_from, pod_to = edge_from // half, edge_to // half
    middle, core = random.integers(0, half, len(to)), random.integers(0, half, len(to))
    hops = np.full((len(to), 6), dummy, dtype=np.int64)
    hops[:, 0] = source
    hops[:, 5] = hosts + to
    away = edge_from != edge_to
    hops[away, 1] = up + edge_from[away] * half + middle[away]
    hops[away, 4] = down + edge_to[away] * half + middle[away]
    far = pod_from != pod_to
    hops[far, 2] = high + (pod_from[far] * half + middle[far]) * half + core[far]
    hops[far, 3] = low + (pod_to[far] * half + middle[far]) * half + core[far]
    return hops


def summary(drawn: Drawn, end: Column, until: float, which: Column | None = None) -> dict[str, float | None]:
    """Return missed shares by type and the goodput in time, of messages whose deadline is before `until`."""
    due = drawn.messages.start + drawn.messages.allowed
    chosen = due <= until
    if which is not None:
        chosen &= which
    met = end <= due
    found: dict[str, float | None] = {"messages": int(chosen.sum())}
    for number, name in enumerate(TYPES):
        own = chosen & (drawn.type == number)
        found[f"{name}_missed_percent"] = float(100 * (~met[own]).mean()) if own.any() else None
        found[f"{name}_messages"] = int(own.sum())
    found["missed_percent"] = float(100 * (~met[chosen]).mean()) if chosen.any() else None
    offered = drawn.messages.bytes[chosen].sum() * MSS / FRAME
    in_time = drawn.messages.bytes[chosen & met].sum() * MSS / FRAME
    found["offered_gbps"], found["goodput_gbps"] = offered * 8e-9 / until, in_time * 8e-9 / until
    return found
