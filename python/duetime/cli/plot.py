"""The command `duetime plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from duetime.cli import drawing, options
from duetime.errors import NoResults


@click.command(short_help="Draw figures of a result.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@drawing.options("The format of the figures; may be given several times (default: png and svg).")
@click.option(
    "--request",
    metavar="[CLASS:]NUMBER",
    help="The request of stages whose timeline is drawn (default: one of median time).",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the figures to this directory (default: plots in DIR).",
)
@options.QUIET
def plot(folder: Path, request: str | None, out: Path | None, **given: Unpack[drawing.Drawing]) -> None:
    """Draw figures of the results in DIR.

    DIR is what `duetime run`, `compare`, `sweep`, `tighten`, `capacity`, `need`, `robust`, `estimate` or
    `reproduce` wrote with --out, or a directory of traces. It may also be a Parquet file that `d2tcp trace`
    wrote; its figure is written beside it. For a paper: --style paper --format pdf.
    """
    from duetime.plots import plot_dir, plot_trace

    output = drawing.output(given)
    try:
        pictures = (
            plot_trace(folder, out, output)
            if folder.suffix == ".parquet" and folder.is_file()
            else plot_dir(folder, out, request=request, output=output)
        )
    except NoResults as error:
        raise options.Mistake(str(error)) from None
    if not options.quiet():
        for picture in pictures:
            print(picture)
