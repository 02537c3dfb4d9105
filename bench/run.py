"""Measure the simulator's speed on the workloads of `workloads.toml` and their variants.

    python bench/run.py [--rounds N]     measure, print, append to bench/record/
    python bench/run.py --verify         run each workload once and check its results; no timing

The figure is delivered data packets per second of the event loop: `packets_delivered / wall_s` of
`duetime run --json`. Rounds are interleaved, so that a slow phase of the machine affects all workloads, and
the median of the rounds counts. A slow result is not a failure.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
DUETIME = Path(sys.executable).with_name("duetime")
# The tolerance for goodput, since the start of a run and its last answers cost a little.
TOLERANCE = 0.02


def main() -> None:
    """Measure or verify, as the command line says."""
    parser = argparse.ArgumentParser(description="Measure the simulator's speed.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each workload (default 5)")
    parser.add_argument("--verify", action="store_true", help="only check the results of one run each")
    arguments = parser.parse_args()
    plan = tomllib.loads((BENCH / "workloads.toml").read_text(encoding="utf-8"))
    plan["workload"] += varied(plan)
    if arguments.verify:
        verify(plan["workload"])
    else:
        measure(plan, max(1, arguments.rounds))


def varied(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each workload in each variant, with the name of the original workload as `of`."""
    return [
        {
            **workload,
            **variant,
            "name": workload["name"] + variant["suffix"],
            "of": workload["name"],
            "peers": {},
        }
        for variant in plan["variant"]
        for workload in plan["workload"]
    ]


def run_of(workload: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Run a workload or a variant once, and return the result of `simulate`."""
    options = [word for change in workload.get("set", []) for word in ("--set", change)]
    if "append" not in workload:
        return simulate(workload["scenario"], *options)
    text = (ROOT / workload["scenario"]).read_text(encoding="utf-8") + workload["append"]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / f"{workload['name']}.toml"
        scenario.write_text(text, encoding="utf-8")
        return simulate(str(scenario), *options)


def verify(workloads: list[dict[str, Any]]) -> None:
    """Run each workload once; exit with 1 if its results are wrong."""
    wrong = [f"{w['name']}: {problem}" for w in workloads for problem in problems(w, run_of(w)[0])]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{', '.join(w['name'] for w in workloads)}: no drops, goodput as expected")


def problems(workload: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """Return the mistakes in a workload's results."""
    found = []
    if result["drops"] or result["timeouts"]:
        found.append(f"{result['drops']} drops and {result['timeouts']} timeouts, none expected")
    goodput, expected = result["summary"]["goodput_mbps"], workload["goodput_mbps"]
    if abs(goodput / expected - 1) > TOLERANCE:
        found.append(f"goodput {goodput:.1f} Mbit/s, expected {expected:.1f} within {TOLERANCE:.0%}")
    return found


def measure(plan: dict[str, Any], rounds: int) -> None:
    """Measure all workloads, print a table, and append a record."""
    workloads = plan["workload"]
    idle = peak_of_nothing(workloads[0]["scenario"])
    runs: dict[str, list[tuple[dict[str, Any], int]]] = {workload["name"]: [] for workload in workloads}
    for number in range(rounds):
        for workload in workloads:
            watched(f"\rround {number + 1} of {rounds}: {workload['name']} ")
            runs[workload["name"]].append(run_of(workload))
    watched("\r" + " " * 40 + "\r")

    results = {name: figures(of_name, idle) for name, of_name in runs.items()}
    print(
        f"{'':4}{'delivered/s':>12}{'ns per hop':>12}{'events/packet':>15}{'memory':>10}   peers, delivered/s"
    )
    for workload in workloads:
        row = results[workload["name"]]
        peers = ", ".join(f"{peer} {millions(speed)}" for peer, speed in workload["peers"].items())
        if "of" in workload:
            peers = (
                f"{row['wall_s'] / results[workload['of']]['wall_s']:.2f} times the time of {workload['of']}"
            )
        print(
            f"{workload['name']:4}{millions(row['delivered_per_s']):>12}{row['ns_per_hop']:>12.1f}"
            f"{row['events_per_packet']:>15.2f}{row['memory_mb']:>7.1f} MB   {peers}"
        )
    print(f"\nMemory: peak of the process less the {idle / 1e6:.0f} MB that Python and its libraries take.")
    print(plan["caveat"])
    for workload in workloads:
        for problem in problems(workload, runs[workload["name"]][0][0]):
            print(f"Suspicious: {workload['name']}: {problem}")
    keep(results, rounds)


def watched(text: str) -> None:
    """Show progress on a terminal."""
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


def simulate(scenario: str, *options: str) -> tuple[dict[str, Any], int]:
    """Run a scenario; return the output of `--json` and the peak memory of the process in bytes."""
    whole = spent(ROOT / scenario, *options)
    return whole.result, whole.peak_bytes


class Spent(NamedTuple):
    """The result of one run of the command, and the resources of its process."""

    #: The output of `--json`.
    result: dict[str, Any]
    #: Peak memory, in bytes.
    peak_bytes: int
    #: CPU time, user and system.
    cpu_s: float


def spent(scenario: Path, *options: str, program: Path = DUETIME) -> Spent:
    """Run a scenario; exit with a message when that fails."""
    whole = ended([program, "run", scenario, "--json", *options])
    if whole.code:
        sys.exit(f"duetime run {scenario} failed:\n{whole.told}")
    result: dict[str, Any] = json.loads(whole.printed)
    return Spent(result, whole.peak_bytes, whole.cpu_s)


class Ended(NamedTuple):
    """A process that has ended."""

    #: Its exit code, negative for a signal.
    code: int
    printed: str
    told: str
    peak_bytes: int
    #: CPU time of the whole process, in seconds.
    cpu_s: float


def ended(command: Sequence[str | Path], folder: Path | None = None) -> Ended:
    """Run a command to its end, in a folder if one is named."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as told:
        process = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=told)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (printed, told):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    # Linux counts in KiB, macOS in bytes.
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Ended(process.returncode, texts[0], texts[1], peak, usage.ru_utime + usage.ru_stime)


def how_built(program: Path = DUETIME) -> str:
    """Return how the command was compiled, as far as it reports it."""
    asked = [str(program.with_name("python")), "-c", "from duetime import _core; print(_core.profiled())"]
    profiled = subprocess.check_output(asked, text=True).strip() == "True"
    return "with a profile (PGO)" if profiled else "without a profile"


def peak_of_nothing(scenario: str) -> int:
    """Return the peak memory of a run that simulates almost nothing."""
    return simulate(scenario, "--set", "run.duration=1 us")[1]


def figures(runs: list[tuple[dict[str, Any], int]], idle: int) -> dict[str, float]:
    """Return the figures of one workload's rounds."""
    first = runs[0][0]
    wall = statistics.median(result["wall_s"] for result, _ in runs)
    return {
        "delivered_per_s": first["packets_delivered"] / wall,
        "ns_per_hop": wall * 1e9 / first["packet_hops"],
        "events_per_packet": first["events"] / first["packets_delivered"],
        "memory_mb": max(0, max(peak for _, peak in runs) - idle) / 1e6,
        "wall_s": wall,
        "wall_s_fastest": min(result["wall_s"] for result, _ in runs),
        "packets_delivered": first["packets_delivered"],
        "packet_hops": first["packet_hops"],
    }


def keep(results: dict[str, dict[str, float]], rounds: int) -> None:
    """Append one line to the record of the day."""
    append(
        {
            "version": subprocess.check_output([DUETIME, "--version"], text=True).split()[-1],
            "build": how_built(),
            "cpu": cpu(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "rounds": rounds,
            "results": {name: {k: round(v, 4) for k, v in row.items()} for name, row in results.items()},
        }
    )


def append(measured: Mapping[str, Any], kind: str = "") -> None:
    """Append a measurement, with the time and the commit, to the record of the day and of this kind."""
    now = datetime.now(UTC)
    line = {"at": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": commit(), **measured}
    path = BENCH / "record" / f"{now:%Y-%m-%d}{kind and f'-{kind}'}.jsonl"
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as record:
        record.write(json.dumps(line) + "\n")
    print(f"Appended to {path.relative_to(ROOT)}.")


def commit() -> str | None:
    """Return the current commit, with a plus if files differ from it; None outside a repository."""
    git = ["git", "-C", str(ROOT)]
    try:
        name = subprocess.check_output(
            [*git, "rev-parse", "--short=12", "HEAD"], text=True, stderr=subprocess.DEVNULL
        )
        status = [*git, "status", "--porcelain", "--untracked-files=no", "--", ":!bench/record"]
        changed = subprocess.check_output(status, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return name.strip() + ("+" if changed else "")


def cpu() -> str:
    """Return the model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def millions(speed: float) -> str:
    """Return packets per second in millions, with three digits."""
    return f"{speed / 1e6:.3g} M"


if __name__ == "__main__":
    main()
