"""Options that several commands share."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, ClassVar, TypeVar

import click
from click.shell_completion import CompletionItem

from duetime import scenario
from duetime import transports as selection
from duetime.cli import completion
from duetime.errors import Missing, MistakenCondition
from duetime.run import resolve

if TYPE_CHECKING:
    from duetime import conditions
    from duetime.contract.rows import Row
    from duetime.contract.runs import Judged, OfTransport
    from duetime.contract.scenarios import Resolved

F = TypeVar("F", bound=Callable[..., object])


class Whole(click.IntRange):
    """A whole number in a range; click calls one an integer range."""

    name = "whole number"


class Measure(click.ParamType[float]):
    """A number with a unit, as a multiple of the unit whose factor is 1."""

    #: The factors of the units.
    UNITS: ClassVar[Mapping[str, float]]
    #: Texts that it reads.
    EXAMPLES: ClassVar[str]

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number with its unit from the command line."""
        match = re.fullmatch(rf"\s*(\d+(?:\.\d*)?|\.\d+)\s*({'|'.join(self.UNITS)})\s*", str(value))
        if match is None:
            self.fail(f"{value!r} is not a {self.name} like {self.EXAMPLES}", param, ctx)
        return float(match[1]) * self.UNITS[match[2]]


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


def out(words: str) -> Callable[[F], F]:
    """Return the option for the folder of results; without it nothing is written."""
    return click.option(
        "-o",
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help=f"{words} Without it nothing is written.",
    )


OUT = out(
    "Write tables (Parquet) and the object of --json to this directory, one directory per run if there are "
    "several; an earlier result is replaced."
)


def one_form(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    """Refuse --json beside --csv."""
    both = {"as_json": "as_csv", "as_csv": "as_json"}
    if value and context.params.get(both[str(parameter.name)]):
        raise click.UsageError("--json and --csv exclude each other", context)
    return value


JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=one_form,
    help="Print one JSON object instead of a table.",
)
CSV = click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    callback=one_form,
    help="Print comma-separated values instead of a table: one row per line, all digits.",
)


def forms(command: F) -> F:
    """Add --json and --csv to a command."""
    return JSON(CSV(command))


def _set_quiet(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta[QUIET_KEY] = value
    return value


#: Where the context keeps whether a command is quiet.
QUIET_KEY = "duetime.quiet"
QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="Print the result and errors only: no progress, no notes, no names of files.",
)


def quiet() -> bool:
    """Return whether the running command is to print results and errors only."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET_KEY))


@contextmanager
def workspace(out: Path | None) -> Iterator[Path]:
    """Yield the directory of finished runs: `out`, or one that is removed in the end.

    The message after Ctrl-C names the directory that is kept.
    """
    if out is not None:
        yield out
        return
    with TemporaryDirectory(prefix="duetime-") as aside:
        try:
            yield Path(aside) / "results"
        except KeyboardInterrupt:
            raise KeyboardInterrupt("nothing was kept; with --out the same command resumes") from None


def tell_saved(out: Path | None) -> None:
    """Say where the result is, or how to keep it."""
    tell("Not saved: --out DIR keeps the results." if out is None else f"Saved in {out}")


def tell(line: str) -> None:
    """Write a line beside the result, on standard error, unless the command is quiet."""
    if not quiet():
        print(line, file=sys.stderr)


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
    "-j",
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
    for option in (QUIET, CSV, JSON, OUT, SET, SEED, FILE):
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
    """Say before a command starts which files it will not write, since a library is missing."""
    for name in modules:
        try:
            import_module(name)
        except Missing as error:
            tell(f"note: will be left out: {error}")


def print_rows(rows: Iterable[Row]) -> None:
    """Print rows as comma-separated values."""
    # Loaded late: few calls ask for --csv.
    from duetime.rowtable import written

    sys.stdout.write(written(rows))


#: Compared where none are named, beside the scenario's own.
USUAL = ("tcp", "dctcp", "d2tcp")
TRANSPORTS_DEFAULT = f"(default: {','.join(USUAL)}, and the scenario's own)"


def compared(
    transports: str | None, read: scenario.Scenario, seed: int | None, changes: tuple[str, ...]
) -> list[str]:
    """Return the transports that ``--transports`` names or, without it, the usual ones, and say which."""
    if transports is not None:
        return selection.located(selection.listed(transports), read.folder)
    resolved, _ = resolve(read, seed, changes, None)
    found: Mapping[str, object] = resolved.get("transport", {})
    own = found.get("plugin", found.get("name"))
    names = list(dict.fromkeys((*USUAL, *([str(own)] if own else []))))
    tell(f"note: comparing {', '.join(map(selection.label, names))}; --transports names others")
    return names


def read(file: str) -> scenario.Scenario:
    """Read FILE; ``-`` is standard input."""
    return scenario.read_stdin() if file == "-" else scenario.read_file(Path(file))


def tell_notes(notes: Iterable[str]) -> None:
    """Write notes on a scenario to standard error."""
    for note in notes:
        tell(f"note: {note}")


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
