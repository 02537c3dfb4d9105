"""Simulate the set-ups of a record of `d2tcp receive`: the same messages, without the schedule and with it.

python deploy/linux/receive/simulate.py [deploy/linux/record/receive.json]

It adds `simulated` to each set-up of the record. Needs duetime; root is not needed. Left out are set-ups that
the simulator has no counterpart of: senders with BBR, and lengths that a rule guesses.

Known differences: each answer of a query has a sending host of its own, and messages that overlap have
connections of their own, with first windows of ten segments. In the testbed one host sends, by a pool of open
connections.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import duetime

RECORD = Path(__file__).resolve().parents[1] / "record" / "receive.json"
#: Segments with timestamps, and the Ethernet header that the shaper counts.
_SEGMENTS = 'mss = "1448 B"\nheader = "52 B"'
_FRAME = 14
#: A round trip in the namespaces takes 0.2 to 0.3 ms.
_DELAY = "60 us"


def messages(query: dict[str, float], seed: int) -> list[tuple[float, int, float]]:
    """Return the start, the sender and the allowed time of each answer, as ``aggregate.py`` draws them."""
    chance = random.Random(seed)
    senders, base = int(query["senders"]), query["base"]
    at, found = 0.05, []
    for _ in range(int(query["queries"])):
        if query.get("every"):
            at += chance.expovariate(1 / query["every"])
        found += [(at, sender, base * (1 + chance.random() * 0.5)) for sender in range(senders)]
        if not query.get("every"):
            # The next query follows the last answer; here every burst finds the network empty.
            at += 2.5 * base
    return found


def scenario(set_up: dict[str, Any], seed: int, receive: bool, folder: Path) -> Path:
    """Write the scenario of a run into a folder; returns its file."""
    query, senders = set_up["query"], int(set_up["query"]["senders"])
    drawn = messages(query, seed)
    with (folder / "messages.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["start", "from", "to", "bytes", "deadline"])
        for start, sender, allowed in drawn:
            rows.writerow([f"{start:.9f}", sender, senders + 1, int(query["size"]), f"{allowed:.9f}"])
    connections = "fresh" if query.get("every") else "persistent"
    credit = (
        f'receiver = "edf"\nreceiver_credit = "{set_up["credit"].replace("kB", " KB")}"' if receive else ""
    )
    bulk = f'[[traffic]]\nname = "bulk"\npattern = "long"\nfrom = {senders}\nto = {senders + 1}\n'
    text = f"""
profile = "linux"
[run]
duration = "{drawn[-1][0] + 1:.3f} s"
[network]
topology = "custom"
hosts = {senders + 2}
switches = ["port"]
delay = "{_DELAY}"
buffer = "{set_up["buffer"]} B"
sharing = "per-port"
frame_overhead = "{_FRAME} B"
rate = "10 Gbps"
links = [
  {{ from = "0..{senders + 1}", to = "port" }},
  {{ from = {senders + 1}, to = "port", rate = "{set_up["rate_mbps"]} Mbps" }},
]
[transport]
name = "cubic"
{_SEGMENTS}
idle_restart = false
{credit}
[[traffic]]
name = "answers"
pattern = "trace"
file = "messages.csv"
connections = "{connections}"
{bulk if set_up["bulk"] else ""}
"""
    path = folder / "set-up.toml"
    path.write_text(text, encoding="utf-8")
    return path


def simulate(set_up: dict[str, Any], seed: int, receive: bool) -> dict[str, Any]:
    """Return the figures of a simulated run of a set-up."""
    with tempfile.TemporaryDirectory() as folder:
        run = duetime.run(scenario(set_up, seed, receive, Path(folder)))
    flows = run.flows.filter(run.flows["class"] == "answers")
    missed = int(flows["missed"].sum())
    figures: dict[str, Any] = {"seed": seed, "receive": receive, "answers": flows.height, "missed": missed}
    if set_up["bulk"]:
        figures["bulk_mbps"] = round(run.data["classes"]["bulk"]["goodput_mbps"], 2)
    return figures


def main() -> None:
    """Simulate each set-up with the seeds of its record, and write the record."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORD
    record = json.loads(path.read_text(encoding="utf-8"))
    for set_up in record["set_ups"]:
        if set_up["control"] != "cubic" or not set_up["announce"]:
            continue
        runs = set_up["runs"]
        set_up["simulated"] = [simulate(set_up, run["seed"], run["receive"]) for run in runs]
        for receive in (False, True):
            shares = [
                100 * sum(run["missed"] for run in arm) / sum(run["answers"] for run in arm)
                for kept in (runs, set_up["simulated"])
                for arm in [[run for run in kept if run["receive"] == receive]]
            ]
            which = "with" if receive else "without"
            print(f"{set_up['name']}, {which}: measured {shares[0]:.2f} %, simulated {shares[1]:.2f} %")
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
