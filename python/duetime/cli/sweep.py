"""The command `duetime sweep`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from duetime import costs
from duetime.cli import completion, options
from duetime.quantities import counted
from duetime.sweeping import Swept, carry_out, read

if TYPE_CHECKING:
    from duetime.contract.rows import Row


@click.command(short_help="Simulate a scenario at many points.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--against",
    metavar="NAME",
    shell_complete=completion.names("transports"),
    help="What the other transports are compared with, seed by seed (default: the first).",
)
@options.JOBS
@options.CLUSTER
@options.out(
    "Write the tables (Parquet) and sweep.json to this directory, and keep finished runs in it: a sweep that "
    "was stopped resumes, and one that was changed runs only its new points."
)
@options.forms
@options.QUIET
@options.MAX_MEMORY
@options.YES
def sweep(
    file: Path,
    against: str | None,
    jobs: int | None,
    cluster: str | None,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    max_memory: float | None,
    yes: bool,
) -> int:
    """Simulate the points that the sweep in FILE describes.

    A run that fails is reported and does not stop the rest; the exit code is then 1.
    """
    plan = read(file, against)
    options.need_tables()
    costs.afford_points(plan.points, costs.limit(max_memory, yes), jobs=jobs, cluster=cluster)
    with options.workspace(out) as folder:
        swept = carry_out(plan, folder, jobs=jobs, cluster=cluster, progress=not options.quiet())
        _tell_notes(swept)
        _show(swept, as_json, as_csv)
    options.tell_saved(out)
    return _tell_failures(swept)


def _show(swept: Swept, as_json: bool, as_csv: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(swept.record(), indent=2, ensure_ascii=False) + "\n")
    elif as_csv:
        options.print_rows(swept.rows())
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import sweeps, terminal

        terminal.present(sweeps.table(swept))


def _tell_notes(swept: Swept) -> None:
    """Tell the first note of each kind: figures in it differ from point to point."""
    by_transport: dict[str, dict[str, str]] = {}
    for kept in swept.kept:
        known = by_transport.setdefault(kept.point.name or "", {})
        for note in kept.notes:
            known.setdefault(note.rpartition("[")[2] if note.endswith("]") else note, note)
    options.tell_notes_of({name: list(known.values()) for name, known in by_transport.items()})


def _tell_failures(swept: Swept) -> int:
    """Name each reason once, with the first run that failed of it; all of them are in sweep.json."""
    most = 5
    by_reason: dict[str, list[Row]] = {}
    for failure in swept.failures:
        by_reason.setdefault(str(failure["error"]), []).append(failure)
    for reason, failures in list(by_reason.items())[:most]:
        first = failures[0]
        telling = [name for name in (*swept.columns, "transport", "seed") if first[name] is not None]
        named = ", ".join(f"{name} = {first[name]}" for name in telling)
        runs = "1 run" if len(failures) == 1 else f"{len(failures)} runs, first with"
        print(f"failed: {runs} {named}\n{reason}", file=sys.stderr)
    if len(by_reason) > most:
        print(f"{counted(len(by_reason) - most, 'more reason')} in sweep.json", file=sys.stderr)
    return 1 if by_reason else 0
