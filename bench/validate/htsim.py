"""csg-htsim on drawn arrivals: the tree that the user names, built there (`make -C sim libhtsim.a`), and the
driver `bench/peers/htsim/peer.cc`. Its TCP is compared, and its DCTCP, which has other rules than RFC 8257.
"""

import json
import os
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duetime as dt
from validate import beside
from validate.arrivals import Absent, Arrivals, Outcome, compiled, draw, ended, ours, quantity

PEER = Path(__file__).resolve().parents[1] / "peers" / "htsim" / "peer.cc"
SETUP = Path(__file__).parent / "setups" / "whole-packets.toml"
SEEDS = range(1, 11)
TRANSPORTS = ("tcp", "dctcp")

#: What htsim does and duetime can be told to do.
ALIKE: dict[str, Any] = {
    "transport.handshake": True,
    "transport.recovery": "newreno",
    # Written into its sources.
    "transport.rto_min": "250 ms",
    "transport.rto_initial": "3 s",
}


def build(tree: Path) -> Path:
    """The driver, compiled against the user's tree; `Absent` where that cannot be."""
    sources = tree / "sim" if (tree / "sim").is_dir() else tree
    library = sources / "libhtsim.a"
    if not library.exists():
        raise Absent(f"no {library}: make -C {sources} libhtsim.a")
    return compiled(PEER, ["-I", str(sources), str(library)])


def theirs(arrivals: Arrivals, transport: str, program: Path, folder: Path) -> Outcome:
    """csg-htsim on these arrivals."""
    plan = folder / "plan.txt"
    plan.write_text("\n".join(planned(arrivals, transport)) + "\n", encoding="utf-8")
    command = [str(program), str(plan), str(folder / "all.csv"), str(folder / "ends.txt")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"csg-htsim: {made.stderr.strip()}")
    ports = json.loads(made.stdout)["ports"]
    busiest = max(ports, key=lambda port: float(port["mean"]))
    drops = sum(port["drops"] for port in ports)
    # It counts neither marks nor timeouts.
    return Outcome(ended(arrivals, folder / "ends.txt"), drops, 0, 0, busiest["mean"], busiest["p99"])


def planned(arrivals: Arrivals, transport: str) -> Iterable[str]:
    """The driver's plan for the scenario."""
    resolved, _ = dt.check(arrivals.scenario, transport=transport, set=ALIKE)
    network, chosen = resolved["network"], resolved["transport"]
    mss = round(quantity(chosen["mss"]))
    yield f"transport {transport}"
    yield f"warm_up {quantity(resolved['run']['warm_up'])!r}"
    yield f"duration {arrivals.duration!r}"
    yield f"end {arrivals.end!r}"
    yield f"hosts {network['hosts']}"
    yield f"rate {round(quantity(network['rate']))}"
    yield f"delay {round(quantity(network['delay']) * 1e12)}"
    yield f"mss {mss}"
    yield f"wire {mss + round(quantity(chosen['header']))}"
    yield f"initial_window {round(float(chosen['initial_window']))}"
    yield f"buffer {round(quantity(network['buffer']))}"
    yield f"mark {round(quantity(network['mark'])) if network.get('mark') else 0}"
    yield f"jitter {0 if network.get('host_jitter') else 1}"
    yield f"seed {resolved['run']['seed'] + 1}"


def compare(tree: Path) -> Iterable[beside.Line]:
    """The setup under both transports."""
    program = build(tree)
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        for transport in TRANSPORTS:

            def run(seed: int, transport: str = transport) -> Mapping[str, Any]:
                return pairs(transport, seed, program, Path(temporary))

            yield from beside.lines(
                SETUP.stem, transport, list(threads.map(run, SEEDS)), sides=("csg-htsim",)
            )


def pairs(transport: str, seed: int, program: Path, folder: Path) -> beside.Pairs:
    """One run of each."""
    scenario = tomllib.loads(SETUP.read_text(encoding="utf-8"))
    if transport != "dctcp":
        del scenario["network"]["mark"]
    own = folder / f"{transport}-{seed}"
    own.mkdir()
    arrivals = draw(scenario, seed, own)
    other = beside.figures(theirs(arrivals, transport, program, own))
    mine = beside.figures(ours(arrivals, transport, ALIKE))
    return {"csg-htsim": {key: (value, other[key]) for key, value in mine.items()}}
