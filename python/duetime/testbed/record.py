"""Keep what named experiments of the testbed gave, run by run, for their page (``make docs`` fills it in).

    python -m duetime.testbed.record urgent-plus fig07-plus --repeats 10 --out deploy/linux/record

Needs root and the programs of `make linux`. In each repeat the arms follow one another, and a run during
which the machine paused is made again, so that it says nothing of the machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import files
from duetime.errors import Failed
from duetime.results import Result
from duetime.statistics import half_width
from duetime.testbed import beside, fig07
from duetime.testbed.experiments import EXPERIMENTS, Arm
from duetime.testbed.measured import PAUSE_MS

if TYPE_CHECKING:
    from duetime.contract.testbed import Figures, Record, RecordedRun

#: The maximum number of messages that are listed one by one.
FEW = 8
#: The most times that a run is repeated.
TRIES = 10


def main() -> None:
    """Run the named experiments, and write a file for each."""
    parser = argparse.ArgumentParser(
        prog="duetime.testbed.record", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "names", nargs="+", choices=sorted(EXPERIMENTS), metavar="NAME", help="of an experiment"
    )
    parser.add_argument("--repeats", type=int, default=10, metavar="N", help="of each arm (default: 10)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="changes to the scenario"
    )
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="where NAME.json is written")
    chosen = parser.parse_args()
    for name in chosen.names:
        text = json.dumps(carry_out(name, chosen.repeats, chosen.set), indent=1)
        files.write(chosen.out / f"{name}.json", f"{text}\n".encode())


def carry_out(name: str, repeats: int, changes: Sequence[str] = ()) -> Record:
    """Run all arms of an experiment, real and simulated, with seeds from 1."""
    experiment, again = EXPERIMENTS[name], 0
    rows: list[RecordedRun] = []
    loads = [os.getloadavg()[0]]
    for seed in range(1, repeats + 1):
        for arm in experiment.arms:
            print(f"running {name}, {arm.name}, seed {seed}", file=sys.stderr)
            simulated, real, tries = _steadily(experiment.scenario, arm, seed, changes)
            again += tries - 1
            told = real.data["testbed"]
            rows.append(
                {
                    "arm": arm.name,
                    "seed": seed,
                    "where": "real",
                    "figures": figures(real),
                    "pause_ms": round(told["longest_pause_ms"], 1),
                    "late_us": late["p99"] if (late := told["start_late_us"]) else None,
                }
            )
            if arm.simulated:
                other = figures(simulated)
                rows.append({"arm": arm.name, "seed": seed, "where": "simulated", "figures": other})
        loads.append(os.getloadavg()[0])
    return {
        "experiment": name,
        "set": list(changes),
        "at": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": [round(min(loads), 1), round(max(loads), 1)],
        "run_again": again,
        "rows": rows,
    }


def _steadily(source: Path, arm: Arm, seed: int, changes: Sequence[str]) -> tuple[Result, Result, int]:
    """Return (simulated, real, runs that it took)."""
    for tries in range(1, TRIES + 1):
        simulated, real = beside(
            source, seed=seed, set=[*changes, *arm.set], transport=arm.transport, options=arm.options
        )
        pause = real.data["testbed"]["longest_pause_ms"]
        if pause <= PAUSE_MS:
            return simulated, real, tries
        print(f"the machine stood still for {pause:.0f} ms: again", file=sys.stderr)
    raise Failed(f"the machine stood still in each of {TRIES} runs: record this when it is quieter")


def figures(result: Result) -> Figures:
    """Return the recorded figures of a run; the first is compared between arms, and less of it is better."""
    kept: Figures = {}
    flows = result.flows
    if flows.height <= FEW:
        for number, each in enumerate(flows.iter_rows(named=True), 1):
            due = f", due after {each['deadline_us'] / 1e3:.0f} ms" if each["deadline_us"] else ""
            took = each["fct_us"]
            kept[f"message {number}{due}: ms"] = None if took is None else round(took / 1e3, 1)
    else:
        for name, part in result.classes.items():
            if part["missed_percent"] is not None:
                kept[f"{name}: missed, %"] = round(part["missed_percent"], 3)
        if "long" in result.classes:
            rate = fig07.long_mbps(result)
            kept["long flows: Mbit/s"] = None if rate is None else round(rate, 2)
    return {
        **kept,
        "marks": result.data["marks"],
        "drops": result.data["drops"],
        "timeouts": int(flows["timeouts"].sum()),
        "sent again: packets": int(flows["retransmits"].sum()),
    }


def told(record: Record) -> str:
    """Format a record for a page: means with 95 % intervals and ranges, and which arm was better."""
    sides = list(dict.fromkeys((row["arm"], row["where"]) for row in record["rows"]))
    found = {side: [row for row in record["rows"] if (row["arm"], row["where"]) == side] for side in sides}
    names = list(record["rows"][0]["figures"])
    lines = [
        "| | " + " | ".join(f"{arm}, {where}" for arm, where in sides) + " |",
        "|---" * (len(sides) + 1) + "|",
        *(
            f"| {name} | " + " | ".join(_cell(name, _values(found[side], name)) for side in sides) + " |"
            for name in names
        ),
    ]
    paused = max(row["pause_ms"] for row in record["rows"] if "pause_ms" in row)
    late = max(late for row in record["rows"] if (late := row.get("late_us")) is not None)
    changed = f" with `{'`, `'.join(record['set'])}`" if record["set"] else ""
    number = record["run_again"]
    repeated = (
        "one run with a longer pause was repeated"
        if number == 1
        else f"{number} runs with longer pauses were repeated"
    )
    again = f"; {repeated}" if number else ""
    low, high = record["load"]
    return (
        "\n".join(lines) + f"\n\n{_compared(found, names[0])} {record['at']}, Linux {record['kernel']}, "
        f"{record['cores']} cores at a load of {low:g} to {high:g}{changed}: no pause above {paused:.0f} ms, "
        f"99 % of the messages of each run begun within {late / 1e3:.1f} ms{again}.\n"
    )


def _compared(found: Mapping[tuple[str, str], Sequence[RecordedRun]], name: str) -> str:
    """Say how often the last arm was better than the first."""
    arms = list(dict.fromkeys(arm for arm, _ in found))
    said = []
    for where in ("real", "simulated"):
        pairs = [_values(found[arm, where], name) for arm in (arms[0], arms[-1]) if (arm, where) in found]
        if len(pairs) == 2 and len(arms) > 1:
            better = sum(b is not None and (a is None or b < a) for a, b in zip(*pairs, strict=True))
            said.append(f"{where} in {better} of {len(pairs[0])} repeats")
    return f"Of *{name}* {arms[-1]} has less than {arms[0]}: {', '.join(said)}." if said else ""


def _values(rows: Sequence[RecordedRun], name: str) -> list[float | None]:
    return [row["figures"][name] for row in rows]


def _cell(name: str, values: Sequence[float | None]) -> str:
    """Return mean, half of the interval, and range; of counts the range alone."""
    there = [value for value in values if value is not None]
    if not there:
        return "-"
    digits = 1 if name.endswith(("%", "Mbit/s")) else 0
    low, high = (f"{value:.{digits}f}" for value in (min(there), max(there)))
    spread = low if low == high else f"{low} to {high}"
    half = half_width(there)
    if ":" not in name or half is None:
        return spread
    return f"{sum(there) / len(there):.{digits}f} ± {half:.{digits}f} ({spread})"


if __name__ == "__main__":
    main()
