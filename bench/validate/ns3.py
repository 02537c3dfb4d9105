"""ns-3 on drawn arrivals: the wheel that `bench/peers/ns3/requirements.txt` pins, the driver
`bench/peers/ns3/peer.cc`.
"""

import importlib.util
import json
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import duetime as dt
from validate.arrivals import Absent, Arrivals, Outcome, compiled, ended, of_all, one_amount, quantity

PEER = Path(__file__).resolve().parents[1] / "peers" / "ns3" / "peer.cc"
LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control")

#: What the driver can make of DCTCP as RFC 8257 and Linux have it; `bench/peers/ns3/dctcp.h` explains each.
OF_DCTCP = ("order", "windows", "loss", "floor", "steps")
#: And of the rest: switches of the driver.
MENDS = ("echo", "ce", "cwr", "pipe", "flight", "timer", "partial", *OF_DCTCP)

#: Times of a transport in the plan, under the same names.
TIMES: Final = ("rto_min", "rto_granularity", "rto_initial", "ack_delay")
#: No mend: each packet of a host is late by itself, not all that it sends at one instant.
APART = "apart"

#: What ns-3 does and duetime can be told to do, so that nothing differs that has a name.
ALIKE: dict[str, Any] = {
    # 2 B of PPP beside IPv4 and TCP without options.
    "transport.header": "42 B",
    "transport.handshake": True,
    # PRR in CWR and in recovery.
    "transport.cut": "spread",
    "transport.limited_transmit": True,
    # A retransmission that is lost again waits for the timer, and retransmissions do not restart the timer.
    "transport.lost_retransmissions": "timeout",
    "transport.rto_restart": "ack",
    # Every ACK of new data ends the doubling of the timer.
    "transport.backoff_reset": "ack",
}
#: The same of one transport.
BY_TRANSPORT: dict[str, dict[str, Any]] = {
    # It grows as ns-3's Linux Reno, a segment after each window.
    "dctcp": {"transport.growth_steps": "per-window"},
    # TcpNewReno::SlowStart: a segment for each ACK, whatever it acknowledges.
    "tcp": {"transport.slow_start_growth": "segment"},
    # TcpCubic::Update has RFC 8312's alpha, which does not rise, and windows of whole segments.
    "cubic": {"transport.reno_alpha": "constant", "transport.arithmetic": "whole-segments"},
}

#: The socket buffer, in bytes, where duetime limits hosts' queues: ns-3 has no limit on a socket's packets
#: below TCP. Twice the buffer of a port of these setups, so that it limits no window that a loss has cut.
SOCKET_BUFFER = 400_000
#: The queue of a host's device, in packets: it holds the whole socket buffer, so that a host drops nothing.
HOST_PACKETS = 300


def build(source: Path = PEER) -> Path:
    """A driver, compiled against the wheel unless it has been; `Absent` where that cannot be."""
    found = importlib.util.find_spec("ns3")
    if found is None or not found.submodule_search_locations:
        raise Absent(
            "no wheel of ns-3: pip install --no-deps --require-hashes -r bench/peers/ns3/requirements.txt"
        )
    root = Path(next(iter(found.submodule_search_locations)))
    libraries = next((path for path in (root / "lib64", root / "lib") if path.is_dir()), None)
    if libraries is None:
        raise Absent(f"the wheel in {root} has no libraries")
    linked = [next(libraries.glob(f"libns3*-{name}.so"), None) for name in LIBRARIES]
    if None in linked:
        raise Absent(f"the wheel in {root} lacks libraries of {LIBRARIES}")
    flags = [f"-I{root / 'include'}", *(str(path) for path in linked)]
    return compiled(source, [*flags, f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"])


def theirs(
    arrivals: Arrivals,
    transport: str,
    changes: Mapping[str, Any],
    program: Path,
    folder: Path,
    mends: Collection[str] = (),
) -> Outcome:
    """ns-3 on these arrivals."""
    plan = folder / "plan.txt"
    plan.write_text("\n".join(planned(arrivals, transport, changes, mends)) + "\n", encoding="utf-8")
    command = [str(program), str(plan), str(folder / "all.csv"), str(folder / "ends.txt")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"ns-3: {made.stderr.strip()}")
    counted = json.loads(made.stdout)
    busiest = max(counted["ports"], key=lambda port: float(port["mean"]))
    return Outcome(
        ended(arrivals, folder / "ends.txt"),
        sum(port["drops"] for port in counted["ports"]),
        sum(port["marks"] for port in counted["ports"]),
        counted["timeouts"],
        busiest["mean"],
        busiest["p99"],
    )


def planned(
    arrivals: Arrivals, transport: str, changes: Mapping[str, Any], mends: Collection[str]
) -> Iterable[str]:
    """The driver's plan for the scenario: its settings, line by line."""
    resolved, _ = dt.check(arrivals.scenario, transport=transport, set=dict(changes))
    network, chosen = resolved["network"], resolved["transport"]
    ecn = transport == "dctcp" or chosen.get("ecn", False)
    yield f"transport {transport}"
    yield f"duration {arrivals.duration!r}"
    yield f"warm_up {quantity(resolved['run']['warm_up'])!r}"
    yield f"end {arrivals.end!r}"
    yield f"seed {resolved['run']['seed'] + 1}"
    yield f"ecn {int(ecn)}"
    yield f"sack {int(chosen['recovery'] == 'sack')}"
    yield f"reduction {'mended' if 'reduction' in mends else 'prr'}"
    for mend in MENDS:
        yield f"mend_{mend} {int(mend in mends)}"
    yield f"own_dctcp {int(any(mend in mends for mend in OF_DCTCP))}"
    yield f"hystart {int('hystart' not in mends)}"
    yield f"limited_transmit {int(chosen['limited_transmit'])}"
    for name in TIMES:
        yield f"{name} {quantity(chosen[name])!r}"
    yield f"ack_every {chosen['ack_every']}"
    yield f"mss {round(quantity(chosen['mss']))}"
    yield f"initial_window {round(float(chosen['initial_window']))}"
    yield f"g {chosen.get('g', 0.0625)}"
    yield f"initial_alpha {chosen.get('initial_alpha', 1)}"
    yield f"buffer {packets(of_all(network['buffer']))}"
    limited = network["host_queue"] != "unlimited"
    yield f"socket_buffer {SOCKET_BUFFER if limited else 0}"
    yield f"host_packets {HOST_PACKETS if limited else 0}"
    mark = one_amount(network.get("mark"))
    yield f"mark {packets(mark) if mark else 0}"
    jitter = APART if APART in mends else "together"
    yield f"jitter {'none' if network.get('host_jitter') else jitter}"
    yield from wires(network)


def packets(text: str) -> int:
    """An amount in a queue; the driver knows only packets."""
    value, unit = text.split()
    if not unit.startswith("packet"):
        raise ValueError(f"the driver counts packets, not {text}")
    return int(value)


def wires(network: Mapping[str, Any]) -> Iterable[str]:
    """Nodes and links. Paths must be unique, as ns-3 and duetime choose among several by other hashes."""
    delay = round(quantity(network["delay"]) * 1e12)
    rate = round(quantity(network["rate"]))
    if network["topology"] == "star":
        hosts = network["hosts"]
        yield f"hosts {hosts}"
        yield "switches 1"
        for host in range(hosts):
            yield f"link {host} {hosts} {rate} {delay}"
    elif network["topology"] == "leaf-spine" and network["spines"] == 1:
        below, leaves = network["hosts_per_leaf"], network["leaves"]
        yield from tree(below, leaves, rate, round(quantity(network["uplink"])), delay)
    elif network["topology"] == "racks":
        below, racks = network["hosts_per_rack"], network["racks"]
        yield from tree(below, racks, rate, round(quantity(network["uplink"])), delay)
    else:
        raise ValueError("the drivers know a star, racks, and leaf-spine with one spine")


def tree(below: int, switches: int, rate: int, uplink: int, delay: int) -> Iterable[str]:
    """So many switches with so many hosts below each, and one above them."""
    hosts = below * switches
    yield f"hosts {hosts}"
    yield f"switches {switches + 1}"
    for host in range(hosts):
        yield f"link {host} {hosts + host // below} {rate} {delay}"
    for switch in range(switches):
        yield f"link {hosts + switch} {hosts + switches} {uplink} {delay}"
