"""Measure the gain of several threads: alternating pairs of runs, with one thread and with several.

    python bench/threads.py [--rounds N] [--threads N ...] [--case NAME ...] [--note TEXT]

measures, prints, and appends to bench/record/. Times are wall-clock times of the whole process, including its
start, and of the event loop alone (`wall_s`). The ratio is that of the two runs of a pair; its median and
range are printed. The order within a pair changes from pair to pair.

The work of two concurrent runs, each with one thread, is measured too. It is nearly a limit for threads,
since the cores of a machine share caches and memory. Before and after each case two threads exchange a word
(`crates/units/examples/cores.rs`), since the distance of a virtual machine's cores may change. Results are
only valid on a machine without other work.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from instructions import build
from run import BENCH, ROOT, append, cpu, spent

#: The cases: a scenario and changes to it.
CASES: dict[str, tuple[Path, tuple[str, ...]]] = {
    "W3": (ROOT / "scenarios/w3.toml", ()),
    # Long enough for `auto` to calibrate.
    "W3 for 20 s": (ROOT / "scenarios/w3.toml", ("run.duration=20 s",)),
    # W3 with eight times the racks: an epoch of its 20 us links has enough events for several threads.
    "8 200 as W3": (
        ROOT / "scenarios/w3.toml",
        (
            "network.racks=205",
            "traffic.answers.parents=205",
            "traffic.answers.start=5 ms + parent * 0.12 ms",
            "run.duration=1 s",
        ),
    ),
    # Links of 1 us, and therefore short epochs.
    "8 200 leaf-spine": (
        BENCH / "scale/leaf-spine.toml",
        ("leaves=205", "spines=16", "run.duration=1 ms"),
    ),
}


def main() -> None:
    """Measure the cases, print the ratios, and append a record."""
    parser = argparse.ArgumentParser(description="Measure what several threads gain.")
    parser.add_argument("--rounds", type=int, default=7, help="pairs of each (default 7)")
    parser.add_argument(
        "--threads",
        nargs="+",
        default=["2", "auto"],
        help="how many the second of a pair has (default 2, auto)",
    )
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES), help="only these")
    parser.add_argument(
        "--note", default="", help="what a reader of the record should know of the conditions"
    )
    arguments = parser.parse_args()
    rounds = max(1, arguments.rounds)
    print(f"{'':18}{'threads':>8}{'one':>9}{'several':>9}{'ratio':>8}{'range':>16}", end="")
    print(f"{'loop alone':>12}{'round trip':>17}")
    results = [pairs(case, threads, rounds) for case in arguments.case for threads in arguments.threads] + [
        beside(case, rounds) for case in arguments.case
    ]
    keep(results, arguments.note)


def pairs(case: str, threads: str, rounds: int) -> dict[str, Any]:
    """Run pairs with one thread and with several; their results must be the same."""
    runs: dict[str, list[tuple[float, float]]] = {"1": [], threads: []}
    round_trips = [round_trip_ns()]
    seen = []
    for number in range(rounds):
        for which in ("1", threads) if number % 2 == 0 else (threads, "1"):
            took, result = timed(case, which)
            runs[which].append((took, result.pop("wall_s")))
            seen.append(result)
    if any(result != seen[0] for result in seen):
        sys.exit(f"{case}: {threads} threads give another result than one")
    round_trips.append(round_trip_ns())
    one, several = runs["1"], runs[threads]
    row = {
        "case": case,
        "threads": threads,
        "packets_delivered": seen[0]["packets_delivered"],
        "one_s": statistics.median(took for took, _ in one),
        "several_s": statistics.median(took for took, _ in several),
        **ratios([a / b for (a, _), (b, _) in zip(one, several, strict=True)]),
        "round_trip_ns": round_trips,
        "loop_ratio": statistics.median(a / b for (_, a), (_, b) in zip(one, several, strict=True)),
    }
    print(
        f"{case:18}{threads:>8}{row['one_s']:>7.2f} s{row['several_s']:>7.2f} s{row['ratio']:>8.2f}"
        f"{row['least']:>8.2f} to {row['most']:.2f}{row['loop_ratio']:>12.2f}"
        f"{' to '.join(f'{ns:.0f}' for ns in sorted(round_trips)):>14} ns",
        flush=True,
    )
    return row


def beside(case: str, rounds: int) -> dict[str, Any]:
    """Measure how much more two concurrent runs do than one alone, each with one thread: at most twice."""
    found = []
    with ThreadPoolExecutor(2) as both:
        for _ in range(rounds):
            alone = timed(case, "1")[0]
            begin = time.perf_counter()
            list(both.map(timed, (case, case), ("1", "1")))
            found.append(2 * alone / (time.perf_counter() - begin))
    row = {"case": case, "beside": True, **ratios(found)}
    print(
        f"{case:18}two runs side by side do {row['ratio']:.2f} times the work of one"
        f" ({row['least']:.2f} to {row['most']:.2f})",
        flush=True,
    )
    return row


def ratios(found: list[float]) -> dict[str, float]:
    """Return the median and the range."""
    return {"ratio": statistics.median(found), "least": min(found), "most": max(found)}


def round_trip_ns() -> float:
    """Return the round-trip time of a message between two threads, in ns."""
    return float(subprocess.check_output([build("duetime-units", "cores")], text=True))


def timed(case: str, threads: str) -> tuple[float, dict[str, Any]]:
    """Run a case once; return the seconds of the whole process and the result."""
    scenario, changes = CASES[case]
    options = [option for change in changes for option in ("--set", change)]
    begin = time.perf_counter()
    result = spent(scenario, *options, "--threads", threads).result
    return time.perf_counter() - begin, result


def keep(results: list[dict[str, Any]], note: str) -> None:
    """Append one line to the record of the day."""
    line = {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": round(os.getloadavg()[0], 1),
        "note": note,
        "results": results,
    }
    print()
    append(line, "threads")


if __name__ == "__main__":
    main()
