"""The command `duetime compare`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from duetime import costs, files
from duetime.cli import completion, options
from duetime.comparison import RUNS, AnyComparison, prepare
from duetime.quantities import counted


@click.command(short_help="Simulate a scenario under several transports.")
@options.simulation
@click.option(
    "--transports",
    metavar="NAMES",
    shell_complete=completion.transports,
    help="Which to compare, separated by commas: names, paths of plug-ins, each perhaps with settings of its "
    "keys: dctcp,d2tcp,d2tcp:d_cap=4,mine.wasm. Each replaces the name in [transport]; classes with a "
    f"transport of their own keep it {options.TRANSPORTS_DEFAULT}.",
)
@click.option(
    "--against",
    metavar="NAME",
    shell_complete=completion.names("transports"),
    help="What the others are compared with, seed by seed (default: the first of the transports).",
)
@click.option(
    "--seeds",
    type=options.Whole(1),
    metavar="N",
    help="Run each with N seeds; every figure becomes a mean with its 95 % confidence interval.",
)
@options.FAIL_IF
@options.FAIL_IF_CERTAIN
@options.JOBS
@options.THREADS
@options.CLUSTER
@options.MAX_MEMORY
@options.YES
def compare(
    file: str,
    seed: int | None,
    changes: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    transports: str | None,
    against: str | None,
    seeds: int | None,
    fail_if: tuple[str, ...],
    fail_if_certain: tuple[str, ...],
    jobs: int | None,
    threads: str | None,
    cluster: str | None,
    max_memory: float | None,
    yes: bool,
) -> int:
    """Simulate the scenario in FILE (- for standard input) under several transports.

    With --out, finished runs are kept in its folder `runs`, and a comparison that was stopped resumes.
    """
    if cluster is not None and out is None:
        raise options.Mistake("--cluster needs --out: the folder in which finished runs are kept")
    read = options.read(file)
    changes = options.with_threads(changes, threads)
    names = options.compared(transports, read, seed, changes)
    allowed = costs.limit(max_memory, yes)
    if names and allowed is not None:
        each = costs.cost(read, seed, changes, names[0])
        many = len(names) * (seeds or 1)
        costs.afford(each, allowed, runs=many, jobs=jobs, cluster=cluster, rows=True)
    plan = prepare(read, names, seeds=seeds, seed=seed, set=changes, against=against)
    if jobs is None and threads is not None and isinstance(number := plan.resolved["run"]["threads"], int):
        # No more threads than cores.
        jobs = max(1, (os.cpu_count() or 1) // number)
    conditions = options.conditions_of(fail_if, fail_if_certain, plan.resolved, plan.transports)
    if out is not None:
        options.need_tables()
        files.check(out, keep=RUNS)
    options.tell_notes_of(plan.notes)
    store = None if out is None else out / RUNS
    comparison = plan.carry_out(jobs, progress=not options.quiet(), store=store, cluster=cluster)
    comparison.limits = options.judge(conditions, comparison.data["runs"])

    def show() -> None:
        if as_json:
            sys.stdout.write(comparison.json() + "\n")
        elif as_csv:
            options.print_rows(comparison.rows())
        else:
            # Loaded late: it takes time to load, and with --json no table is shown.
            from duetime.display import comparisons, terminal

            terminal.present(comparisons.table(comparison))

    return conclude(comparison, len(plan.tasks), out, show)


def conclude(comparison: AnyComparison, runs: int, out: Path | None, show: Callable[[], None]) -> int:
    """Save and show a comparison of `runs` runs; return the exit code, or raise what interrupted it."""
    if comparison.by_seed:
        if out is not None:
            comparison.save(out)
        show()
        if out is not None:
            options.tell(f"Saved in {out}")
    elif out is not None:
        _remove_empty(out)
    if comparison.interrupted:
        raise KeyboardInterrupt(_kept(comparison, runs, out))
    return options.tell_failed(comparison.limits)


def _remove_empty(out: Path) -> None:
    """Leave no folder where nothing was kept."""
    with suppress(OSError):
        (out / RUNS).rmdir()
        out.rmdir()


def _kept(comparison: AnyComparison, runs: int, out: Path | None) -> str:
    finished = sum(len(results) for results in comparison.by_seed.values())
    if finished == 0:
        return "no run was finished, nothing was kept"
    where = "printed above" if out is None else f"printed above and saved in {out}"
    again = "" if out is None else "; the same command goes on from there"
    return f"{finished} of {counted(runs, 'run')} finished and {where}{again}"
