"""Tables of an experiment's file as dataclasses: each key is known, and its value of the right type."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from duetime.errors import Mistaken

T = TypeVar("T")


class Options:
    """The options of the measures, each read as the dataclass that its measure names."""

    def __init__(self, tables: Mapping[str, object], where: str) -> None:
        """Take the tables of a file; `where` is its path and the beginning of their names."""
        self._tables = dict(tables)
        self._where = where

    def __contains__(self, name: str) -> bool:
        """Return whether the file has these options."""
        return name in self._tables

    def of(self, name: str, kind: type[T]) -> T:
        """Return the table of a measure as its dataclass; `Mistaken` where it is missing, or wrong."""
        return make(kind, self._given(name), f"{self._where}.{name}]")

    def text(self, name: str) -> str:
        """Return an option that is a text."""
        return self._value(name, str)

    def lists(self, name: str) -> dict[str, list[str]]:
        """Return an option that is a table of lists of texts."""
        return self._value(name, dict[str, list[str]])

    def _value(self, name: str, hint: type[T]) -> T:
        value = self._given(name)
        if not _fits(value, hint):
            raise Mistaken(f"{self._where}.{name}]: is {_meant(hint)}, not {str(value)[:60]!r}")
        return cast(T, value)

    def _given(self, name: str) -> object:
        if name not in self._tables:
            raise Mistaken(f"{self._where}.{name}] is missing")
        return self._tables[name]


def make_list(kind: type[T], tables: object, where: str) -> list[T]:
    """Return a list of tables as dataclasses."""
    if not isinstance(tables, list):
        raise Mistaken(f"{where}: is a list of tables")
    return [make(kind, table, f"{where} {number}") for number, table in enumerate(tables, 1)]


def make(kind: type[T], table: object, where: str) -> T:
    """Return a table as a dataclass; `Mistaken` says which key is unknown, missing or wrong.

    A field whose name ends with an underscore is the key without it, which is a word of Python.
    """
    if not isinstance(table, dict):
        raise Mistaken(f"{where}: is missing, or no table")
    known = {each.name.rstrip("_"): each for each in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; it knows {', '.join(known)}"
            raise Mistaken(f"{where}: unknown key `{key}`{hint}")
    hints = get_type_hints(kind)
    for name, each in known.items():
        needed = each.default is MISSING and each.default_factory is MISSING
        if needed and name not in table:
            raise Mistaken(f"{where}: `{name}` is missing")
        meant = hints[each.name]
        if name in table and not _fits(table[name], meant):
            raise Mistaken(f"{where}: `{name}` is {_meant(meant)}, not {str(table[name])[:60]!r}")
    return kind(**{known[key].name: value for key, value in table.items()})


#: How messages call what a key holds.
KINDS = {
    list: "a list",
    dict: "a table",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def _fits(value: object, hint: object) -> bool:
    """Return whether a value of a file has the type of a key; our own types have been made already."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is None:
        return value is None
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(each, parts[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(key, parts[0]) and _fits(each, parts[1]) for key, each in value.items()
        )
    if hint is int or hint is float:
        # A whole number is a number; a truth value is neither.
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    return isinstance(hint, type) and isinstance(value, hint)


def _meant(hint: object) -> str:
    """Say what a key holds."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_meant(part) for part in parts if part is not type(None))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    return next((words for kind, words in KINDS.items() if kind in (origin, hint)), "something else")
