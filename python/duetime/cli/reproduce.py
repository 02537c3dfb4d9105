"""The command `duetime reproduce`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from duetime import InternalError, costs, files
from duetime.cli import completion, drawing, options
from duetime.experiments.experiment import SCALES, read
from duetime.experiments.places import folder, names, path_of
from duetime.quantities import counted

if TYPE_CHECKING:
    from duetime.contract.rows import Row
    from duetime.experiments.experiment import Experiment

#: Exit code when a run failed; a claim that does not hold is a finding and no failure.
FAILED = 1


@click.command(short_help="Repeat a figure or table of a paper, and judge its claims.")
@click.argument("name", metavar="ID|all", required=False, shell_complete=completion.experiments)
@click.option("--list", "as_list", is_flag=True, help="List the experiments.")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="quick",
    show_default=True,
    help="quick: a minute or a few for each; paper: longer runs, more seeds.",
)
@click.option("--seeds", type=options.SEEDS, metavar="N", help="Number of seeds, instead of the scale's.")
@options.JOBS
@options.out(
    "Write result.json, rows.parquet and figures to DIR/ID, and keep finished runs in DIR/points: a command "
    "that was stopped resumes."
)
@drawing.options(
    "The format of the figures; may be given several times (default: png and svg, with --out). Without --out "
    "the figures are written here, as ID.FORMAT."
)
@click.option(
    "--from",
    "root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of experiments (default: those that come with duetime).",
)
@options.SET
@click.option(
    "--scenario",
    "as_scenario",
    is_flag=True,
    help="Print what would be run as a scenario of its own, for `duetime run`, and run nothing.",
)
@click.option(
    "--transport", metavar="NAME", help="With --scenario: under which transport (default: the last one)."
)
@click.option(
    "--robust",
    "variants",
    type=options.Whole(min=1),
    metavar="N",
    help="Judge the claims in N variants of what the scenario leaves open too, with one seed each.",
)
@click.option(
    "--cut",
    default="",
    metavar="TIME",
    help="Cut every run to TIME, at the ends of the grid: shows that an experiment starts, and nothing else.",
)
@options.MAX_MEMORY
@options.YES
@options.forms
@options.QUIET
def reproduce(
    name: str | None,
    as_list: bool,
    scale: str,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    root: Path | None,
    changes: tuple[str, ...],
    as_scenario: bool,
    transport: str | None,
    variants: int | None,
    cut: str,
    max_memory: float | None,
    yes: bool,
    as_json: bool,
    as_csv: bool,
    **given: Unpack[drawing.Drawing],
) -> int:
    """Run the experiment ID (d2tcp/fig10, say), or all of them.

    Of all, one that cannot be run does not stop the others: it is named at the end, and the exit code is 1.
    """
    # Loaded late: the measures of experiments need polars.
    from duetime.experiments.reproduce import prepare, scenario_of
    from duetime.experiments.reproduce import reproduce as repeat

    root = folder(root)
    if as_list and name is not None:
        raise options.Mistake("--list takes no experiment: it lists all")
    if as_list:
        return _list([read(path_of(root, each)) for each in names(root)], as_json, as_csv)
    if name is None:
        raise options.Mistake("name an experiment, or `all`; --list shows them")
    if as_scenario:
        if name == "all":
            raise options.Mistake("--scenario prints one experiment: name it")
        chosen_one = read(path_of(root, name))
        with options.workspace(out) as place:
            study, _ = prepare(chosen_one, scale=scale, seeds=seeds, jobs=jobs, out=place, set=changes)
            sys.stdout.write(scenario_of(study, transport))
        return 0
    if transport is not None:
        raise options.Mistake("--transport is for --scenario")
    if as_csv and name == "all":
        raise options.Mistake("--csv prints the rows of one experiment: name it")
    if given["formats"]:
        # A figure that was asked for is not left out.
        import_module("duetime.plots")
    if out is not None:
        options.tell_left_out("duetime.frames", "duetime.plots")
    chosen = names(root) if name == "all" else [name]
    done, broken = [], []
    with options.workspace(out) as place:
        for one in chosen:
            try:
                each = read(path_of(root, one))
                options.tell(f"{each.name}: {each.title}")
                result = repeat(
                    each,
                    scale=scale,
                    seeds=seeds,
                    jobs=jobs,
                    out=place,
                    set=changes,
                    variants=variants or 0,
                    cut=cut,
                    allowed=costs.limit(max_memory, yes),
                    output=drawing.output(given),
                    progress=not options.quiet(),
                )
            except (InternalError, MemoryError, OSError, RuntimeError, ValueError) as error:
                if name != "all":
                    raise
                broken.append(one)
                print(f"{one}: {str(error).removeprefix('error: ')}", file=sys.stderr)
                continue
            done.append(result)
            if not (as_json or as_csv):
                # Loaded late: it takes time to load, and with --json no table is shown.
                from duetime.display import claims, terminal

                terminal.present(claims.table(result.data), indent="")
                if "robust" in result.data:
                    terminal.present(claims.in_variants(result.data["robust"]))
            if out is not None:
                options.tell(f"Saved in {out / each.name}")
            elif given["formats"]:
                _place(place / each.name, each.name)
    if out is None and not given["formats"]:
        options.tell_saved(out)
    if as_json:
        found = [result.data for result in done]
        sys.stdout.write(json.dumps(found if name == "all" else found[0], ensure_ascii=False) + "\n")
    elif as_csv:
        options.print_rows(done[0].data["rows"])
    elif name == "all":
        # Loaded late: the same.
        from duetime.display import claims, terminal

        terminal.present(claims.tally([result.data for result in done]), indent="")
    for result in done if name == "all" else []:
        if result.failed:
            said = f"{counted(len(result.failed), 'run')} of {result.data['id']} failed"
            print(f"error: {said}, the first: {result.failed[0]}", file=sys.stderr)
    if broken:
        many = counted(len(broken), "experiment")
        print(f"error: {many} of {len(chosen)} could not be run: {', '.join(broken)}", file=sys.stderr)
    return FAILED if broken or any(result.failed for result in done) else 0


def _place(folder: Path, name: str) -> None:
    """Write the figures of an experiment into the current directory: d2tcp/fig10 as d2tcp-fig10.pdf."""
    for path in sorted(folder.glob("figure*.*")):
        target = Path(f"{name.replace('/', '-')}{path.name.removeprefix('figure')}")
        files.place(target, path.read_bytes())
        options.tell(f"Wrote {target}")


def _list(known: Sequence[Experiment], as_json: bool, as_csv: bool) -> int:
    listed: list[Row] = [
        {"id": e.name, "title": e.title, "source": e.source, "question": e.question} for e in known
    ]
    if as_json:
        sys.stdout.write(json.dumps(listed, ensure_ascii=False) + "\n")
    elif as_csv:
        options.print_rows(listed)
    else:
        # Loaded late: rich takes longer than to read the experiments.
        from duetime.display import catalog

        catalog.experiments([(e.name, e.source, e.title) for e in known])
    return 0


__all__: Sequence[str] = ["reproduce"]
