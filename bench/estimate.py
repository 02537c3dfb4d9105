"""Hold `duetime estimate` against full runs of large networks, and measure what both cost.

    python bench/estimate.py [CASE ...]                measure, print, append to bench/record/
    python bench/estimate.py --recorded [CASE ...]     against the full runs that the record has

Cost is CPU time of this process. The simulations of links start from an empty folder. A recorded full run
serves as long as the engine gives the same results; its time is of the machine and the engine that it was
made with.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duetime
from duetime.estimates import summary
from duetime.functions import BUDGET

HERE = Path(__file__).resolve().parent
RECORD = HERE / "record"


@dataclass(frozen=True)
class Case:
    """A scenario of `bench/estimate/` and changes of it."""

    file: str
    changes: tuple[str, ...]


#: Half of the scenario's time, as the full run takes long.
SHORTER = ("run.duration=50 ms", "run.warm_up=10 ms")
HOSTS_PER_LEAF = 32


def _search(hosts: int, transport: str, load: float) -> Case:
    changes = (f"leaves={hosts // HOSTS_PER_LEAF}", f"transport.name={transport}", f"load={load}")
    return Case("search", (*changes, *SHORTER))


CASES = {
    "2048 hosts, as written": Case("search", ()),
    **{
        f"{hosts} hosts, {name}, load {load}": _search(hosts, name, load)
        for hosts in (2048, 256)
        for name in ("dctcp", "d2tcp")
        for load in (0.3, 0.5)
    },
    "incast": Case("incast", ()),
}


def main() -> None:
    """Measure, as the command line says."""
    parser = argparse.ArgumentParser(description="Hold estimates against full runs.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument(
        "--recorded", action="store_true", help="take full runs from the record, and make none"
    )
    arguments = parser.parse_args()
    for name in arguments.cases or CASES:
        result = against_recorded(name) if arguments.recorded else measured(CASES[name])
        print(json.dumps(kept(name, result), indent=1))


def against_recorded(name: str) -> dict[str, Any]:
    """An estimate beside the last full run of its case that the record has."""
    lines = (line for file in sorted(RECORD.glob("*-estimate.jsonl")) for line in file.open(encoding="utf-8"))
    of_case = [each for each in map(json.loads, lines) if each["case"] == name]
    if not of_case:
        raise SystemExit(f"{name}: the record has no full run of it")
    full = of_case[-1]["full"]
    return compared(CASES[name], full, full["cpu_s"], full["packet_hops"])


def measured(case: Case) -> dict[str, Any]:
    """A full run and an estimate."""
    file = HERE / "estimate" / f"{case.file}.toml"
    begun = time.process_time()
    run = duetime.run(file, set=case.changes, progress=False)
    took = time.process_time() - begun
    figures = summary.figures(run.flows.filter("counted"))
    return compared(case, figures, took, run.data["packet_hops"])


def compared(case: Case, full: dict[str, Any], took: float, packet_hops: int) -> dict[str, Any]:
    """An estimate beside the figures of a full run."""
    file = HERE / "estimate" / f"{case.file}.toml"
    with tempfile.TemporaryDirectory() as folder:
        found = duetime.estimate(
            file, out=folder, set=case.changes, budget=BUDGET, always=True, jobs=1, progress=False
        ).data
    return {
        "set": case.changes,
        "links": found["links"],
        "warnings": found["warnings"],
        "full": {**full, "cpu_s": took, "packet_hops": packet_hops},
        "estimate": {"cpu_s": found["cpu_s"], **{key: found[key] for key in full if key in found}},
        "ranges": found["ranges"],
        "errors": summary.errors(found["summary"], full["summary"]),
        "faster": took / found["cpu_s"],
    }


def kept(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Append a result to the record."""
    now = datetime.now(UTC)
    record = {
        "at": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "version": duetime.__version__,
        "measure": "estimates against full runs",
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "case": name,
        **result,
    }
    path = RECORD / f"{now:%Y-%m-%d}-estimate.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(rounded(record), separators=(",", ":")) + "\n")
    return record


def rounded(value: Any) -> Any:
    """Return a value of the record, each float in it with six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
