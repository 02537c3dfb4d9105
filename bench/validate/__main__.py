"""Print the tables; exit with 1 where a closed form is outside of its tolerance.

python -m validate [--closed-forms] [--record DIR] [NAME ...]
"""

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duetime
from validate import beside, ns3
from validate.checks import CHECKS


def main() -> None:
    """Run what is asked for."""
    arguments = argparse.ArgumentParser(prog="validate", description="Hold duetime against what it must be.")
    arguments.add_argument(
        "names", nargs="*", metavar="NAME", help="only these closed forms, or setups of ns-3"
    )
    arguments.add_argument("--closed-forms", action="store_true", help="leave ns-3 out")
    arguments.add_argument("--record", type=Path, metavar="DIR", help="keep what was found for the page")
    chosen = arguments.parse_args()
    known = [*CHECKS, *(path.stem for path in sorted(beside.SETUPS.glob("*.toml")))]
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        arguments.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    begun = time.monotonic()
    good = closed_forms(chosen.names, chosen.record)
    if not chosen.closed_forms:
        beside_ns3(chosen.names, chosen.record)
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(0 if good else 1)


def closed_forms(names: list[str], record: Path | None) -> bool:
    """Print every check; whether all hold."""
    found = []
    for name, checks in CHECKS.items():
        if names and name not in names:
            continue
        for check in checks():
            found.append({"of": name} | asdict(check) | {"holds": check.holds})
            verdict = "holds" if check.holds else "FAILS"
            print(f"{verdict}  {name}: {check.what}: {check.measured:.6g} for {check.expected:.6g}", end="")
            print(f" +- {check.tolerance:.3g} {check.unit}".rstrip(), flush=True)
    write(record, "closed-forms", found)
    return all(check["holds"] for check in found)


def beside_ns3(names: list[str], record: Path | None) -> None:
    """Print the comparison, or why there is none."""
    setups = [name for name in names if name not in CHECKS]
    if names and not setups:
        return
    found = []
    apart = []
    try:
        if not setups or "incast" in setups:
            for step in beside.steps():
                apart.append(asdict(step))
                print(f"incast, {step.simulator}, {step.what}: {step.drops:.1f} drops a query", end="")
                print(f", {step.missed:.1f} % late", flush=True)
        for line in beside.compare(setups):
            found.append(line)
            mark = " " if line.agrees else "*"
            print(
                f"{mark} {line.setup}, {line.transport}, ns-3 {line.side}: {line.of}: {line.figure}: ", end=""
            )
            print(
                f"{line.ours:.4g} and {line.theirs:.4g}, {line.difference:+.3g} +- {line.half:.2g}",
                flush=True,
            )
    except ns3.Absent as why:
        print(f"SKIPPED: ns-3: {why}")
        return
    write(record, "ns3", beside.recorded(found))
    write(record, "incast", apart)


def write(record: Path | None, name: str, rows: list[dict[str, Any]]) -> None:
    """Keep rows, with what made them."""
    if record is not None:
        record.mkdir(parents=True, exist_ok=True)
        kept = {"version": duetime.__version__, "rows": rows}
        (record / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
