"""The command `duetime robust`."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import click

from duetime import costs, files
from duetime import transports as selection
from duetime.cli import completion, options
from duetime.engine.points import Point
from duetime.errors import Missing
from duetime.robustness import VARIANTS, Robustness
from duetime.robustness import robust as vary
from duetime.run import resolve_each
from duetime.scenario import read_file
from duetime.tabular import of_variants


@click.command(short_help="See how far a comparison's conclusion reaches.")
@click.argument("file", type=click.Path(path_type=Path))
@options.SEED
@options.SET
@click.option(
    "--transports",
    metavar="NAMES",
    shell_complete=completion.transports,
    help="Two or more, separated by commas; the first is compared with each of the others "
    f"{options.TRANSPORTS_DEFAULT}.",
)
@click.option(
    "--variants",
    type=options.Whole(min=2),
    default=VARIANTS,
    show_default=True,
    metavar="N",
    help="At most this many: the scenario as written, each other value alone, then pairs drawn at random.",
)
@options.JOBS
@options.CLUSTER
@options.MAX_MEMORY
@options.YES
@options.out(
    "Write robust.json and a figure to this directory, and keep finished runs in it: a command that was "
    "stopped resumes."
)
@options.forms
@options.QUIET
def robust(
    file: Path,
    seed: int | None,
    changes: tuple[str, ...],
    transports: str | None,
    variants: int,
    jobs: int | None,
    cluster: str | None,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    max_memory: float | None,
    yes: bool,
) -> int:
    """Vary the details a description of FILE leaves unspecified, and report where the ranking changes.

    It varies the profile, recovery, the initial RTO, the RTO floor, delayed ACKs, the initial window and the
    window floor. Of the network and its traffic it varies buffer sharing, host queue, host jitter, answer
    jitter, phase and seed. First each is varied alone, then in pairs drawn with the scenario's seed.
    """
    read = read_file(file)
    names = options.compared(transports, read, seed, changes)
    checked = resolve_each(read, seed, changes, names)
    options.tell_notes_of({selection.label(name): notes for name, (_, notes) in checked.items()})
    written = [Point(read, changes, name) for name in names]
    allowed = costs.limit(max_memory, yes)
    costs.afford_points(written, allowed, runs=variants * len(names), jobs=jobs, cluster=cluster)
    if out is not None:
        options.tell_left_out("duetime.plots")
    with options.workspace(out) as folder:
        found = vary(
            file,
            names,
            out=folder,
            set=list(changes),
            seed=seed,
            many=variants,
            jobs=jobs,
            cluster=cluster,
            progress=not options.quiet(),
        )
        if out is not None:
            with suppress(Missing):
                picture(found, folder)
    _show(found, as_json, as_csv)
    options.tell_saved(out)
    failed = {each.error for each in found.outcomes if each.error is not None}
    for error in sorted(failed):
        print(f"failed: {error}", file=sys.stderr)
    return 1 if failed else 0


def _show(found: Robustness, as_json: bool, as_csv: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(found.record(), indent=1, ensure_ascii=False) + "\n")
    elif as_csv:
        options.print_rows(of_variants(found.record()))
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import terminal
        from duetime.display import variants as display

        terminal.present(display.table(found))


def picture(found: Robustness, folder: Path) -> None:
    """Draw it beside its record."""
    from duetime.plots import robust as plot
    from duetime.plots import save, style

    with style.context():
        figure = plot.draw(found.record())
        style.settle(figure)
        pictures = {kind: folder / f"robust.{kind}" for kind in ("png", "svg")}
        with files.sealing(folder, ["robust.json", *(path.name for path in pictures.values())]):
            for path in pictures.values():
                save(figure, path)


__all__ = ["picture", "robust"]
