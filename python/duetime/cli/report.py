"""The command `duetime report`."""

from __future__ import annotations

from pathlib import Path

import click

from duetime.cli import options
from duetime.errors import NoReport


@click.command(short_help="Write one HTML page about a result.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the page here (default: report.html in DIR).",
)
@options.QUIET
def report(folder: Path, out: Path | None) -> None:
    """Write one HTML page about the results in DIR. It needs no network and may be sent to others.

    DIR is what `duetime reproduce`, `sweep`, `tighten`, `capacity`, `need`, `robust`, `estimate`, `compare`
    or `run` wrote with --out.
    """
    # Loaded late: --help needs no pages.
    from duetime.report import report as write

    try:
        written = write(folder, out)
    except NoReport as error:
        raise options.Mistake(str(error)) from None
    if not options.quiet():
        print(written)
