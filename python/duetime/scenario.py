"""Sources of a scenario: a file, standard input, text, or a dictionary."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, TypeAlias

from duetime.data import SCENARIOS
from duetime.errors import Unreadable as Unreadable

#: A path, the text of a scenario (it has more than one line), or a dictionary of its sections.
Source: TypeAlias = str | os.PathLike[str] | Mapping[str, object]
#: ``["network.buffer=50 KB"]`` or ``{"network.buffer": "50 KB"}``.
Changes: TypeAlias = Sequence[str] | Mapping[str, object]

#: A value as a file can hold it.
Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value]"

LARGEST = 16 * 1024 * 1024
LAST_SEED = 2**64 - 1
#: The most runs of one command, as for sweeps (`MAX_RUNS` in crates/scenario): a slip fills no memory.
MAX_RUNS = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario, its name in messages, and the folder that its paths start from."""

    text: str
    name: str
    folder: str | None


def read(source: Source) -> Scenario:
    """Read a scenario from wherever it is; `Unreadable` says why it cannot be."""
    if isinstance(source, Mapping):
        return Scenario(toml(source), "scenario", None)
    if isinstance(source, str) and "\n" in source:
        return Scenario(source, "scenario", None)
    return read_file(Path(source))


#: What a file may describe -> the command that takes it.
COMMANDS = {
    "scenario": "`duetime run {0}` runs it",
    "sweep": "`duetime sweep {0}` runs it",
    "experiment": "`duetime reproduce` runs those of its folder (--from)",
}


def kind_of(text: str) -> str | None:
    """Say what a file describes, one of `COMMANDS`, by the names at its top; none where they do not tell."""
    headers = re.findall(r"(?m)^\s*\[+\s*([\w-]+)", text)
    top = re.split(r"(?m)^\s*\[", text, maxsplit=1)[0]
    words = {*headers, *re.findall(r"(?m)^\s*([\w-]+)\s*[.=]", top)}
    if words & {"network", "traffic"}:
        return "scenario"
    if "scenario" not in words:
        return None
    return "experiment" if words & {"claims", "charts", "scales"} else "sweep"


def read_file(path: Path, kind: str = "scenario") -> Scenario:
    """Read a file that describes a scenario, or another `kind`; `Unreadable` if it is of yet another."""
    name = _printable(os.fspath(path))
    try:
        with path.open("rb") as file:
            text = _text(file, name)
        found = kind_of(text)
        if found is None and path.resolve().suffix != ".toml":
            # A mistake would be shown with its line, whatever file it is.
            raise Unreadable(f"{name}: is no {kind}: it has neither the ending .toml nor the sections of one")
        if found not in (None, kind):
            article = "an" if found == "experiment" else "a"
            raise Unreadable(f"{name}: is {article} {found}, not a {kind}; {COMMANDS[found].format(name)}")
        return Scenario(text, name, os.fspath(path.parent))
    except (OSError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unreadable(f"{name}: {reason}{_shipped(path)}") from None


def _shipped(path: Path) -> str:
    """Say how to get a scenario shipped with duetime, where a file of its name is asked for."""
    name = path.name.removesuffix(".toml")
    if path.exists() or not (SCENARIOS / f"{name}.toml").is_file():
        return ""
    return f"; a scenario of this name comes with duetime: duetime init --from {name} {name}"


def read_stdin() -> Scenario:
    """Read a scenario from standard input; its paths start from the current folder."""
    return Scenario(_text(sys.stdin.buffer, "<stdin>"), "<stdin>", os.curdir)


def changes(given: Changes | None) -> list[str]:
    """Write changes as ``--set`` takes them; `Unreadable` for text that is not Unicode."""
    if given is None:
        return []
    if isinstance(given, str):
        raise TypeError("`set` is a list of texts 'path=value' or a dictionary, not one text")
    if isinstance(given, Mapping):
        return [f"{path}={_value(value, path)}" for path, value in given.items()]
    for change in given:
        if not isinstance(change, str):
            raise TypeError(f"a change is a text 'path=value', not {change!r}")
        if _printable(change) != change:
            raise Unreadable(f"--set {_printable(change)}: not UTF-8 text")
    return list(given)


def to_toml(resolved: Mapping[str, object]) -> str:
    """Write a scenario as a file; keys without a value, which TOML cannot say, are left out."""
    import tomli_w

    known = {key: _without_nothing(each) for key, each in resolved.items() if each is not None}
    return tomli_w.dumps(known)


def _without_nothing(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_nothing(each) for key, each in value.items() if each is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_nothing(each) for each in value if each is not None]
    return value


def _text(file: BinaryIO, name: str) -> str:
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise Unreadable(f"{name}: larger than {LARGEST >> 20} MiB, which no scenario is")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        byte = data[error.start]
        raise Unreadable(f"{name}:{line}:{column}: not UTF-8 text (byte 0x{byte:02x})") from None


def toml(sections: Mapping[str, object], what: str = "scenario") -> str:
    """Write a dictionary as a file; `Unreadable` names the key whose value no file can hold."""
    import tomli_w

    return tomli_w.dumps(_table(sections, what))


def _table(sections: Mapping[str, object], key: str) -> dict[str, Value]:
    found = {}
    for name, each in sections.items():
        if not isinstance(name, str):
            raise Unreadable(f"{key}: a key is a text, not {name!r}")
        found[name] = plain(each, f"{key}.{name}")
    return found


def plain(value: object, key: str) -> Value:
    """Return a value as a file can hold it: numbers of numpy, times of datetime and paths are taken too."""
    if isinstance(value, Mapping):
        return _table(value, key)
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)} us"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return str(value)
    # Arrays and their elements: this is how numpy and others give Python's own.
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each, f"{key}[{number}]") for number, each in enumerate(value)]
    if isinstance(value, bool | int | float):
        return value
    raise Unreadable(f"{key}: {value!r} is no value of a scenario; leave out a key that has none")


def _value(value: object, key: str) -> str:
    found = plain(value, key)
    return found if isinstance(found, str) else _toml_value(found)


def _toml_value(value: object) -> str:
    """JSON is TOML, tables apart."""
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(key)} = {_toml_value(each)}" for key, each in value.items())
        return "{ " + ", ".join(entries) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(each) for each in value) + "]"
    return json.dumps(value)


def _printable(text: str) -> str:
    """Show bytes that are not UTF-8 (in file names and arguments) as replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
