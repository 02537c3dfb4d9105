"""`duetime transports`, `topologies`, `patterns`, `faults` and `profiles`, from their own declarations."""

from __future__ import annotations

import difflib
from typing import Any

import click

from duetime.cli import completion
from duetime.cli.options import Mistake
from duetime.language import catalog

#: Keys that every entry of a kind has beside its own.
SHARED = {"topologies": "network", "patterns": "traffic", "faults": "fault"}


def _command(kind: str, what: str) -> click.Command:
    @click.command(
        kind,
        help=f"List the {kind}, or the keys of the {what} NAME: defaults, ranges, sources.",
        short_help=f"List the {kind}, or one's keys.",
    )
    @click.argument("name", required=False, shell_complete=completion.names(kind))
    def command(name: str | None) -> None:
        # Loaded late: rich takes longer than to look up the declarations.
        from duetime.display import catalog as show

        known = catalog()
        entries: list[dict[str, Any]] = known[kind]
        if name is None:
            show.entries(entries)
            return
        entry = next((entry for entry in entries if entry["name"] == name), None)
        if entry is None:
            raise Mistake(_unknown(what, name, [entry["name"] for entry in entries]))
        if kind == "profiles":
            show.profile(entry)
            return
        section = SHARED.get(kind)
        show.entry(entry, section, known[section] if section else [])

    return command


def _unknown(what: str, name: str, names: list[str]) -> str:
    nearest = difflib.get_close_matches(name, names, 1)
    meant = f"; did you mean {nearest[0]}?" if nearest else ""
    return f"no {what} is called `{name}`{meant} (there are {', '.join(names)})"


transports = _command("transports", "transport")
topologies = _command("topologies", "topology")
patterns = _command("patterns", "pattern")
faults = _command("faults", "fault")
profiles = _command("profiles", "profile")
