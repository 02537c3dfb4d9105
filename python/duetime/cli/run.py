"""`duetime run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from duetime import files
from duetime.cli import options
from duetime.progress import bar
from duetime.run import resolve, simulate


@click.command(short_help="Simulate a scenario.")
@options.simulation
def run(file: str, seed: int | None, changes: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Simulate the scenario in FILE (- for standard input)."""
    read = options.read(file)
    if out is not None:
        resolve(read, seed, changes, None)
        files.check(out)
    try:
        with bar(1) as shown:
            result = simulate(read, seed, changes, None, shown.follow(0))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "nothing was kept" if out is None else f"nothing was written to {out}"
        ) from None
    options.tell_notes(result.notes)
    if out is not None:
        result.save(out)
    if as_json:
        sys.stdout.write(result.json() + "\n")
    else:
        from duetime.cli import show

        show.result(result)
    if out is not None:
        print(f"Saved in {out}", file=sys.stderr)
