"""duetime beside ns-3 on the same arrivals.

A scenario's traffic is drawn once by duetime and written as traces; both simulators read these, so that what
differs is the transport, the queues and the events, not the draws. ns-3 is the wheel that
`bench/peers/ns3/requirements.txt` pins, the driver `bench/peers/ns3/peer.cc`.
"""

import csv
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import duetime as dt

PEER = Path(__file__).resolve().parents[1] / "peers" / "ns3" / "peer.cc"
LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control")

UNITS = {
    **{"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12},
    **{"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9},
    **{"bps": 1.0, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12},
}

#: What ns-3 does and duetime can be told to do, so that nothing differs that has a name.
ALIKE: dict[str, Any] = {
    # 2 B of PPP beside IPv4 and TCP without options.
    "transport.header": "42 B",
    "transport.handshake": True,
    # PRR in CWR and in recovery.
    "transport.cut": "spread",
    "transport.limited_transmit": True,
}


class Absent(Exception):
    """There is no ns-3 here; the text says why."""


def build(folder: Path) -> Path:
    """Compile the driver against the wheel; `Absent` where that cannot be."""
    found = importlib.util.find_spec("ns3")
    if found is None or not found.submodule_search_locations:
        raise Absent(
            "no wheel of ns-3: pip install --no-deps --require-hashes -r bench/peers/ns3/requirements.txt"
        )
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise Absent("no C++ compiler")
    root = Path(next(iter(found.submodule_search_locations)))
    libraries = next((path for path in (root / "lib64", root / "lib") if path.is_dir()), None)
    if libraries is None:
        raise Absent(f"the wheel in {root} has no libraries")
    linked = [next(libraries.glob(f"libns3*-{name}.so"), None) for name in LIBRARIES]
    if None in linked:
        raise Absent(f"the wheel in {root} lacks libraries of {LIBRARIES}")
    program = folder / "peer"
    command = [compiler, "-std=c++20", "-O2", f"-I{root / 'include'}", str(PEER), "-o", str(program)]
    command += [str(path) for path in linked]
    command += [f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise Absent(f"the driver does not compile: {made.stderr.strip().splitlines()[-1]}")
    return program


@dataclass(frozen=True)
class Outcome:
    """What one simulator made of one set of arrivals."""

    #: class, deadline_us, fct_us (null where it did not complete).
    messages: pl.DataFrame
    drops: int
    marks: int
    timeouts: int
    #: Time-weighted, of the port where most waited on average; packets.
    queue_mean: float
    queue_p99: float


@dataclass(frozen=True)
class Arrivals:
    """Messages drawn once, as a scenario's traces."""

    scenario: dict[str, Any]
    #: class, from, to, bytes, start_us, deadline_us; in the order of their starts.
    messages: pl.DataFrame
    duration: float
    end: float


def draw(scenario: Mapping[str, Any], seed: int, folder: Path) -> Arrivals:
    """The traffic of a scenario under a seed, written to `folder` as one trace for each class."""
    drawn = dt.run(dict(scenario), seed=seed).flows.filter(pl.col("counted"))
    columns = ["class", "from", "to", "bytes", "start_us", "deadline_us"]
    messages = drawn.select(columns).sort("start_us", maintain_order=True)
    classes = []
    for entry in scenario["traffic"]:
        path = folder / f"{entry['name']}.csv"
        # Without deadlines, which none of these transports knows: a run does not wait for what has missed its
        # own.
        own = messages.filter(pl.col("class") == entry["name"])
        write_trace(path, own.with_columns(deadline_us=pl.lit(None, dtype=pl.Float64)))
        classes.append({"name": entry["name"], "pattern": "trace", "file": str(path)})
    write_trace(folder / "all.csv", messages)
    resolved, _ = dt.check(dict(scenario), seed=seed)
    duration = quantity(resolved["run"]["duration"])
    # Long enough for every message that does not starve; both stop there.
    end = duration + max(1.0, duration)
    run = dict(scenario["run"]) | {"seed": seed, "cool_down": f"{end - duration} s"}
    return Arrivals(dict(scenario) | {"traffic": classes, "run": run}, messages, duration, end)


def write_trace(path: Path, messages: pl.DataFrame) -> None:
    """Messages as a traffic trace, which scenarios and the driver read: plain seconds, hosts and bytes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["start", "from", "to", "bytes", "deadline"])
        for row in messages.iter_rows(named=True):
            deadline = "" if row["deadline_us"] is None else f"{row['deadline_us'] / 1e6:.12f}"
            lines.writerow([f"{row['start_us'] / 1e6:.12f}", row["from"], row["to"], row["bytes"], deadline])


def quantity(text: str) -> float:
    """A quantity of a resolved scenario: seconds, bytes or bits per second."""
    value, unit = text.split()
    return float(value) * UNITS[unit]


def ours(arrivals: Arrivals, transport: str, changes: Mapping[str, Any]) -> Outcome:
    """duetime on these arrivals."""
    run = dt.run(arrivals.scenario, transport=transport, set=dict(changes))
    completed = run.flows.select("class", "from", "to", "start_us", "fct_us").sort("start_us", "from", "to")
    messages = arrivals.messages.sort("start_us", "from", "to")
    if not messages.select("class", "from", "to").equals(completed.select("class", "from", "to")):
        raise RuntimeError("duetime did not start the messages of the traces")
    busiest = run.data["busiest_queue"]
    return Outcome(
        messages.with_columns(completed["fct_us"]),
        run.data["drops"],
        run.data["marks"],
        run.data["timeouts"],
        busiest["mean"],
        busiest["p99"],
    )


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
    ends = (folder / "ends.txt").read_text(encoding="utf-8").splitlines()
    times = [float(line) * 1e6 if line else None for line in ends]
    busiest = max(counted["ports"], key=lambda port: float(port["mean"]))
    return Outcome(
        arrivals.messages.with_columns(pl.Series("fct_us", times, dtype=pl.Float64)),
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
    yield f"mend_echo {int('echo' in mends)}"
    yield f"hystart {int('hystart' not in mends)}"
    yield f"limited_transmit {int(chosen['limited_transmit'])}"
    for name in ("rto_min", "rto_granularity", "rto_initial", "ack_delay"):
        yield f"{name} {quantity(chosen[name])!r}"
    yield f"ack_every {chosen['ack_every']}"
    yield f"mss {round(quantity(chosen['mss']))}"
    yield f"initial_window {round(float(chosen['initial_window']))}"
    yield f"g {chosen.get('g', 0.0625)}"
    yield f"initial_alpha {chosen.get('initial_alpha', 1)}"
    yield f"buffer {packets(network['buffer'])}"
    yield f"mark {packets(network['mark']) if network.get('mark') else 0}"
    yield f"jitter {0 if network.get('host_jitter') else 1}"
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
        hosts = below * leaves
        yield f"hosts {hosts}"
        yield f"switches {leaves + 1}"
        for host in range(hosts):
            yield f"link {host} {hosts + host // below} {rate} {delay}"
        for leaf in range(leaves):
            yield f"link {hosts + leaf} {hosts + leaves} {round(quantity(network['uplink']))} {delay}"
    else:
        raise ValueError("the driver knows a star, and leaf-spine with one spine")
