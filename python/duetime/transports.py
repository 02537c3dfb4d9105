"""The transports of a comparison: by name, by the path of a plug-in, each with settings of its keys.

``d2tcp``, ``d2tcp:d_cap=4``, ``mine.wasm``, ``mine.wasm:target=5``: a text as `_core` takes it. Its name in
tables is the same, but for the path of a plug-in, of which only the file's stem is left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from duetime import errors
from duetime.language import catalog

#: The endings of plug-ins, as in crates/scenario/src/plugins.rs.
ENDINGS = (".wasm", ".wat")
#: The beginning of the name of a class of this process: `duetime.controller`.
PYTHON = "python:"


def split(transport: str) -> tuple[str, str]:
    """Return the name or path of a transport, and its settings with their colons."""
    parts = transport.split(":")
    first = next((number for number, part in enumerate(parts) if number and "=" in part), len(parts))
    return ":".join(parts[:first]), "".join(f":{part}" for part in parts[first:])


def is_plugin(transport: str) -> bool:
    """Return whether a transport is the path of a plug-in."""
    return split(transport)[0].endswith(ENDINGS)


def label(transport: str) -> str:
    """Return a transport's name in tables, pictures and JSON."""
    name, settings = split(transport)
    if name.startswith(PYTHON):
        return name.removeprefix(PYTHON) + settings
    if not name.endswith(ENDINGS):
        return transport
    path = Path(name)
    # A built-in transport keeps its name.
    built_in = any(each["name"] == path.stem for each in catalog()["transports"])
    return (path.name if built_in else path.stem) + settings


def located(transports: Iterable[str], folder: str | None) -> list[str]:
    """Return transports with the paths of plug-ins from the scenario's folder, not the current one."""
    return [_located(each, folder) for each in transports]


def _located(transport: str, folder: str | None) -> str:
    name, settings = split(transport)
    if folder in (None, "", os.curdir) or not name.endswith(ENDINGS) or not Path(name).is_file():
        return transport
    try:
        return Path(os.path.relpath(name, folder)).as_posix() + settings
    except ValueError:
        # Another drive.
        return str(Path(name).resolve()) + settings


def named(transports: Sequence[str]) -> dict[str, str]:
    """Return the transport of each name in tables; `Unreadable` where two have the same."""
    found: dict[str, str] = {}
    for each in transports:
        name = label(each)
        if name in found and found[name] == each:
            raise errors.Unreadable(f"the transport {name} is named twice")
        if name in found:
            raise errors.Unreadable(f"{found[name]} and {each} would both be called {name}; rename a file")
        found[name] = each
    return found


def chosen(against: str, names: Iterable[str], what: str, option: str = "--against") -> str:
    """Return the name in tables of the transport `against`; `Unreadable` if it is not among `names`, as
    `option` names it."""
    names = list(names)
    if (name := label(against)) in names:
        return name
    near = get_close_matches(name, names, 1)
    meant = f"; did you mean {near[0]}?" if near else f": {', '.join(names)}"
    raise errors.Unreadable(f"{option} {against}: is not among {what}{meant}")


def in_folder(name: str) -> str:
    """Return a transport's name as that of a folder: every system has some signs that it refuses."""
    return re.sub(r'[<>"/\\|?*\s]', "_", name.replace(":", ","))


def listed(text: str) -> list[str]:
    """Split the value of ``--transports`` at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
