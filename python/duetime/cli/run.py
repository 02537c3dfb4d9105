"""The command `duetime run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from duetime import costs, files
from duetime import transports as selection
from duetime.cli import completion, options
from duetime.engine.progress import bar
from duetime.run import made, resolve, simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from duetime.conditions import Condition
    from duetime.contract.runs import OfTransport
    from duetime.scenario import Scenario


@click.command(short_help="Simulate a scenario.")
@options.simulation
@click.option(
    "--transport",
    metavar="NAME",
    shell_complete=completion.names("transports"),
    help="Use this transport instead of the one in [transport]. Keys there that only others have are "
    "ignored, with a note; classes with a transport of their own keep it.",
)
@click.option(
    "--seeds",
    type=options.Whole(1),
    metavar="N",
    help="Run with N seeds, counted up from the scenario's; every figure becomes a mean with its 95 % "
    "confidence interval.",
)
@options.JOBS
@options.THREADS
@options.FAIL_IF
@options.FAIL_IF_CERTAIN
@options.MAX_MEMORY
@options.YES
def run(
    file: str,
    seed: int | None,
    changes: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    transport: str | None,
    seeds: int | None,
    jobs: int | None,
    threads: str | None,
    fail_if: tuple[str, ...],
    fail_if_certain: tuple[str, ...],
    max_memory: float | None,
    yes: bool,
) -> int:
    """Simulate the scenario in FILE (- for standard input)."""
    read = options.read(file)
    changes = options.with_threads(changes, threads)
    if transport is not None:
        [transport] = selection.located([transport], read.folder)
    conditions = []
    if fail_if or fail_if_certain:
        resolved, _ = resolve(read, seed, changes, transport)
        named = [str(resolved["transport"]["name"])] if "transport" in resolved else []
        conditions = options.conditions_of(fail_if, fail_if_certain, resolved, named)
    form = "json" if as_json else "csv" if as_csv else "table"
    if seeds is not None:
        allowed = (max_memory, yes)
        return _over_seeds(read, seed, changes, out, form, transport, seeds, jobs, conditions, allowed)
    if out is not None:
        resolve(read, seed, changes, transport)
        options.need_tables()
        files.check(out)
    if (limit := costs.limit(max_memory, yes)) is not None:
        costs.afford(costs.cost(read, seed, changes, transport), limit, out=out is not None)
    try:
        with bar(1, not options.quiet()) as shown:
            if out is None:
                result = simulate(read, seed, changes, transport, shown.follow(0), rows=False)
            else:
                result = made(read, seed, changes, transport, shown.follow(0), out)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "nothing was kept" if out is None else f"nothing was written to {out}"
        ) from None
    options.tell_notes(result.notes)
    limits = options.judge(conditions, {result.transport: result.data})
    if as_json:
        with_limits = {**result.data, "limits": limits}
        text = json.dumps(with_limits, separators=(",", ":"), ensure_ascii=False) if limits else result.json()
        sys.stdout.write(text + "\n")
    elif as_csv:
        _print_rows(result.data)
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import runs, terminal

        terminal.present(runs.table(result))
    if out is not None:
        options.tell(f"Saved in {out}")
    return options.tell_failed(limits)


def _over_seeds(
    read: Scenario,
    seed: int | None,
    changes: tuple[str, ...],
    out: Path | None,
    form: str,
    transport: str | None,
    seeds: int,
    jobs: int | None,
    conditions: list[Condition],
    allowed: tuple[float | None, bool],
) -> int:
    """Run with several seeds: a comparison of one transport, of which the object of that one is printed."""
    # Loaded late: one run needs no comparison.
    from duetime.cli import compare
    from duetime.comparison import RUNS, prepare_seeds

    plan = prepare_seeds(read, transport, seeds=seeds, seed=seed, set=changes)
    if (limit := costs.limit(*allowed)) is not None:
        each = costs.cost(read, seed, changes, transport)
        costs.afford(each, limit, runs=seeds, jobs=jobs, rows=True)
    if out is not None:
        options.need_tables()
        files.check(out, keep=RUNS)
    options.tell_notes(note for notes in plan.notes.values() for note in notes)
    comparison = plan.carry_out(jobs, progress=not options.quiet(), store=None if out is None else out / RUNS)
    runs: Mapping[str, OfTransport] = comparison.data["runs"]
    comparison.limits = options.judge(conditions, runs)

    def show() -> None:
        (merged,) = runs.values()
        if form == "json":
            told = {**merged, "limits": comparison.limits} if comparison.limits else merged
            sys.stdout.write(json.dumps(told, separators=(",", ":"), ensure_ascii=False) + "\n")
        elif form == "csv":
            _print_rows(merged)
        else:
            # Loaded late: it takes time to load, and with --json no table is shown.
            from duetime.display import comparisons, terminal

            terminal.present(comparisons.table(comparison))

    return compare.conclude(comparison, seeds, out, show)


def _print_rows(data: OfTransport) -> None:
    # Loaded late: few calls ask for --csv.
    from duetime.tabular import of_run

    options.print_rows(of_run(data))
