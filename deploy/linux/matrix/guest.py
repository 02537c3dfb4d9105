"""The program in a machine of the kernel matrix: D2TCP, and our DCTCP next to the kernel's own."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from duetime.results import Result
from duetime.testbed import Options, beside
from duetime.testbed.experiments import SCENARIOS

#: The rate that an emulated processor sustains: a twentieth of the experiment's usual rate. So messages are a
#: fifth of their usual size, and times are four times as long.
RATE_MBPS = 10
#: The lateness of its timers.
LATE_S = 0.01
MESSAGES = [{"from": i, "to": 4, "size": "1.6 MB", "deadline": "2 s" if i == 0 else "32 s"} for i in range(4)]
REPEATS = 3


def main() -> None:
    """Print a line of JSON for each run."""
    with (SCENARIOS / "urgent.toml").open("rb") as file:
        scenario = tomllib.load(file)
    del scenario["parameters"]
    scenario["network"]["rate"] = f"{RATE_MBPS} Mbps"
    # At a twentieth of the rate 60 packets would be a queue of 72 ms. Late timers must not look like losses.
    scenario["network"]["mark"] = "15 packets"
    scenario["transport"]["rto_min"] = "200 ms"
    scenario["run"]["duration"] = "8 s"
    scenario["run"]["trace"]["every"] = "50 ms"
    scenario["traffic"][0]["flows"] = MESSAGES
    arms = (
        ("dctcp", "ours", Options(burst_s=LATE_S)),
        ("dctcp", "the kernel's", Options(burst_s=LATE_S, kernel_dctcp=True)),
        ("d2tcp", "ours", Options(burst_s=LATE_S)),
    )
    for repeat in range(REPEATS):
        for transport, whose, options in arms:
            _, real = beside(scenario, seed=repeat + 1, transport=transport, options=options)
            print("@@run", json.dumps({"transport": transport, "whose": whose, **figures(real)}), flush=True)


def figures(result: Result) -> dict[str, Any]:
    """Return the recorded figures of a run."""
    port = result.links.filter(result.links["dst"] == "host 4").row(0, named=True)
    return {
        "fct_ms": [round(us / 1e3) if us is not None else None for us in result.flows["fct_us"]],
        "queue_mean": round(port["queue_mean"], 1),
        "queue_p99": port["queue_p99"],
        "utilisation": round(port["utilisation"], 3),
        "marks": result.data["marks"],
        "drops": result.data["drops"],
        "retransmits": result.data["retransmits"],
        "ecn_connections": result.data["testbed"]["ecn_connections"],
    }


if __name__ == "__main__":
    main()
