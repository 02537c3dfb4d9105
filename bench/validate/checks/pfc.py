"""Lossless networks: times of pauses, headroom, and flows that pauses hold up."""

from collections.abc import Iterable
from typing import Any

import polars as pl

import duetime as dt
from validate.check import MSS, WIRE, Check, flows, last_us, run, star, us_on_wire

GBPS = 10.0
#: A transport that sends all it has at once.
GREEDY = {"name": "tcp", "initial_window": 100_000, "rto_min": "1 s", "rto_initial": "1 s"}


def checks() -> Iterable[Check]:
    """Shares of the time in which links are paused, room for a pause, and head-of-line blocking."""
    for hosts in (2, 4, 8):
        yield from shares(hosts)
    yield from headroom()
    yield victim()


def lossless(network: dict[str, Any]) -> dict[str, Any]:
    """Add pauses at 10 Gbps, 1 us from the switch."""
    return network | {"rate": f"{GBPS:g} Gbps", "delay": "1 us", "lossless": True}


def shares(hosts: int) -> Iterable[Check]:
    """Hosts that all send to one at the rate of each."""
    packets = 10_000
    listed = [{"from": host, "to": hosts, "size": f"{packets * MSS} B"} for host in range(hosts)]
    network = lossless(star(hosts + 1, buffer="100 KB"))
    done = run(network, flows(*listed), "200 ms", GREEDY)
    wire = us_on_wire(WIRE, GBPS)
    whole = hosts * packets * wire
    of_hosts = done.links.filter(pl.col("src").str.starts_with("host"))
    paused = float(of_hosts["paused_s"].sum()) * 1e6 / hosts
    # At a pause a packet may have begun, which is sent all the same: half of one on average.
    begun = float(of_hosts["pause_frames"].sum()) / hosts * wire / 2
    # A switch holds the last 100 KB of each host, which is not paused for as long as these take to be sent.
    held = 100_000 * 8 / GBPS / 1e3
    yield Check(
        f"pauses of each of {hosts} hosts that send {packets} packets to one",
        (1 - 1 / hosts) * whole + begun,
        paused,
        begun / 2 + hosts * held,
        "us",
        "a host has 1/n of the link, sends at its own rate or not at all, and so is paused for 1 - 1/n of "
        "the time; not while the switch holds less than its threshold, at the beginning and at the end: "
        "n x 100 KB; and half a packet of each pause is the rest of one that had begun",
    )
    yield Check(
        "drops there, and the last completion",
        whole + wire + 2,
        last_us(done) + 1e6 * done.data["drops"],
        wire,
        "us",
        "the link is never idle: n x p packets, one more hop of the first and 2 us of light; and no drop",
    )


def headroom() -> Iterable[Check]:
    """Two hosts whose packets cannot leave the switch, and full packets on the way of one pause frame."""
    ends = [{"from": ["0..2", 3], "to": "switch"}, {"from": 2, "to": "switch", "rate": "1 Mbps"}]
    network = {
        "topology": "custom",
        "hosts": 4,
        "switches": ["switch"],
        "links": ends,
        "rate": f"{GBPS:g} Gbps",
        "delay": "10 us",
        "host_jitter": "0 s",
        "sharing": "per-port",
        "buffer": "1 MB",
        "lossless": True,
        "pause_threshold": "10 packets",
        "pause_response": "2 us",
    }
    two = [{"from": host, "to": 2, "size": f"{200 * MSS} B", "start": "1 ns"} for host in (0, 1)]
    traffic = flows(*two, {"from": 3, "to": 0, "size": f"{100 * MSS} B"})
    time = 2 * 10 + 2 + us_on_wire(WIRE + 64, GBPS)
    computed = round(time * GBPS * 1e3 / 8) + WIRE
    derivation = (
        "2 x 10 us of light, 2 us to respond, a packet and a pause frame the other way: 23.25 us, or "
        "29 064 B, and the packet that has begun by then. In 23.25 us 20 packets begin"
    )
    for room, drops in ((computed, 0), (computed - WIRE, 1)):
        done = run(network | {"pause_headroom": f"{room} B"}, traffic, "11 ms", GREEDY)
        yield Check(f"drops with a headroom of {room} B", drops, done.data["drops"], 0, "", derivation)


def victim() -> Check:
    """A flow to an idle host, over a link that is paused for another one."""
    tenth = GBPS / 10
    ends = [
        {"from": "0..2", "to": "left"},
        {"from": "left", "to": "right"},
        {"from": 2, "to": "right", "rate": f"{tenth:g} Gbps"},
        {"from": 3, "to": "right"},
    ]
    network = lossless({"topology": "custom", "hosts": 4, "switches": ["left", "right"], "links": ends})
    network |= {"host_jitter": "0 s", "sharing": "per-port", "buffer": "100 KB"}
    listed = [{"from": host, "to": 2 + host, "size": "100 MB"} for host in (0, 1)]
    classes = [
        flows(flow)[0] | {"name": name} for flow, name in zip(listed, ("culprit", "victim"), strict=True)
    ]
    done: dt.Result = run(network, classes, "20 ms", GREEDY, cool_down="0 s")
    row = done.links.filter((pl.col("src") == "right") & (pl.col("dst") == "host 3"))
    return Check(
        "rate of a flow to an idle host, behind one that has a tenth of the rate",
        tenth,
        float(row["bytes"][0]) * 8 / 20e-3 / 1e9,
        0.05 * tenth,
        "Gbps",
        "both hosts have turns at the left switch, so that the paused link has as many packets of each: r/10",
    )
