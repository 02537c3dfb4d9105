"""Print the tables; exit with 1 where a closed form is outside of its tolerance.

python -m validate [--closed-forms] [--transport T] [--seeds N] [--htsim TREE] [--record DIR] [NAME ...]
"""

import argparse
import resource
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import duetime
from duetime import rowtable
from validate import beside, htsim
from validate.arrivals import Absent
from validate.checks import CHECKS


def main() -> None:
    """Run the validations that the arguments select."""
    arguments = argparse.ArgumentParser(prog="validate", description="Hold duetime against what it must be.")
    arguments.add_argument(
        "names", nargs="*", metavar="NAME", help="only these closed forms, or setups of ns-3"
    )
    arguments.add_argument("--closed-forms", action="store_true", help="leave ns-3 out")
    arguments.add_argument(
        "--transport",
        action="append",
        choices=beside.TRANSPORTS,
        help="beside ns-3 only this one; may be repeated",
    )
    arguments.add_argument(
        "--seeds", type=int, metavar="N", help="beside ns-3 so many seeds of every setup (the page's record)"
    )
    arguments.add_argument("--htsim", type=Path, metavar="TREE", help="where csg-htsim is, built")
    arguments.add_argument("--record", type=Path, metavar="DIR", help="keep what was found for the page")
    chosen = arguments.parse_args()
    known = [*CHECKS, *beside.SEEDS, htsim.SETUP.stem]
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        arguments.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    begun = time.monotonic()
    good = closed_forms(chosen.names, chosen.record)
    if not chosen.closed_forms:
        beside_ns3(chosen)
    if chosen.htsim is not None and (not chosen.names or htsim.SETUP.stem in chosen.names):
        beside_htsim(chosen.htsim, chosen.record)
    spent = cpu_seconds()
    print(f"{time.monotonic() - begun:.0f} s, {spent:.0f} s of CPU")
    if not chosen.names:
        write(chosen.record, "cost", [{"cpu_s": round(spent)}])
    sys.exit(0 if good else 1)


def cpu_seconds() -> float:
    """Return the processor time of this process and its children, in s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def closed_forms(names: Collection[str], record: Path | None) -> bool:
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
    write(record, "closed-forms", found, ("of",))
    return all(check["holds"] for check in found)


def beside_ns3(chosen: argparse.Namespace) -> None:
    """Print the comparison, or why there is none."""
    setups = [name for name in chosen.names if name in beside.SEEDS]
    transports = chosen.transport or beside.TRANSPORTS
    if chosen.names and not setups:
        return
    try:
        for name, (setup, transport, _) in beside.STEPS.items():
            if (not setups or setup in setups) and transport in transports and chosen.seeds is None:
                write(chosen.record, name, [tell_step(setup, step) for step in beside.steps(name)])
        found = beside.recorded(map(tell, beside.compare(setups, transports, chosen.seeds)))
        write(chosen.record, "ns3", found, ("setup", "transport"))
    except Absent as why:
        print(f"SKIPPED: ns-3: {why}")


def beside_htsim(tree: Path, record: Path | None) -> None:
    """Print the comparison, or why there is none."""
    try:
        write(record, "htsim", beside.recorded(map(tell, htsim.compare(tree))))
        write(record, "htsim-dctcp", [tell_step(htsim.SETUP.stem, step) for step in htsim.steps(tree)])
    except Absent as why:
        print(f"SKIPPED: csg-htsim: {why}")


def tell_step(setup: str, step: beside.Step) -> dict[str, Any]:
    """Print it, and give it as JSON."""
    print(f"{setup}, {step.simulator}, {step.what}: {step.drops:.1f} drops and {step.timeouts:.1f}", end="")
    print(f" timeouts a query, {step.missed:.1f} % late, {step.queue:.1f} packets waiting", flush=True)
    return asdict(step)


def tell(line: beside.Line) -> beside.Line:
    """Print it, and give it."""
    print(f"{line.verdict:7}  {line.setup}, {line.transport}, {line.side}: ", end="")
    print(f"{line.of}: {line.figure}: {line.ours:.4g} and {line.theirs:.4g}, ", end="")
    print(f"{line.difference:+.3g} +- {line.half:.2g} ({line.seeds} seeds)", flush=True)
    return line


def write(record: Path | None, name: str, rows: list[dict[str, Any]], by: Sequence[str] = ()) -> None:
    """Write rows as NAME.csv, each with the version; rows of other parts stay, told apart by `by`."""
    if record is None or not rows:
        return
    record.mkdir(parents=True, exist_ok=True)
    file = record / f"{name}.csv"
    rows = [row | {"version": duetime.__version__} for row in rows]
    if by and file.exists():
        before = rowtable.read(file.read_text(encoding="utf-8"))
        parts = grouped(before, by) | grouped(rows, by)
        rows = sorted(chain.from_iterable(parts.values()), key=lambda row: str(row[by[0]]))
    file.write_text(rowtable.written(rows), encoding="utf-8")


def grouped(rows: list[dict[str, Any]], by: Sequence[str]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the rows of each part, with the parts in order of their first row."""
    parts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(tuple(row[key] for key in by), []).append(row)
    return parts


if __name__ == "__main__":
    main()
