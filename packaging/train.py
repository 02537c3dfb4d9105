"""Runs for the compiler's profile, made by `maturin build --pgo`.

Each transport is run, and each kind of network and traffic in `scenarios/`. The benchmarks in
`bench/workloads.toml` are excluded, since a profile of them would flatter their results.
"""

import json
from pathlib import Path

import duetime
from duetime import _core

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"

#: Scenarios with their own transports, each with its duration.
OWN = {
    "custom": "200 ms",
    "four-flows": "1 s",
    "incast": "1 s",
    "large-messages": "3 s",
    "oldi-background": "500 ms",
    "tree": "400 ms",
    "xdctcp": "300 ms",
}
#: A leaf-spine with three kinds of traffic, run with each transport in turn.
MIXED = "15 ms"


def main() -> None:
    """Make the runs of all scenarios."""
    for name, length in OWN.items():
        run(name, length)
    for transport in json.loads(_core.catalog())["transports"]:
        run("mixed", MIXED, transport["name"])


def run(name: str, length: str, transport: str | None = None) -> None:
    """Run a scenario once, with all steps of `duetime run`."""
    changes = {"run.duration": length, "run.warm_up": "0 s"}
    hops = duetime.run(SCENARIOS / f"{name}.toml", transport=transport, set=changes).data["packet_hops"]
    print(f"{name:16} {transport or '':12} {hops / 1e6:6.2f} M packet-hops", flush=True)


if __name__ == "__main__":
    main()
