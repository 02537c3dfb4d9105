"""Hints for command lines that click cannot read: the probable meaning, or the command that has an option."""

from __future__ import annotations

from collections.abc import Sequence

import click

#: Where an option of another command belongs: option -> command -> the remedy; "" is any other command.
ELSEWHERE: dict[str, dict[str, str]] = {
    "--seeds": {
        "sweep": "the seeds of a sweep are in its file: seeds = 5",
        "robust": "it varies the seed by itself; --variants N sets the number of runs",
        "check": "it simulates nothing; --seed N checks one seed",
        "bound": "it simulates nothing; --seed N takes another seed",
        "estimate": "it takes one seed: --seed N",
        "": "duetime run, compare, tighten, capacity, need and reproduce have it",
    },
    "--transport": {
        "compare": "it compares several: --transports tcp,dctcp",
        "robust": "it compares several: --transports tcp,dctcp",
        "sweep": 'the transports of a sweep are in its file: transports = ["tcp", "dctcp"]',
        "": "set the name: --set transport.name=dctcp",
    },
    "--transports": {
        "run": "it takes one: --transport dctcp; `duetime compare` takes several",
        "sweep": 'the transports of a sweep are in its file: transports = ["tcp", "dctcp"]',
        "": "duetime compare, robust, tighten, capacity and need have it",
    },
    "--set": {
        "sweep": 'the changes of a sweep are in its file, below [set]: network.buffer = "50 KB"',
    },
    "--seed": {"sweep": "the seeds of a sweep are in its file: seeds = [7]"},
    "--over": {"sweep": "the keys of a sweep are in its file, below [grid]"},
    "--format": {
        "": "`duetime plot DIR --format pdf` draws what --out DIR wrote",
    },
}


def hinted(error: click.UsageError, words: Sequence[str]) -> click.UsageError:
    """Return the error in the command line `words` with a hint, where there is one."""
    command = error.ctx.info_name if error.ctx is not None else None
    hint = None
    if isinstance(error, click.NoSuchOption):
        known = ELSEWHERE.get(error.option_name, {})
        hint = known.get(command or "", known.get(""))
    elif "unexpected extra argument" in error.message:
        hint = _split_list(words)
    if hint is None:
        return error
    # Without the words that click finds similar: those are other things.
    return click.UsageError(f"{error.message.rstrip('.')} ({hint})", error.ctx)


def _split_list(words: Sequence[str]) -> str | None:
    """Return the hint for a list with a space behind a comma, which the shell cuts in two."""
    for number, word in enumerate(words[:-1]):
        if word.endswith(",") or words[number + 1].startswith(","):
            option = next((each for each in reversed(words[:number]) if each.startswith("--")), None)
            name, equals, value = word.partition("=")
            if equals and name.startswith("--"):
                option, word = name, value
            parts = [word]
            for each in words[number + 1 :]:
                if each.startswith("-") or not (parts[-1].endswith(",") or each.startswith(",")):
                    break
                parts.append(each)
            return f"a list has no spaces: {option or ''} {''.join(parts)}".replace("  ", " ")
    return None
