"""Options that several commands share."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem

from duetime import scenario
from duetime.cli import completion
from duetime.errors import Missing, MistakenCondition

if TYPE_CHECKING:
    from duetime import conditions
    from duetime.contract.runs import Judged, OfTransport
    from duetime.contract.scenarios import Resolved

F = TypeVar("F", bound=Callable[..., object])


class Whole(click.IntRange):
    """A whole number in a range; click calls one an integer range."""

    name = "whole number"


class Number(click.FloatRange):
    """A finite number in a range; click takes nan, which is in every range."""

    name = "number"

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a finite number from the command line."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


FILE = click.argument("file", shell_complete=lambda *_: [CompletionItem("", type="file")])
SEED = click.option(
    "--seed",
    type=Whole(0, scenario.LAST_SEED),
    metavar="N",
    help="Use this random seed instead of the scenario's.",
)
#: A number of seeds.
SEEDS = Whole(1, scenario.MAX_RUNS)
SET = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    shell_complete=completion.keys,
    help="Change a parameter (name=value), a key (section.key=value) or one class (traffic.NAME.key=value). "
    "May be given several times.",
)
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write tables (Parquet) and what --json prints here, in a folder for each run where there are "
    "several; an earlier result is replaced.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")


FAIL_IF = click.option(
    "--fail-if",
    "fail_if",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 3 if this may hold: 'answers.missed_percent > 1' (class and figure as in --json, or a "
    "figure of all). Over several seeds, the end of the 95 % interval that is nearer to failing decides. "
    "May be given several times.",
)
FAIL_IF_CERTAIN = click.option(
    "--fail-if-certain",
    "fail_if_certain",
    multiple=True,
    metavar="CONDITION",
    help="The same, but only if the condition holds over the whole 95 % interval.",
)
JOBS = click.option(
    "--jobs",
    type=Whole(min=1),
    metavar="N",
    help="Number of runs at a time (default: one per core).",
)
THREADS = click.option(
    "--threads",
    metavar="N",
    help="Simulate each run with N threads (run.threads), or with auto: as many as turn out to be faster. "
    "The results are the same; large networks gain from it.",
)


class Memory(click.ParamType[float]):
    """A size of memory, as 8 GB or 500 MiB."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a size from the command line."""
        match = re.fullmatch(r"([\d.]+) *([KMGT]i?)?B", str(value).strip())
        try:
            number = float(match[1]) if match else 0.0
        except ValueError:
            number = 0.0
        if match is None or number <= 0:
            self.fail(f"{value!r} is not a size, as 8 GB.", param, ctx)
        prefix = match[2] or ""
        base = 1024 if prefix.endswith("i") else 1000
        return number * float(base ** " KMGT".index(prefix[:1] or " "))


MAX_MEMORY = click.option(
    "--max-memory",
    type=Memory(),
    metavar="SIZE",
    help="Refuse runs that should need more memory than this, as 8 GB (default: that of the machine).",
)
YES = click.option("--yes", is_flag=True, help="Make the runs, whatever memory they should need.")
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on the workers of this Dask scheduler (tcp://host:8786) instead; needs duetime[cluster].",
)


class Mistake(click.ClickException):
    """Something that the user can mend, in one message."""

    exit_code = 2

    def show(self, file: IO[str] | None = None) -> None:
        """Write it to standard error."""
        print(f"error: {self.message}", file=file or sys.stderr)


def with_threads(changes: tuple[str, ...], threads: str | None) -> tuple[str, ...]:
    """The changes that --set asks for, and what --threads does."""
    return changes if threads is None else (*changes, f"run.threads={threads}")


def simulation(command: F) -> F:
    """Add the options of one run to a command."""
    for option in (JSON, OUT, SET, SEED, FILE):
        command = option(command)
    return command


#: The exit code where a condition of --fail-if holds.
FAILED = 3


def conditions_of(
    fail_if: Iterable[str],
    fail_if_certain: Iterable[str],
    resolved: Resolved,
    transports: Iterable[str],
) -> list[conditions.Condition]:
    """Read conditions before anything is run."""
    # Loaded late: only --fail-if needs it.
    from duetime import conditions

    transports = list(transports)
    try:
        return [conditions.read(text, resolved, transports) for text in fail_if] + [
            conditions.read(text, resolved, transports, certain=True) for text in fail_if_certain
        ]
    except MistakenCondition as mistake:
        raise Mistake(str(mistake)) from None


def judge(given: Iterable[conditions.Condition], runs: Mapping[str, OfTransport]) -> list[Judged]:
    """Hold the objects of `runs`, by transport, against conditions."""
    return [
        condition.hold_against(transport, run)
        for condition in given
        for transport, run in runs.items()
        if condition.transport in (None, transport)
    ]


def tell_failed(limits: Iterable[Judged]) -> int:
    """Name the conditions that hold on standard error; give the exit code."""
    failed = [each for each in limits if each["failed"]]
    if not failed:
        return 0
    # Loaded late: only --fail-if needs it.
    from duetime.conditions import sentence

    for each in failed:
        print(f"failed: {sentence(each)}", file=sys.stderr)
    return FAILED


def need_tables() -> None:
    """See that Parquet can be written, so that this is known before anything is run; else `Missing`."""
    from duetime.frames import pl  # noqa: F401


def tell_left_out(*modules: str) -> None:
    """Say which files were not written, since the library of one of our modules is missing."""
    for name in modules:
        try:
            import_module(name)
        except Missing as error:
            print(f"note: left out: {error}", file=sys.stderr)


def read(file: str) -> scenario.Scenario:
    """Read FILE; ``-`` is standard input."""
    return scenario.read_stdin() if file == "-" else scenario.read_file(Path(file))


def tell_notes(notes: Iterable[str]) -> None:
    """Write notes on a scenario to standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def tell_notes_of(notes: Mapping[str, list[str]]) -> None:
    """Write the notes on a scenario under several transports; a note that holds for all of them only once."""
    for_all = [
        note for note in next(iter(notes.values()), []) if all(note in each for each in notes.values())
    ]
    tell_notes(for_all)
    for transport, each in notes.items():
        tell_notes(_named(transport, note) for note in each if note not in for_all)


def _named(transport: str, note: str) -> str:
    """Say which transport it is about, unless the note does."""
    return note if note.startswith(f"{transport}: ") else f"{transport}: {note}"
