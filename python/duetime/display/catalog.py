"""Transports, topologies, patterns, faults, profiles and experiments, with their keys, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from duetime.display import terminal
from duetime.display.grid import Column, Grid

if TYPE_CHECKING:
    from duetime.contract.catalog import Entry, Key, Named, Profile, Setting


def entries(known: Sequence[Named | Entry | Profile]) -> None:
    """Print names with what they are."""
    _listed([(entry["name"], entry["help"]) for entry in known])


def entry(known: Entry, section: str | None, shared: Sequence[Key]) -> None:
    """Print one transport, topology or pattern with its own keys and the keys shared with its kind."""
    shown = terminal.console()
    shown.print(Text.assemble((known["name"], "bold"), "  ", known["help"]))
    if known.get("source"):
        shown.print(Text(f"Source: {known['source']}"))
    unread = known.get("unread", [])
    own = [key for key in known["keys"] if key["name"] not in unread]
    for title, keys in (
        (None, own),
        *((f"keys of {key['table']}", key["keys"]) for key in own if "keys" in key),
        (section and f"and those of every [{section}] section", shared),
    ):
        if keys:
            if title:
                shown.print(Text(title))
            terminal.show(shown, _keys(keys))
    if unread:
        terminal.say(
            shown, f"Accepted but ignored, so one file works with every transport: {', '.join(unread)}"
        )


def profile(known: Profile) -> None:
    """Print one profile: what it sets, and where each value is from."""
    shown = terminal.console()
    shown.print(Text.assemble((known["name"], "bold"), "  ", known["help"]))
    shown.print(Text(f"Source: {known['source']}"))
    if not known["settings"]:
        terminal.say(shown, "sets nothing: duetime transports NAME shows the keys")
        return
    grid = Grid(["key"], [Column(title, words=True) for title in ("value", "source")])
    for each in known["settings"]:
        grid.add([f"{each['section']}.{each['key']}"], [preset(each), each["source"]])
    terminal.show(shown, grid)
    terminal.say(shown, "a key that is written replaces it; a transport keeps what it declares anew")


def preset(setting: Setting) -> str:
    """Say what a setting of a profile is: the value, with the rule where it follows from another key."""
    value, default = setting["value"], setting["default"]
    return str(value) if value == default else f"{default} ({value})"


def experiments(known: list[tuple[str, str, str]]) -> None:
    """Print experiments: name, source, title."""
    _listed(known)


def _listed(known: Sequence[Sequence[str]]) -> None:
    """Print names in bold, each with its description; in a narrow terminal it is below the name."""
    shown = terminal.console()
    widest = [max(len(words[place]) for words in known) for place in range(len(known[0]))]
    if sum(widest[:-1]) + 30 > shown.width:
        for words in known:
            shown.print(Text(words[0], "bold"))
            for each in words[1:]:
                terminal.say(shown, each)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for place in range(len(widest)):
        table.add_column(style="bold" if place == 0 else None, no_wrap=place < len(widest) - 1)
    for words in known:
        table.add_row(*(Text(word) for word in words))
    shown.print(table)


def _keys(keys: Sequence[Key]) -> Grid:
    columns = [Column("what", words=True), Column("default", words=True)]
    columns += [Column(title, words=True) for title in ("range", "what it does", "source")]
    grid = Grid(["key"], columns)
    for key in keys:
        default = "required" if key["required"] else default_of(key)
        cells = [key["kind"], default, _range(key), key["help"], key["source"]]
        grid.add([key["name"]], ["" if cell is None else str(cell) for cell in cells])
    return grid


def default_of(key: Key) -> str | None:
    """Return the default of a key, and the values of profiles that differ from it."""
    default = key["default"]
    others = {name: value for name, value in (key["profiles"] or {}).items() if value != default}
    if not others:
        return None if default is None else str(default)
    by_value: dict[str, list[str]] = {}
    for name, value in others.items():
        by_value.setdefault("none" if value is None else str(value), []).append(name)
    listed = "; ".join(f"{value} in {', '.join(names)}" for value, names in by_value.items())
    return f"{'none' if default is None else default} ({listed})"


def _range(key: Key) -> str | None:
    if key["choices"]:
        return ", ".join(key["choices"])
    if key["range"] is None or key["unit"] is None:
        return None if key["range"] is None else str(key["range"])
    return f"{key['range']} {key['unit']}"
