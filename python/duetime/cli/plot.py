"""The command `duetime plot`."""

from __future__ import annotations

from pathlib import Path

import click

from duetime.cli.options import Mistake
from duetime.errors import NoResults


@click.command(short_help="Draw pictures of a result.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--request",
    metavar="[CLASS:]NUMBER",
    help="The request of stages whose timeline is drawn (default: one of median time).",
)
def plot(folder: Path, request: str | None) -> None:
    """Draw pictures of the results in DIR, beside its tables.

    DIR is what `duetime run`, `compare`, `sweep`, `tighten`, `capacity`, `need`, `robust`, `estimate` or
    `reproduce` wrote with --out, or a folder of traces. It may also be a Parquet file that `d2tcp trace`
    wrote; its picture is written beside it.
    """
    from duetime.plots import plot_dir, plot_trace

    try:
        pictures = (
            plot_trace(folder)
            if folder.suffix == ".parquet" and folder.is_file()
            else plot_dir(folder, request=request)
        )
    except NoResults as error:
        raise Mistake(str(error)) from None
    for picture in pictures:
        print(picture)
