"""Where a scenario comes from: a file, standard input, text, or a dictionary."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

#: A path, the text of a scenario (it has more than one line), or a dictionary of its sections.
Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
#: ``["network.buffer=50 KB"]`` or ``{"network.buffer": "50 KB"}``.
Changes: TypeAlias = Sequence[str] | Mapping[str, Any]

LARGEST = 16 * 1024 * 1024
LAST_SEED = 2**64 - 1


class Unreadable(ValueError):
    """A scenario that cannot be read at all: no such file, a folder, not text."""


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario, its name in messages, and the folder that its paths start from."""

    text: str
    name: str
    folder: str | None


def read(source: Source) -> Scenario:
    """Read a scenario from wherever it is; `Unreadable` says why it cannot be."""
    if isinstance(source, Mapping):
        return Scenario(_toml(source), "scenario", None)
    if isinstance(source, str) and "\n" in source:
        return Scenario(source, "scenario", None)
    return read_file(Path(source))


def read_file(path: Path) -> Scenario:
    """Read a scenario file."""
    name = _printable(os.fspath(path))
    try:
        with path.open("rb") as file:
            return Scenario(_text(file, name), name, os.fspath(path.parent))
    except (OSError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unreadable(f"{name}: {reason}") from None


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
        return [f"{path}={_value(value)}" for path, value in given.items()]
    for change in given:
        if not isinstance(change, str):
            raise TypeError(f"a change is a text 'path=value', not {change!r}")
        if _printable(change) != change:
            raise Unreadable(f"--set {_printable(change)}: not UTF-8 text")
    return list(given)


def to_toml(resolved: Mapping[str, Any]) -> str:
    """Write a scenario as a file; keys without a value, which TOML cannot say, are left out."""
    import tomli_w

    return tomli_w.dumps(_without_nothing(resolved))


def _without_nothing(value: Any) -> Any:
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


def _toml(sections: Mapping[str, Any]) -> str:
    import tomli_w

    try:
        return tomli_w.dumps(sections)
    except TypeError as error:
        raise Unreadable(f"scenario: {error}") from None


def _value(value: object) -> str:
    return value if isinstance(value, str) else _toml_value(value)


def _toml_value(value: object) -> str:
    """JSON is TOML, tables and null apart."""
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(key)} = {_toml_value(each)}" for key, each in value.items())
        return "{ " + ", ".join(entries) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(each) for each in value) + "]"
    if value is None or not isinstance(value, str | bool | int | float):
        raise Unreadable(f"--set: {value!r} is no value of a scenario")
    return json.dumps(value)


def _printable(text: str) -> str:
    """Show bytes that are not UTF-8 (in file names and arguments) as replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
