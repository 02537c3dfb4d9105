"""Count instructions per packet-hop on the workloads of `workloads.toml`, which load does not change.

    python bench/instructions.py [--note TEXT]     build, count, print, append to bench/record/

Each workload runs twice under valgrind's cachegrind, with the engine alone
(`crates/scenario/examples/engine.rs`), for the two lengths in its `counted`. The difference of instructions
over the difference of packet-hops excludes the set-up.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from run import BENCH, ROOT, append, varied

# The settings of releases, whatever a configuration around this folder says.
BUILD = {
    "CARGO_PROFILE_RELEASE_LTO": "thin",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "4",
    "CARGO_INCREMENTAL": "0",
}
TARGET = ROOT / "target" / "counted"
CACHEGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]


def main() -> None:
    """Build the program, count, print and append a record."""
    parser = argparse.ArgumentParser(description="Count instructions per packet-hop.")
    parser.add_argument("--note", default="", help="what is new since the last record")
    note = parser.parse_args().note
    if shutil.which("valgrind") is None:
        sys.exit("bench/instructions.py needs valgrind, which is not installed")
    program = build("duetime-scenario", "engine")
    plan = tomllib.loads((BENCH / "workloads.toml").read_text(encoding="utf-8"))
    workloads = plan["workload"] + varied(plan)
    results = {}
    for workload in workloads:
        (less, few), (more, many) = (count(program, workload, length) for length in workload["counted"])
        results[workload["name"]] = round((more - less) / (many - few), 1)
        print(f"{workload['name']:4}{results[workload['name']]:>8} instructions per packet-hop", flush=True)
    keep({workload["name"]: workload["counted"] for workload in workloads}, results, note)


@cache
def build(package: str, example: str) -> Path:
    """Build an example as an optimized program: the engine alone, or a helper of a benchmark."""
    command = ["cargo", "build", "--release", "--locked", "-p", package, "--example", example]
    subprocess.run([*command, "--target-dir", str(TARGET)], env=os.environ | BUILD, cwd=ROOT, check=True)
    return TARGET / "release" / "examples" / example


def count(program: Path, workload: Mapping[str, Any], duration: str) -> tuple[int, int]:
    """Return the instructions and packet-hops of a run of this length."""
    text = (ROOT / workload["scenario"]).read_text(encoding="utf-8") + workload.get("append", "")
    with tempfile.TemporaryDirectory() as folder:
        counts, scenario = Path(folder) / "counts", Path(folder) / "scenario.toml"
        scenario.write_text(text, encoding="utf-8")
        command = [*CACHEGRIND, f"--cachegrind-out-file={counts}", str(program), str(scenario)]
        changes = [f"run.duration={duration}", *workload.get("set", [])]
        done = subprocess.run([*command, *changes], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{workload['name']} for {duration} failed:\n{done.stderr}")
        summary = next(line for line in counts.read_text().splitlines() if line.startswith("summary:"))
    return int(summary.split()[1]), int(json.loads(done.stdout)["packet_hops"])


def keep(between: dict[str, list[str]], results: dict[str, float], note: str) -> None:
    """Append one line to the record of the day."""
    valgrind = subprocess.check_output(["valgrind", "--version"], text=True).strip().replace("-", " ", 1)
    line = {
        "measure": "instructions per packet-hop",
        "tool": " ".join([valgrind, *CACHEGRIND[1:]]),
        "build": "lto thin, codegen-units 4, the engine alone without Python",
        "between": between,
        "results": results,
        "note": note,
    }
    append(line, "instructions")


if __name__ == "__main__":
    main()
