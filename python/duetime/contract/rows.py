"""Rows of tables whose columns are known at run time only."""

from typing import TypeAlias

#: A value of a row.
Cell: TypeAlias = bool | int | float | str | None
Row: TypeAlias = dict[str, Cell]


def number(row: Row, name: str) -> float:
    """Return the number in a column."""
    value = row[name]
    assert isinstance(value, int | float), f"{name} is a number, not {value!r}"
    return value
