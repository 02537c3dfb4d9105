"""Measure the cost of a flow-step of the fluid model, up to 100 000 hosts.

    python bench/fluid.py [--hosts N ...] [--library numpy|cupy|jax]  measure, print, append to bench/record/

The traffic is that of MCP's evaluation on a fat-tree (`duetime.fluid.sessions`, messages between random
hosts, load 0.8). The cost is the CPU time of this process over flow-steps: the active flows, summed over the
steps. The time to draw the messages is reported separately.
"""

import argparse
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duetime
from duetime.fluid import arrays, engine, laws, sessions

RECORD = Path(__file__).resolve().parent / "record"
#: Numbers of hosts of fat-trees with k = 8, 26 and 74.
HOSTS = (128, 4394, 101_306)
#: The number of steps of 60 us.
STEPS = 100


def main() -> None:
    """Measure the networks and append a record."""
    parser = argparse.ArgumentParser(description="Measure the fluid model.")
    parser.add_argument("--hosts", type=int, nargs="+", default=HOSTS)
    parser.add_argument("--transports", nargs="+", default=["dctcp", "mcp-opt"], choices=list(laws.LAWS))
    parser.add_argument("--library", default="numpy", choices=arrays.LIBRARIES)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    results = [
        measured(hosts, name, arguments.library, arguments.steps)
        for hosts in arguments.hosts
        for name in arguments.transports
    ]
    now = datetime.now(UTC)
    record = {
        "at": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "version": duetime.__version__,
        "measure": "CPU ns per flow-step of the fluid model",
        "library": arguments.library,
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "results": results,
    }
    path = RECORD / f"{now:%Y-%m-%d}-fluid.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    print(f"appended to {path}")


def measured(hosts: int, name: str, library: str, steps: int) -> dict[str, Any]:
    """Measure one network with one transport."""
    xp = arrays.namespace(library)
    setting = sessions.Setting(reading="random", hosts=hosts)
    until = steps * setting.rtt
    begun = time.process_time()
    drawn = sessions.draw(setting, 0.8, until, seed=1)
    drawing = time.process_time() - begun
    begun, wall = time.process_time(), time.perf_counter()
    law = laws.LAWS[name](xp, sessions.FRAME)
    outcome = engine.simulate(xp, drawn.links, drawn.messages, [law], tau=setting.rtt, until=until)
    spent = time.process_time() - begun
    found = {
        "hosts": hosts,
        "links": len(drawn.links.rate),
        "messages": len(drawn.messages.start),
        "transport": name,
        "steps": outcome.steps,
        "flows_at_once": round(outcome.flow_steps / max(outcome.steps, 1)),
        "ns_per_flow_step": round(1e9 * spent / max(outcome.flow_steps, 1), 1),
        "cpu_s": round(spent, 2),
        "wall_s": round(time.perf_counter() - wall, 2),
        "drawing_s": round(drawing, 2),
        "missed_percent": sessions.summary(drawn, outcome.end, until)["missed_percent"],
    }
    print(found)
    return found


if __name__ == "__main__":
    main()
