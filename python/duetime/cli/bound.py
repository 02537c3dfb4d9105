"""The command `duetime bound`."""

from __future__ import annotations

import json
import sys

import click

from duetime.cli import options
from duetime.run import foresee


@click.command(short_help="Say how few deadlines any schedule can miss.")
@options.FILE
@options.SEED
@options.SET
@options.JSON
def bound(file: str, seed: int | None, changes: tuple[str, ...], as_json: bool) -> None:
    """Say how few deadlines any schedule of FILE's messages (- for standard input) can miss.

    Nothing is simulated. The schedule knows all messages in advance, and is limited by the hosts' links
    alone.
    """
    foresight, notes = foresee(options.read(file), seed, changes, None)
    options.tell_notes(notes)
    if as_json:
        sys.stdout.write(json.dumps(foresight, separators=(",", ":"), ensure_ascii=False) + "\n")
        return
    # Loaded late: it takes time to load, and with --json no table is shown.
    from duetime.display import bounds, terminal

    if foresight["bound"]:
        terminal.present(bounds.table(f"{foresight['title']}: seed {foresight['seed']}", foresight["bound"]))
    else:
        words = f"{foresight['title']}: no message that counts has a deadline"
        terminal.say(terminal.console(), words, indent="")
