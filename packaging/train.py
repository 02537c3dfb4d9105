"""Runs from which the compiler learns what is common; `maturin build --pgo` makes them.

Each transport is run, and each kind of network and traffic that `scenarios/` has, but for what speed is
measured with (`bench/workloads.toml`): a profile of the benchmark would flatter it.
"""

import json
from pathlib import Path

import duetime
from duetime import _core

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"

#: Scenarios under their own transports, each for so long.
OWN = {
    "custom": "200 ms",
    "four-flows": "1 s",
    "incast": "1 s",
    "large-messages": "3 s",
    "oldi-background": "500 ms",
    "tree": "400 ms",
    "xdctcp": "300 ms",
}
#: A leaf-spine with traffic of three kinds, under each transport in turn.
MIXED = "15 ms"


def main() -> None:
    """Make the runs."""
    for name, length in OWN.items():
        run(name, length)
    for transport in json.loads(_core.catalog())["transports"]:
        run("mixed", MIXED, transport["name"])


def run(name: str, length: str, transport: str | None = None) -> None:
    """One run, with everything that `duetime run` does."""
    changes = {"run.duration": length, "run.warm_up": "0 s"}
    hops = duetime.run(SCENARIOS / f"{name}.toml", transport=transport, set=changes).data["packet_hops"]
    print(f"{name:16} {transport or '':12} {hops / 1e6:6.2f} M packet-hops", flush=True)


if __name__ == "__main__":
    main()
