"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from duetime import scenario

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.argument("file")
SEED = click.option(
    "--seed",
    type=click.IntRange(0, scenario.LAST_SEED),
    metavar="N",
    help="Draw everything random from this instead.",
)
SET = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change a parameter (name=value), a key (section.key=value) or one class (traffic.NAME.key=value). "
    "May be given several times.",
)
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write tables (Parquet) and what --json prints here, in a folder for each run where there are "
    "several; a former result is replaced.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")


JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="So many runs at a time (default: one per core)."
)
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on the workers of this Dask scheduler (tcp://host:8786) instead; needs duetime[cluster].",
)


class Mistake(click.ClickException):
    """Something that the user can mend, in one message."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Write it to standard error."""
        print(f"error: {self.message}", file=file or sys.stderr)


def simulation(command: F) -> F:
    """Give a command everything that one run takes."""
    for option in (JSON, OUT, SET, SEED, FILE):
        command = option(command)
    return command


def read(file: str) -> scenario.Scenario:
    """Read FILE; ``-`` is standard input."""
    return scenario.read_stdin() if file == "-" else scenario.read_file(Path(file))


def tell_notes(notes: Iterable[str]) -> None:
    """Write notes on a scenario to standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def tell_notes_of(notes: Mapping[str, list[str]]) -> None:
    """Write the notes on a scenario under several transports; those that hold for all of them once."""
    for_all = [note for note in next(iter(notes.values())) if all(note in each for each in notes.values())]
    tell_notes(for_all)
    for transport, each in notes.items():
        tell_notes(_named(transport, note) for note in each if note not in for_all)


def _named(transport: str, note: str) -> str:
    """Say which transport it is about, unless the note does."""
    return note if note.startswith(f"{transport}: ") else f"{transport}: {note}"
