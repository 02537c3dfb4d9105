"""Hosts with several links, and rails: completion times by hand."""

from collections.abc import Iterable
from typing import Any

import duetime as dt
from validate.check import MSS, WIRE, Check, first_us, flows, last_us, run, us_on_wire

PACKETS, GBPS, NVLINK, DELAY, NEAR = 1000, 400.0, 3600.0, 0.5, 0.025
SERVERS, GPUS = 4, 4


def checks() -> Iterable[Check]:
    """Flows over NVSwitches, rails, spines and GPUs; two links of a host; a mesh without a switch."""
    yield from rails()
    yield from both_at_once()
    yield from dual_tor()
    yield from mesh()


def of_rails(*listed: dict[str, Any], **more: Any) -> dt.Result:
    """Run messages, all of whose packets are sent at once, on servers of four GPUs."""
    network = {
        "topology": "rails",
        "servers": SERVERS,
        "gpus": GPUS,
        "rate": f"{GBPS:g} Gbps",
        "delay": f"{DELAY:g} us",
        "nvlink_rate": f"{NVLINK:g} Gbps",
        "nvlink_delay": f"{NEAR:g} us",
        "host_jitter": "0 s",
    }
    return run(network | more, flows(*listed), "5 ms", {"name": "dctcp", "initial_window": PACKETS})


def flow(sender: int, receiver: int) -> dict[str, Any]:
    """Return a message of full packets."""
    return {"from": sender, "to": receiver, "size": f"{PACKETS * MSS} B"}


def rails() -> Iterable[Check]:
    """One flow to each kind of neighbour."""
    rail, near = us_on_wire(WIRE, GBPS), us_on_wire(WIRE, NVLINK)
    spines = {"spines": 2, "uplink": f"{GBPS:g} Gbps"}
    for what, receiver, more, expected, derivation in [
        (
            "to a GPU of the same server",
            1,
            {},
            (PACKETS + 1) * near + 2 * NEAR,
            "over the NVSwitch: n packets and one more hop, and two delays",
        ),
        (
            "to the same GPU of the next server",
            GPUS,
            {},
            (PACKETS + 1) * rail + 2 * DELAY,
            "the same on its rail",
        ),
        (
            "to another GPU of the next server, rails apart",
            GPUS + 1,
            {},
            (PACKETS + 1) * rail + 2 * near + 2 * DELAY + 2 * NEAR,
            "a rail sets the pace; two hops over NVLink before it or behind it, through one GPU",
        ),
        (
            "to another GPU of the next server, over spines",
            GPUS + 1,
            spines,
            (PACKETS + 3) * rail + 4 * DELAY,
            "four links of a rail's rate, and no GPU on the way",
        ),
    ]:
        yield Check(what, expected, first_us(of_rails(flow(0, receiver), **more)), 1e-3, "us", derivation)


def both_at_once() -> Iterable[Check]:
    """All GPUs send to both kinds of neighbours at once, and no flow slows another down."""
    hosts = SERVERS * GPUS
    near = [flow(host, host // GPUS * GPUS + (host + 1) % GPUS) for host in range(hosts)]
    far = [flow(host, (host + GPUS) % hosts) for host in range(hosts)]
    yield Check(
        f"last of {2 * hosts} flows, one over each link of {hosts} GPUs",
        (PACKETS + 1) * us_on_wire(WIRE, GBPS) + 2 * DELAY,
        last_us(of_rails(*near, *far)),
        # An acknowledgement of another flow may hold up a packet on each of two links.
        0.02 * PACKETS * us_on_wire(WIRE, GBPS),
        "us",
        "a flow alone on its rail; each link also carries acknowledgements of another flow, 40 B for each "
        "1500 B at most: 2 %",
    )


def dual_tor() -> Iterable[Check]:
    """Two hosts, each with a link to both of two switches."""
    ends = [{"from": "0..2", "to": name} for name in ("a", "b")]
    for balance, links in (("ecmp", 1), ("spray", 2)):
        network = {
            "topology": "custom",
            "hosts": 2,
            "switches": ["a", "b"],
            "links": ends,
            "rate": "10 Gbps",
            "delay": "1 us",
            "host_jitter": "0 s",
            "balance": balance,
        }
        done = run(network, flows(flow(0, 1)), "5 ms", {"name": "dctcp", "initial_window": PACKETS})
        yield Check(
            f"one flow between hosts with two links, {balance}",
            (PACKETS / links + 1) * us_on_wire(WIRE, 10) + 2,
            first_us(done),
            1e-3,
            "us",
            "n packets over one link, or n/2 over each of two; one more hop, two delays",
        )


def mesh() -> Iterable[Check]:
    """A ring of four hosts without a switch."""
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    network = {
        "topology": "custom",
        "hosts": 4,
        "switches": [],
        "links": [{"from": a, "to": b} for a, b in pairs],
        "rate": "200 Gbps",
        "delay": "5 us",
        "host_jitter": "0 s",
    }
    done = run(network, flows(flow(0, 3)), "5 ms", {"name": "dctcp", "initial_window": PACKETS})
    yield Check(
        "one flow in a ring of four hosts, to the one across",
        (PACKETS + 1) * us_on_wire(WIRE, 200) + 10,
        first_us(done),
        1e-3,
        "us",
        "a host on the way stores each packet and forwards it",
    )
