"""Tables of rows as text: CSV with one row in each line, which reads back as it was.

The cells of a plain CSV file have no types. Here a number is written as JSON writes it, so that 1 stays an
integer and 1.0 a float. A missing value is an empty cell. A text is written as it is, unless it would read as
something else: that one is quoted as in JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from duetime.contract.rows import Cell, Row


def written(rows: Iterable[Row]) -> str:
    """Return the table of the rows; its columns are all theirs, in the order of their first row."""
    kept = list(rows)
    columns = list(dict.fromkeys(name for row in kept for name in row))
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(columns)
    out.writerows([_cell(row.get(name)) for name in columns] for row in kept)
    return text.getvalue()


def read(text: str) -> list[Row]:
    """Return the rows of a table; a cell that a row did not have is None."""
    columns, *lines = csv.reader(io.StringIO(text))
    return [{name: _value(cell) for name, cell in zip(columns, line, strict=True)} for line in lines]


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str) and _value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _value(cell: str) -> Cell:
    if cell == "":
        return None
    try:
        return cast("Cell", json.loads(cell))
    except ValueError:
        return cell
