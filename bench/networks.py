"""Small networks that chose nothing: drawn at random, to hold estimates against full runs.

    python bench/networks.py SET NUMBER     print one as a scenario

A network is determined by the name of its set and its number. Topologies, transports, buffers, thresholds,
loads, sizes and fan-in are drawn independently, each from values of datacenters. Every key that determines a
host's queue or its timers is written out, so that later defaults change nothing. In sets whose name begins
with `datacenter` these keys have the values of that profile.
"""

import itertools
import random
import sys
from typing import Any

from duetime import scenario

#: Packet-hops of a full run, about: half a second or less of one core. Records of 2026-11-26 have twice that.
PACKET_HOPS = 1_000_000
#: The profile of sets whose name begins with its own.
DATACENTER = "datacenter"
#: Links that a packet and its acknowledgement cross, and bits of a full packet.
BOTH_WAYS, PACKET_BITS = 2, 12_000
#: Transports with the chance of each; those without marks, those with, and peers.
TRANSPORTS = {
    "tcp": 3, "cubic": 3, "dctcp": 4, "d2tcp": 4, "xdctcp": 2, "d2tcp_plus": 2, "hull": 2, "pfabric": 1,
    "mcp": 1,
}  # fmt: skip
#: Of the hosts' links; the busiest link between switches is offered no more than `MAX_LOAD`.
LOADS, MAX_LOAD = (0.1, 0.6), 0.75
#: Sizes of background messages: distributions of the studies, and some of one scale.
SIZES = (
    "cdf(websearch)", "cdf(websearch)", "lognormal(100 KB, 1.5)", "exponential(200 KB)",
    "uniform(10 KB, 300 KB)",
)  # fmt: skip


def network(name: str, number: int) -> dict[str, Any]:
    """Draw the network of a set and a number as a scenario."""
    dice = random.Random(f"{name} {number}")
    as_datacenter = name.startswith(DATACENTER)
    rate = dice.choice((1, 10, 10, 25))
    shape, hosts, hops, between = _shape(dice, rate)
    transport = dice.choices(list(TRANSPORTS), list(TRANSPORTS.values()))[0]
    load = min(round(dice.uniform(*LOADS), 2), round(MAX_LOAD / max(between, 1.0), 2))
    asks, offered = _asks(dice, rate, hosts, load)
    background = {"name": "background", "pattern": "poisson", "load": round(load - offered, 3)}
    background["size"] = dice.choice(SIZES)
    if dice.random() < 0.5:
        background["deadline"] = {"base": f"{dice.choice((20, 50, 100)) / rate:g} ms", "vary": "exponential"}
    queue, stack = ({}, {}) if as_datacenter else _stack(dice)
    seconds = PACKET_HOPS / (load * hosts * rate * 1e9 / PACKET_BITS * hops * BOTH_WAYS)
    return {
        "title": f"{name} {number}",
        "profile": DATACENTER if as_datacenter else "classic",
        "run": {
            "duration": f"{round(seconds * 1e6)} us",
            "warm_up": f"{round(seconds * 1e5)} us",
            "cool_down": "1 s",
            "seed": dice.randrange(1, 10**6),
        },
        "network": {
            **shape,
            "rate": f"{rate} Gbps",
            "delay": f"{dice.choice((1, 2, 5, 10))} us",
            **_buffers(dice, transport, rate),
            **queue,
        },
        "transport": {"name": transport, **stack},
        "traffic": [asks, background],
    }


def _stack(dice: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the network's key of the host's queue, and the transport's keys of it, timers and windows."""
    fair = dice.random() < 0.5
    return {"host_queue": "fair"} if fair else {}, {
        **({} if fair else {"nic_limit": "2 packets"}),
        "rto_min": f"{dice.choice((1, 2, 5, 10))} ms",
        "rto_initial": f"{dice.choice((5, 10, 20))} ms",
        "initial_window": dice.choice((2, 10, 10)),
    }


def _shape(dice: random.Random, rate: int) -> tuple[dict[str, Any], int, float, float]:
    """A topology, its hosts, the links of most paths, and by how much links between switches are busier."""
    kind = dice.choice(("star", "leaf-spine", "fat-tree", "racks", "custom"))
    over = dice.choice((1, 1, 2, 3))
    if kind == "star":
        hosts = dice.randint(6, 24)
        return {"topology": kind, "hosts": hosts}, hosts, 2, 0
    if kind == "leaf-spine":
        leaves, each, spines = dice.randint(2, 6), dice.randint(3, 8), dice.randint(1, 4)
        shape = {"topology": kind, "leaves": leaves, "hosts_per_leaf": each, "spines": spines}
        return {**shape, "oversubscription": over}, leaves * each, 4, over
    if kind == "fat-tree":
        return {"topology": kind, "k": 4, "oversubscription": over}, 16, 6, over
    if kind == "racks":
        racks, each = dice.randint(2, 5), dice.randint(3, 8)
        shape = {"topology": kind, "racks": racks, "hosts_per_rack": each, "oversubscription": over}
        return shape, racks * each, 4, over
    # Three switches in a row, with hosts at each: a parking lot.
    each, factor = dice.randint(3, 6), dice.choice((1, 2, 4))
    switches = ["left", "middle", "right"]
    links: list[dict[str, Any]] = [
        {"from": f"{place * each}..{(place + 1) * each}", "to": switch}
        for place, switch in enumerate(switches)
    ]
    links += [{"from": a, "to": b, "rate": f"{factor * rate} Gbps"} for a, b in itertools.pairwise(switches)]
    # A third of the hosts sends to the other two thirds over each link in the row.
    shape = {"topology": kind, "hosts": 3 * each, "switches": switches, "links": links}
    return shape, 3 * each, 3, 2 / 3 * each / factor


def _asks(dice: random.Random, rate: int, hosts: int, load: float) -> tuple[dict[str, Any], float]:
    """Short messages with deadlines, at random times or as answers to one host; and their load."""
    part = round(load * dice.uniform(0.05, 0.4), 3)
    kilobytes = dice.choice((2, 5, 10, 20))
    base = dice.choice((5, 10, 30, 100)) * kilobytes * 8e3 / (rate * 1e9)
    found: dict[str, Any] = {
        "name": "asks",
        "size": f"uniform({kilobytes} KB, {3 * kilobytes} KB)",
        "deadline": {
            "base": f"{base * 1e6 + 100:.0f} us",
            "vary": dice.choice(("exponential", "uniform(0, 50%)")),
        },
    }
    if dice.random() < 0.5:
        return {**found, "pattern": "poisson", "load": part}, part
    leaves, parents = dice.randint(3, 20), dice.randint(1, max(hosts // 3, 1))
    leaves = min(leaves, hosts - parents)
    # The receivers of the queries get, with the background, no more than their links carry.
    part = round(min(part, (MAX_LOAD - load) * parents / hosts), 4)
    every = parents * leaves * 2 * kilobytes * 8e3 / (part * hosts * rate * 1e9)
    return {
        **found,
        "pattern": "fan-in",
        "leaves": leaves,
        "parents": parents,
        "every": f"exponential({every * 1e6:.1f} us)",
    }, part


def _buffers(dice: random.Random, transport: str, rate: int) -> dict[str, Any]:
    mark = (
        {}
        if transport in {"tcp", "cubic", "pfabric", "hull"}
        else {"mark": "20 packets" if rate == 1 else "65 packets"}
    )
    if transport == "pfabric":
        return {"buffer": f"{dice.choice((24, 36, 72))} packets", "sharing": "per-port"}
    if dice.random() < 0.5:
        return {"buffer": dice.choice(("50 KB", "100 KB", "250 KB", "1 MB")), "sharing": "per-port", **mark}
    return {"buffer": dice.choice(("500 KB", "1 MB", "4 MB")), "sharing": "dynamic", **mark}


if __name__ == "__main__":
    print(scenario.to_toml(network(sys.argv[1], int(sys.argv[2]))))
