"""`duetime check`, `duetime init`, `duetime schema`."""

from __future__ import annotations

import difflib
import json
import sys
from importlib import resources
from pathlib import Path

import click

from duetime import _core, files
from duetime import scenario as scenarios
from duetime.cli import completion, options, plugin
from duetime.data import SCENARIOS
from duetime.language import schema as language
from duetime.run import explanation, resolve
from duetime.tabular import of_object


@click.command(short_help="Check whether a scenario is valid.")
@options.FILE
@options.SEED
@options.SET
@click.option(
    "--explain",
    is_flag=True,
    help="Say what will happen: who sends to whom, what each port will face, what is random.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=options.one_form,
    help="Print the scenario with every default filled in, or with --explain the explanation.",
)
@options.CSV
@options.QUIET
def check(
    file: str, seed: int | None, changes: tuple[str, ...], explain: bool, as_json: bool, as_csv: bool
) -> None:
    """Check whether the scenario in FILE (- for standard input) is valid.

    Says the mean of each class's sizes, and the load that was drawn beside the one that was asked for. Notes
    name settings that are valid but probably not meant; `duetime check --explain` shows the figures behind
    them.
    """
    read = options.read(file)
    resolved, notes = resolve(read, seed, changes, None)
    options.tell_notes(notes)
    if as_json:
        found = explanation(read, seed, changes) if explain else resolved
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return
    if as_csv:
        options.print_rows(of_object(explanation(read, seed, changes) if explain else resolved))
        return
    # Loaded late: rich takes longer than a check, and --json prints no table.
    from duetime.display import scenarios as shown

    found = explanation(read, seed, changes)
    if explain:
        shown.explained(found)
    else:
        print(f"{read.name}: valid")
        shown.checked(found)


@click.command(short_help="Write a commented scenario to start from.")
@click.argument("name", default="scenario")
@click.option(
    "--from",
    "template",
    metavar="SCENARIO",
    shell_complete=completion.scenarios,
    help="Start from one that comes with duetime: incast, large-messages, oldi and others.",
)
@click.option(
    "--plugin",
    "plugin_folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the source of a transport of your own into this new folder instead.",
)
@click.option(
    "--language",
    "written_in",
    type=click.Choice(list(plugin.LANGUAGES)),
    default="rust",
    show_default=True,
    help="With --plugin: the language of the source. wat needs no compiler.",
)
def init(name: str, template: str | None, plugin_folder: Path | None, written_in: str) -> None:
    """Write a commented scenario to start from, NAME.toml (scenario.toml without a name).

    A NAME of duetime's own scenarios (serving, rpc, all-reduce, websearch and others) writes that one.
    """
    if plugin_folder is not None:
        plugin.write(plugin_folder, written_in)
        return
    if not name.removesuffix(".toml"):
        raise options.Mistake("a scenario's file needs a name")
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if template is None and path.stem in completion.scenario_names():
        template = path.stem
    content = _included(template) if template else resources.files("duetime") / "template.toml"
    try:
        files.create(path, content.read_bytes())
        for other in _named_by(template):
            if not (beside := path.parent / other.name).exists():
                files.create(beside, other.read_bytes())
    except FileExistsError:
        raise options.Mistake(f"{path} exists already and is left as it is; choose another name") from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in files.FULL:
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise options.Mistake(f"{path} cannot be written: {reason}") from None
    print(f"Wrote {path}. Next: duetime compare {path} --transports tcp,dctcp,d2tcp")


def _named_by(template: str | None) -> list[Path]:
    """Return the files that an included scenario names."""
    if template is None:
        return []
    path = _included(template)
    read = scenarios.read_file(path)
    _, _, named = _core.check(read.text, read.name, read.folder)
    return [path.parent / name for name in named]


def _included(name: str) -> Path:
    path = SCENARIOS / f"{name.removesuffix('.toml')}.toml"
    if not path.is_file():
        known = completion.scenario_names()
        near = difflib.get_close_matches(name, known, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise options.Mistake(
            f"no scenario `{name}` comes with duetime{meant} (there are {', '.join(known)})"
        )
    return path


@click.command(short_help="Print the JSON Schema of the language.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it here instead: duetime.schema.json is what the first line of a new scenario names.",
)
def schema(out: Path | None) -> None:
    """Print the JSON Schema of the scenario language, for editors."""
    text = json.dumps(language(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        files.place(out, text.encode())
        print(f"Wrote {out}", file=sys.stderr)
