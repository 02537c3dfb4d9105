"""`duetime transports`, `topologies`, `patterns`, `faults` and `profiles`, from their own declarations."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from duetime.cli import completion
from duetime.cli.options import Mistake
from duetime.language import FAMILIES, LISTED, catalog, named

if TYPE_CHECKING:
    from duetime.contract.catalog import Family, Kind, Section

#: The section that each kind is chosen in.
SECTIONS: dict[Family, Section] = {kind: section for section, kind in FAMILIES.items()}


def _command(kind: Kind, what: str) -> click.Command:
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
        if name is None:
            show.entries(known[kind])
            return
        names = [entry["name"] for entry in known[kind]]
        if name not in names:
            raise Mistake(_unknown(what, name, names))
        if kind == "profiles":
            show.profile(named(known["profiles"], name))
            return
        # Keys of the section, which every entry has beside its own. The catalogue has none for transports.
        section = next((each for each in LISTED if each == SECTIONS[kind]), None)
        show.entry(named(known[kind], name), section, known[section] if section else [])

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
