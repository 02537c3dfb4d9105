"""The command `duetime bound`."""

from __future__ import annotations

import json
import sys

import click

from duetime.cli import options
from duetime.run import foresee
from duetime.tabular import of_bound


@click.command(short_help="Say how few deadlines any schedule can miss.")
@options.FILE
@options.SEED
@options.SET
@options.forms
@options.QUIET
def bound(file: str, seed: int | None, changes: tuple[str, ...], as_json: bool, as_csv: bool) -> None:
    """Say how few deadlines any schedule of FILE's messages (- for standard input) can miss.

    Of requests of several stages, say how few any schedule lets miss a goal. Nothing is simulated. The
    schedule knows everything in advance, and is limited by links alone.
    """
    foresight, notes = foresee(options.read(file), seed, changes, None)
    options.tell_notes(notes)
    if as_json:
        sys.stdout.write(json.dumps(foresight, separators=(",", ":"), ensure_ascii=False) + "\n")
        return
    if as_csv:
        options.print_rows(of_bound(foresight))
        return
    # Loaded late: it takes time to load, and with --json no table is shown.
    from duetime.display import bounds, terminal

    for shown in bounds.tables(foresight):
        terminal.present(shown)
    for words in bounds.without(foresight):
        terminal.say(terminal.console(), words, indent="")
