"""`duetime import`: files of other simulators as a scenario."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from duetime import _core, files
from duetime.cli import options
from duetime.imports import FORMATS, Options, bring


@click.command(name="import", short_help="Write a scenario from files of other simulators.")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default="scenario.toml",
    show_default=True,
    metavar="SCENARIO",
    help="The scenario to write; lists of messages are written beside it.",
)
@click.option(
    "--as",
    "forced",
    type=click.Choice([each.name for each in FORMATS]),
    help="Read every FILE in this format; without it the content decides.",
)
@click.option(
    "--scale", metavar="SIZE", help='A value of 1 in a distribution: "1 B", or "1460 B" for packets.'
)
@click.option(
    "--steps/--no-steps", default=None, help="Draw only the values of a distribution, or between them too."
)
@click.option(
    "--start-unit",
    type=click.Choice(["ps", "us"]),
    help="The unit of starts in a connection matrix of htsim.",
)
@options.QUIET
def import_(
    paths: tuple[Path, ...],
    out: Path,
    forced: str | None,
    scale: str | None,
    steps: bool | None,
    start_unit: str | None,
) -> None:
    """Write a scenario from topologies, flows and distributions of other simulators.

    The content of a FILE says its format. Standard error reports the parts that were read, and those without
    a meaning here. A mistake is refused with its place, and no existing file is overwritten.

    \b
    duetime import fat.txt flow.txt -o fat.toml
    duetime import perm_16n.cm -o perm.toml
    duetime import search.txt --scale "1442 B" -o search.toml
    """
    if out.suffix != ".toml":
        raise options.Mistake(f"{out}: the name of a scenario ends in .toml")
    found = bring(list(paths), out, Options(scale, steps, start_unit), forced)
    texts = {**found.written.beside, out.name: found.written.text}
    targets = {out.parent / name: content.encode() for name, content in texts.items()}
    for path in targets:
        if path.exists():
            raise options.Mistake(f"{path} exists already and is left as it is; choose another name with -o")
    if not out.parent.is_dir():
        raise options.Mistake(f"{out.parent}: there is no such folder")
    made = []
    try:
        for path, content in targets.items():
            files.create(path, content)
            made.append(path)
        # The scenario must be valid as it is written.
        _, notes, _ = _core.check(found.written.text, str(out), str(out.parent))
    except BaseException as error:
        for path in made:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno not in files.FULL:
            raise options.Mistake(f"{out} cannot be written: {error.strerror}") from None
        raise
    if not options.quiet():
        for note in [*found.notes, *notes]:
            print(note, file=sys.stderr)
        print(f"Wrote {', '.join(str(path) for path in made)}. Next: duetime run {out}")
