"""The command `duetime estimate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from duetime.cli import options
from duetime.functions import BUDGET
from duetime.functions import estimate as link_by_link
from duetime.tabular import of_estimate

#: More packet-hops than a run can have, in millions.
MOST = 1e12


@click.command(short_help="Estimate a large network link by link.")
@click.argument("file", type=click.Path(path_type=Path))
@options.SEED
@options.SET
@click.option(
    "--check",
    "budget",
    type=options.Number(min=0),
    default=BUDGET / 1e6,
    show_default=True,
    metavar="N",
    help="Correct it by a full run of the same network in the largest size that takes at most N million "
    "packet-hops, and state ranges; 0 leaves this out.",
)
@click.option(
    "--always",
    is_flag=True,
    help="Estimate also where a full run is expected to cost less, which is otherwise made instead.",
)
@options.JOBS
@options.out(
    "Write estimate.json and messages.parquet to this directory, and keep finished simulations in it: a "
    "command that was stopped resumes."
)
@options.forms
@options.QUIET
def estimate(
    file: Path,
    seed: int | None,
    changes: tuple[str, ...],
    budget: float,
    always: bool,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Estimate slowdown by size and missed deadlines of FILE from simulations of single links.

    For networks too large to simulate. Each link is simulated alone with the messages that cross it; of
    links with similar traffic only some are simulated. The delays of a message at the links of its path are
    added up. A full run of the same network in a smaller size corrects the estimate. Each figure has a range
    that held in nine of ten networks. Where a full run costs less, it is made instead.
    """
    options.need_tables()
    with options.workspace(out) as folder:
        try:
            found = link_by_link(
                file,
                out=folder,
                set=list(changes),
                seed=seed,
                budget=round(min(budget, MOST) * 1e6),
                always=always,
                jobs=jobs,
                progress=not options.quiet(),
            )
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(str(error) or _kept(folder / "runs")) from None
    options.tell_notes(found.data["notes"])
    for warning in found.data["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    if as_json:
        sys.stdout.write(json.dumps(found.data, separators=(",", ":"), ensure_ascii=False) + "\n")
    elif as_csv:
        options.print_rows(of_estimate(found.data))
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import estimates, terminal

        terminal.present(estimates.table(found))
    options.tell_saved(out)
    return 0


def _kept(runs: Path) -> str:
    """Say whether results remain when the command is stopped between simulations."""
    some = any(runs.glob("*/*.json"))
    return f"finished simulations are kept in {runs}" if some else "nothing was kept"
