"""`duetime tighten`, `duetime capacity` and `duetime need`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, TypedDict, TypeVar, Unpack

import click

from duetime import costs, decide, files, scenario
from duetime import transports as selection
from duetime.cli import completion, options
from duetime.conditions import ALL_GOALS
from duetime.display.decisions import ANSWERS
from duetime.run import resolve_each
from duetime.tabular import of_search


class Shared(TypedDict):
    """The arguments that all searches have."""

    file: Path
    transports: str | None
    seeds: int
    seed: int | None
    changes: tuple[str, ...]
    jobs: int | None
    cluster: str | None
    max_memory: float | None
    yes: bool
    limit_s: float


F = TypeVar("F", bound=Callable[..., object])


class Percent(click.ParamType[float]):
    """A percentage, with its sign: without it 0.05 would be 0.05 % here and 5 % in a scenario."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a percentage from the command line."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            self.fail(f"{value!r} is no percentage like 5%", param, ctx)
        if not text.endswith("%"):
            other = f"{100 * number:g}% or " if 0 < number <= 1 else ""
            self.fail(f"{value!r} has no unit: write {other}{number:g}%", param, ctx)
        if not 0 <= number <= 100:
            self.fail(f"{value!r} is not between 0% and 100%", param, ctx)
        return number


class Duration(options.Measure):
    """A time that a person waits, in seconds."""

    name = "time"
    UNITS: ClassVar = {"s": 1, "min": 60, "m": 60, "h": 3600}
    EXAMPLES = "90s, 10min or 2h"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a time above 0 from the command line."""
        seconds = super().convert(value, param, ctx)
        if seconds <= 0:
            self.fail(f"{value!r} is not a {self.name} like {self.EXAMPLES}", param, ctx)
        return seconds


TIME = click.option(
    "--time",
    "limit_s",
    type=Duration(),
    default="10min",
    show_default=True,
    metavar="TIME",
    help="End the search after this time, as 90s, 10min or 2h, with the answer known by then.",
)
TRANSPORTS = click.option(
    "--transports",
    metavar="NAMES",
    shell_complete=completion.transports,
    help="Which to try, separated by commas: dctcp,d2tcp (default: what the scenario says).",
)
SEEDS = click.option(
    "--seeds",
    type=options.SEEDS,
    default=decide.SEEDS,
    show_default=True,
    metavar="N",
    help="Run everything with N seeds; with one there is no confidence interval.",
)


def _shared(command: F) -> F:
    limits = (options.YES, options.MAX_MEMORY, TIME)
    runs = (options.CLUSTER, options.JOBS, options.SET, options.SEED, SEEDS, TRANSPORTS)
    for option in (options.QUIET, options.CSV, options.JSON, *limits, *runs):
        command = option(command)
    return click.argument("file", type=click.Path(path_type=Path))(command)


def _searched(over: str, *, required: bool) -> Callable[[F], F]:
    """Options of a search over the values of a key."""

    def add(command: F) -> F:
        for option in (
            click.option("--step", metavar="VALUE", help="The precision of the answer."),
            click.option("--to", "end", metavar="VALUE", help="The largest value to try."),
            click.option("--from", "start", metavar="VALUE", help="The smallest value to try."),
            click.option("--over", required=required, metavar="KEY", help=over),
        ):
            command = option(command)
        return _targets(command)

    return add


#: The options that set the target of misses.
_TARGETS = (
    click.option(
        "--goal",
        metavar="NAME",
        help="Judge requests of stages by this goal, and not messages by their deadlines "
        "(default with --attain: every goal).",
    ),
    click.option(
        "--attain",
        type=Percent(),
        metavar="P",
        help="Instead of --target: the share of requests that must reach the goal, in percent.",
    ),
    click.option(
        "--target",
        type=Percent(),
        metavar="P",
        help="The share of deadlines, or with --goal of requests, that may be missed, in percent.",
    ),
)


def _targets(command: F) -> F:
    for option in _TARGETS:
        command = option(command)
    return command


def _asked(target: float | None, attain: float | None, goal: str | None) -> tuple[float, str | None]:
    """Return the percentage that may be missed, and the goal of requests that is meant, if one is."""
    if (target is None) == (attain is None):
        raise options.Mistake("give either --target or --attain: what may be missed, or what must be reached")
    if attain is None:
        assert target is not None
        return target, goal
    return round(100 - attain, 9), ALL_GOALS if goal is None else goal


def _out(name: str) -> Callable[[F], F]:
    return options.out(
        f"Write {name}.json to this directory, and keep finished runs in it: a stopped search resumes."
    )


@click.command(short_help="Find how much tighter deadlines can be.")
@_shared
@_targets
@click.option(
    "--against",
    metavar="NAME",
    shell_complete=completion.names("transports"),
    help="Instead of a target: what this transport misses with the deadlines as written.",
)
@click.option(
    "--step",
    type=Percent(),
    default="1%",
    show_default=True,
    metavar="P",
    help="The precision of the answer.",
)
@_out("tighten")
def tighten(
    target: float | None,
    attain: float | None,
    goal: str | None,
    against: str | None,
    step: float,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    **shared: Unpack[Shared],
) -> None:
    """Find how much tighter the deadlines of the scenario in FILE can be.

    All deadlines are multiplied by one factor; the traffic stays the same. The answer is found by bisection,
    for each transport, with a 95 % confidence interval.
    """
    if sum(each is not None for each in (target, attain, against)) != 1:
        raise options.Mistake(
            "give either --target or --against: what may be missed (or --attain: of requests)"
        )
    if against is None:
        target, goal = _asked(target, attain, goal)
    if not 0.01 <= step <= 50:
        raise options.Mistake("--step is between 0.01% and 50%")
    with _runs(out, "tighten", goal=goal, **shared) as runs:
        if against is not None:
            [against] = selection.located([against], str(runs.scenario.parent))
        decision = decide.tighten(runs, target=target, against=against, step=step)
        _deliver(decision, out, as_json, as_csv)


@click.command(short_help="Find the largest fan-in or load that a network carries.")
@_shared
@_searched(
    "What to raise: a parameter (fan_in) or a key as for --set (traffic.NAME.load); "
    "by default the fan-in, or else the load.",
    required=False,
)
@_out("capacity")
def capacity(
    target: float | None,
    attain: float | None,
    goal: str | None,
    over: str | None,
    start: str | None,
    end: str | None,
    step: str | None,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    **shared: Unpack[Shared],
) -> None:
    """Find the largest fan-in or load that the scenario in FILE carries.

    That is the largest value of a key at which no more than the target is missed, found by bisection, for
    each transport, with a 95 % confidence interval.
    """
    allowed, goal = _asked(target, attain, goal)
    with _runs(out, "capacity", goal=goal, **shared) as runs:
        decision = decide.capacity(runs, target=allowed, over=over, start=start, end=end, step=step)
        _deliver(decision, out, as_json, as_csv)


@click.command(short_help="Find the smallest rate or buffer that suffices.")
@_shared
@_searched(
    "What to lower: a parameter (k) or a key as for --set (network.rate, network.buffer).", required=True
)
@_out("need")
def need(
    target: float | None,
    attain: float | None,
    goal: str | None,
    over: str,
    start: str | None,
    end: str | None,
    step: str | None,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    **shared: Unpack[Shared],
) -> None:
    """Find the smallest rate, buffer or the like with which the scenario in FILE meets its deadlines.

    That is the smallest value of a key at which no more than the target is missed, found by bisection, for
    each transport, with a 95 % confidence interval.
    """
    allowed, goal = _asked(target, attain, goal)
    with _runs(out, "need", goal=goal, **shared) as runs:
        decision = decide.need(runs, target=allowed, over=over, start=start, end=end, step=step)
        _deliver(decision, out, as_json, as_csv)


@contextmanager
def _runs(
    out: Path | None,
    question: str,
    *,
    goal: str | None,
    file: Path,
    transports: str | None,
    seeds: int,
    seed: int | None,
    changes: tuple[str, ...],
    jobs: int | None,
    cluster: str | None,
    max_memory: float | None,
    yes: bool,
    limit_s: float,
) -> Iterator[decide.Runs]:
    read = scenario.read_file(file)
    named = selection.named(selection.located(selection.listed(transports or ""), read.folder))
    names: list[str | None] = [*named.values()] or [None]
    checked = resolve_each(read, seed, changes, names)
    first = int(checked[names[0]][0]["run"]["seed"])
    each_seed = tuple(range(first, first + seeds))
    if out is not None:
        files.check_growing(out, {"runs", f"{question}.json", "report.html"})
    options.tell_notes_of({selection.label(str(name)): notes for name, (_, notes) in checked.items()})
    with options.workspace(out) as folder:
        yield decide.Runs(
            file,
            changes,
            tuple(names),
            each_seed,
            folder / "runs",
            jobs,
            cluster,
            progress=not options.quiet(),
            allowed=costs.limit(max_memory, yes),
            goal=goal,
            until=time.monotonic() + limit_s,
        )


def _deliver(decision: decide.Decision, out: Path | None, as_json: bool, as_csv: bool) -> None:
    if out is not None:
        decision.save(out)
    if as_json:
        sys.stdout.write(json.dumps(decision.data, indent=2, ensure_ascii=False) + "\n")
    elif as_csv:
        options.print_rows(of_search(decision.data, ANSWERS[decision.data["question"]]))
    else:
        # Loaded late: it takes time to load, and with --json no table is shown.
        from duetime.display import decisions, terminal

        terminal.present(decisions.table(decision.data))
    if out is not None:
        options.tell(f"Saved in {out}")
