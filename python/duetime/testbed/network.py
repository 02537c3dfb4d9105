"""Links, addresses, routes and queues between the namespaces of running processes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from duetime.contract import reading
from duetime.errors import Failed
from duetime.testbed.plan import Link, Plan, frame

if TYPE_CHECKING:
    from duetime.contract.testbed import Count, Counters

#: The switch's address at every port: hosts need a gateway, and no port needs one of its own.
_GATEWAY = {False: "169.254.77.1", True: "fe80::77"}


def address(host: int, ipv6: bool) -> str:
    """The address of a host."""
    return f"fd77::{host + 1:x}" if ipv6 else f"10.77.0.{host + 1}"


def endpoint(host: int, port: int, ipv6: bool) -> str:
    """A host's address with a port."""
    return f"[{address(host, ipv6)}]:{port}" if ipv6 else f"{address(host, ipv6)}:{port}"


def port_name(host: int) -> str:
    """The switch's interface towards a host."""
    return f"port{host}"


def connect(plan: Plan, switch: int, hosts: list[int]) -> None:
    """Lay a cable from each host to the switch; both are given by their pids."""
    ipv6, mtu = plan.options.ipv6, plan.mtu
    cables, at_switch, queues = [], [], []
    for host, pid in enumerate(hosts):
        port = port_name(host)
        cables.append(
            f"link add {port} mtu {mtu} address {_mac(host, 'port')} type veth "
            f"peer name eth0 mtu {mtu} address {_mac(host, 'host')} netns {pid}"
        )
        at_switch += [
            # One packet at a time, or a whole train would be marked, queued and dropped as one.
            f"link set {port} gso_max_segs 1 up",
            f"link set {port} addrgenmode none",
            f"addr add {_GATEWAY[ipv6]}/{64 if ipv6 else 32} dev {port}{' nodad' if ipv6 else ''}",
            f"route add {address(host, ipv6)}/{128 if ipv6 else 32} dev {port}",
            f"neigh add {address(host, ipv6)} lladdr {_mac(host, 'host')} dev {port} nud permanent",
        ]
        queues += _queue(port, plan.ports[host], plan)
    _batch(switch, "ip", cables + at_switch)
    _batch(switch, "tc", queues)
    for host, pid in enumerate(hosts):
        _batch(
            pid,
            "ip",
            [
                "link set lo up",
                "link set eth0 gso_max_segs 1 up",
                "link set eth0 addrgenmode none",
                f"addr add {address(host, ipv6)}/{128 if ipv6 else 32} dev eth0{' nodad' if ipv6 else ''}",
                *([] if ipv6 else [f"route add {_GATEWAY[ipv6]} dev eth0"]),
                f"neigh add {_GATEWAY[ipv6]} lladdr {_mac(host, 'port')} dev eth0 nud permanent",
                f"route add default via {_GATEWAY[ipv6]} dev eth0 {plan.route}",
            ],
        )
        _batch(pid, "tc", _queue("eth0", plan.uplinks[host], plan))


def counters(switch: int, hosts: int) -> list[Counters]:
    """Return packets and bytes of IP in each direction through the switch's ports."""
    text = _run(["nsenter", f"--net=/proc/{switch}/ns/net", "ip", "-j", "-s", "link"], None)
    by_name = {link["ifname"]: link["stats64"] for link in reading.interfaces(text)}
    ports = [by_name[port_name(host)] for host in range(hosts)]
    return [
        {
            "rx_packets": port["rx"]["packets"],
            "rx_bytes": _payload(port["rx"]),
            "tx_packets": port["tx"]["packets"],
            "tx_bytes": _payload(port["tx"]),
        }
        for port in ports
    ]


def between(before: Counters, after: Counters) -> Counters:
    """Return the packets and bytes between two readings."""
    return {
        "rx_packets": after["rx_packets"] - before["rx_packets"],
        "rx_bytes": after["rx_bytes"] - before["rx_bytes"],
        "tx_packets": after["tx_packets"] - before["tx_packets"],
        "tx_bytes": after["tx_bytes"] - before["tx_bytes"],
    }


def _payload(stats: Count) -> int:
    return stats["bytes"] - 14 * stats["packets"]


def _queue(interface: str, link: Link, plan: Plan) -> list[str]:
    rate, burst, limit_bytes = frame(link, plan)
    packets = link.limit[0]
    fifo = f"pfifo limit {packets}" if packets else f"bfifo limit {limit_bytes}"
    return [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate}bit burst {burst}b cburst {burst}b "
        f"quantum {plan.mtu + 14}",
        f"qdisc add dev {interface} parent 1:1 handle 2: {fifo}",
    ]


def _mac(host: int, end: str) -> str:
    return f"02:77:{'01' if end == 'host' else '02'}:00:00:{host:02x}"


def _batch(pid: int, tool: str, lines: list[str]) -> None:
    family = ["-6"] if tool == "ip" and any("fd77::" in line for line in lines) else []
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", tool, *family, "-batch", "-"]
    _run(command, "\n".join(lines) + "\n")


def _run(command: list[str], text: str | None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command[2:])}: {done.stderr.strip()}")
    return done.stdout
