"""`duetime compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from duetime import files
from duetime.cli import options
from duetime.compare import Comparison, prepare


@click.command(short_help="Simulate a scenario under several transports.")
@options.simulation
@click.option(
    "--transports",
    required=True,
    metavar="NAMES",
    help="Which to compare, separated by commas: tcp,dctcp,d2tcp. Each replaces the name in [transport]; "
    "classes with a transport of their own keep it.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run each with N seeds; every figure becomes a mean with its 95 % confidence interval.",
)
@options.JOBS
def compare(
    file: str,
    seed: int | None,
    changes: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    transports: str,
    seeds: int | None,
    jobs: int | None,
) -> None:
    """Simulate the scenario in FILE (- for standard input) under several transports."""
    names = [name.strip() for name in transports.split(",") if name.strip()]
    plan = prepare(options.read(file), names, seeds=seeds, seed=seed, set=changes)
    if out is not None:
        files.check(out)
    options.tell_notes_of(plan.notes)
    comparison = plan.carry_out(jobs, progress=True)
    if comparison.by_seed:
        _deliver(comparison, out, as_json)
    if comparison.interrupted:
        raise KeyboardInterrupt(_kept(comparison, len(plan.tasks), out))


def _deliver(comparison: Comparison[Any], out: Path | None, as_json: bool) -> None:
    if out is not None:
        comparison.save(out)
    if as_json:
        sys.stdout.write(comparison.json() + "\n")
    else:
        from duetime.cli import show

        show.comparison(comparison)
    if out is not None:
        print(f"Saved in {out}", file=sys.stderr)


def _kept(comparison: Comparison[Any], runs: int, out: Path | None) -> str:
    finished = sum(len(results) for results in comparison.by_seed.values())
    if finished == 0:
        return "no run was finished, nothing was kept"
    where = "printed above" if out is None else f"printed above and saved in {out}"
    return f"{finished} of {runs} runs were finished and are {where}"
