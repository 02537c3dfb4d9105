"""Write the man pages, `duetime` and one for each command, from what the commands say of themselves.

`make man` and `make docs` write them; the wheel brings them to ``share/man`` of its environment.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from duetime.cli import commands

#: Where the wheel takes them from: its `data` folder.
FOLDER = Path(__file__).resolve().parents[1] / "python/duetime.data/data/share/man/man1"
CODES = (
    ("0", "done"),
    ("1", "something failed on the way, as when the disk is full"),
    ("2", "a mistake in a file or an option"),
    ("3", "a condition of --fail-if holds"),
    ("70", "a bug in duetime"),
    ("130", "interrupted"),
)


def pages() -> dict[str, str]:
    """File name -> its text, for the group and each command."""
    found = {"duetime.1": page(commands, "duetime")}
    for name, command in sorted(commands.commands.items()):
        found[f"duetime-{name}.1"] = page(command, f"duetime {name}")
    return found


def page(command: click.Command, path: str) -> str:
    """One page: what the command is for, its options, its exit codes."""
    # Subcommands inherit the names of the help option from the group.
    context = click.Context(
        command, info_name=path, help_option_names=commands.context_settings["help_option_names"]
    )
    name = path.replace(" ", "-")
    lines = [
        f'.TH "{name.upper()}" "1" "" "duetime" "User Commands"',
        ".SH NAME",
        f"{text(name)} \\- {text(purpose(command))}",
        ".SH SYNOPSIS",
        f"\\fB{text(path)}\\fR {text(' '.join(command.collect_usage_pieces(context)))}",
        ".SH DESCRIPTION",
        *paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        record = None if isinstance(parameter, click.Argument) else parameter.get_help_record(context)
        if record is not None:
            lines += [".TP", f"\\fB{text(record[0])}\\fR", text(record[1])]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for each, child in sorted(command.commands.items()):
            lines += [".TP", f"\\fBduetime\\-{text(each)}\\fR(1)", text(purpose(child))]
    lines += [".SH EXIT STATUS", *(line for code, what in CODES for line in (".TP", code, text(what)))]
    others = ["duetime"] if path != "duetime" else [f"duetime-{each}" for each in sorted(commands.commands)]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{text(other)}\\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def purpose(command: click.Command) -> str:
    """The command's purpose in one line."""
    return (command.short_help or command.get_short_help_str(200)).rstrip(".")


def paragraphs(words: str) -> Iterator[str]:
    """Paragraphs of a help text."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", words.strip())):
        if number:
            yield ".PP"
        yield text(paragraph)


def text(words: str) -> str:
    """Words as roff takes them: no control character begins a line, and hyphens can be copied."""
    joined = " ".join(words.replace("\b", "").split())
    escaped = joined.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main() -> None:
    """Write all pages, and remove the pages of former commands."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = pages()
    for path in FOLDER.glob("*.1"):
        if path.name not in found:
            path.unlink()
    for name, content in found.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
