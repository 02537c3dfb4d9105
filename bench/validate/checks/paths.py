"""Packets of a flow over several equal paths, and switches that trim instead of dropping."""

from collections.abc import Iterable
from typing import Any

import polars as pl

import duetime as dt
from validate.check import ACK, MSS, WIRE, Check, first_us, flows, last_us, run, star, us_on_wire

SPINES, HOSTS, PACKETS, GBPS = 4, 4, 1000, 10.0


def checks() -> Iterable[Check]:
    """Shares of the paths, completion times without a collision, and incasts without a timeout."""
    yield from shares()
    yield from permutation()
    yield from trimmed()
    yield from of_htsim()


def leaf_spine(balance: str, listed: list[dict[str, Any]]) -> dt.Result:
    """Run messages on two leaves whose uplinks are as fast as their hosts together."""
    network = {
        "topology": "leaf-spine",
        "leaves": 2,
        "hosts_per_leaf": HOSTS,
        "spines": SPINES,
        "rate": f"{GBPS:g} Gbps",
        "uplink": f"{GBPS:g} Gbps",
        "delay": "1 us",
        "mark": "65 packets",
        "host_jitter": "0 s",
        "host_queue": "fair",
        "balance": balance,
    }
    return run(network, flows(*listed), "5 ms", {"name": "dctcp"})


def shares() -> Iterable[Check]:
    """One flow takes each path as often as any other."""
    done = leaf_spine("spray", [{"from": 0, "to": HOSTS, "size": f"{PACKETS * MSS} B"}])
    up = done.links.filter(pl.col("src").str.starts_with("leaf 0") & ~pl.col("dst").str.starts_with("host"))
    for packets, name in zip(up["packets"], up["dst"], strict=True):
        yield Check(
            f"of {PACKETS} packets of a sprayed flow over {name}",
            PACKETS / SPINES,
            packets,
            1,
            "packets",
            "each path once in turn: n/S, and the last turn may have fewer",
        )


def permutation() -> Iterable[Check]:
    """As many flows as paths: none loses rate to another."""
    listed = [{"from": host, "to": HOSTS + host, "size": f"{PACKETS * MSS} B"} for host in range(HOSTS)]
    packet = us_on_wire(WIRE, GBPS)
    for balance, slack in (("spray", 2 * (HOSTS - 1) * packet), ("reps", 0.1 * PACKETS * packet)):
        yield Check(
            f"last of {HOSTS} flows between racks, {balance}",
            (PACKETS + 3) * packet + 4,
            last_us(leaf_spine(balance, listed)),
            slack,
            "us",
            "a host's link is never idle: n packets there, 3 more hops of the last, 4 us of light; with "
            "spray a packet meets one of each other flow in a turn, on both links between racks; with reps "
            "marks settle who takes which path, a tenth of the packets at most",
        )


def trimmed() -> Iterable[Check]:
    """Bursts into a port that holds little: headers are sent in place of packets, and no timer expires."""
    count, each, room = 8, 10, 8
    listed = [{"from": host, "to": count, "size": f"{each * MSS} B"} for host in range(count)]
    network = star(count + 1, delay="10 us", buffer=f"{room} packets", trim=True)
    done = run(network, flows(*listed), "100 ms", {"name": "dctcp", "initial_window": each})
    packet, header, trip = us_on_wire(WIRE, 1), us_on_wire(64, 1), 40 + 2 * us_on_wire(ACK, 1)
    trims = float(done.data.get("trims", 0))
    yield Check(
        f"drops in an incast of {count} x {each} packets into {room}, trimmed",
        0,
        done.data["drops"] + done.data["timeouts"],
        0,
        "",
        "headers of all fit into 64 KB, so that each loss is known within a round trip: no drop, no timeout",
    )
    wire = count * each * packet + trims * header
    yield Check(
        "its last completion",
        wire + trip / 2 + packet,
        last_us(done),
        2 * (trip + room * packet),
        "us",
        "all packets once and the headers that were sent, on one link; it may be idle for a round trip, "
        "with a full queue, after the burst and at the end",
    )


def of_htsim() -> Iterable[Check]:
    """One flow of UEC htsim's own validation (validate_outputs/validate_uec_sender.out, 40ccb05)."""
    size, payload, header, ack = 2_000_000, 4096, 54, 54
    network = {
        "topology": "fat-tree",
        "k": 4,
        "rate": "100 Gbps",
        "delay": "1 us",
        "buffer": "178450 B",
        "sharing": "per-port",
        "host_jitter": "0 s",
    }
    law = {"name": "dctcp", "mss": f"{payload} B", "header": f"{header} B", "initial_window": 64}
    done = run(network, flows({"from": 0, "to": 15, "size": f"{size} B"}), "5 ms", law)
    yield Check(
        "one flow of 2 MB at 100 Gbps, until its last acknowledgement",
        176.2,
        first_us(done) + 6 + 6 * us_on_wire(ack, 100),
        1.762,
        "us",
        "published; 1 % of it: htsim counts to the sender, and sends one packet more",
    )
