"""The command `duetime run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from duetime import costs, files
from duetime.cli import options
from duetime.engine.progress import bar
from duetime.run import made, resolve, simulate


@click.command(short_help="Simulate a scenario.")
@options.simulation
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
    threads: str | None,
    fail_if: tuple[str, ...],
    fail_if_certain: tuple[str, ...],
    max_memory: float | None,
    yes: bool,
) -> int:
    """Simulate the scenario in FILE (- for standard input)."""
    read = options.read(file)
    changes = options.with_threads(changes, threads)
    conditions = []
    if fail_if or fail_if_certain:
        resolved, _ = resolve(read, seed, changes, None)
        named = [str(resolved["transport"]["name"])] if "transport" in resolved else []
        conditions = options.conditions_of(fail_if, fail_if_certain, resolved, named)
    if out is not None:
        resolve(read, seed, changes, None)
        options.need_tables()
        files.check(out)
    if (allowed := costs.limit(max_memory, yes)) is not None:
        costs.afford(costs.cost(read, seed, changes), allowed, out=out is not None)
    try:
        with bar(1) as shown:
            if out is None:
                result = simulate(read, seed, changes, None, shown.follow(0), rows=False)
            else:
                result = made(read, seed, changes, None, shown.follow(0), out)
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
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import runs, terminal

        terminal.present(runs.table(result))
    if out is not None:
        print(f"Saved in {out}", file=sys.stderr)
    return options.tell_failed(limits)
