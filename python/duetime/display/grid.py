"""A table before it is known where it is shown, and the same as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TypeAlias

#: So many columns fit a notebook side by side.
NOTEBOOK = 8


@dataclass(frozen=True)
class Column:
    """A column of figures, or of words, which may be wrapped."""

    title: str
    words: bool = False


@dataclass(frozen=True)
class Grid:
    """A table before it is known how wide the terminal is."""

    #: The first columns, whose words tell the rows apart.
    keys: Sequence[str]
    columns: Sequence[Column]
    title: str = ""
    #: Each the words of the keys and the cells of the columns; None draws a line.
    rows: list[tuple[list[str], list[str]] | None] = field(default_factory=list)
    #: Whether rows and columns may change places.
    turns: bool = False
    #: Whether a key is said only in the first of the rows that share it.
    once: bool = False
    #: Whether the keys are sentences.
    wordy: bool = False
    #: So many of the last columns are left out where the table does not fit, and the words for that.
    extras: int = 0
    without_extras: str = ""

    def add(self, keys: Sequence[str], cells: Sequence[str]) -> None:
        """Add a row; missing cells at its end are empty."""
        self.rows.append((list(keys), [*cells, *[""] * (len(self.columns) - len(cells))]))

    def line(self) -> None:
        """Draw a line below the last row."""
        if self.rows and self.rows[-1] is not None:
            self.rows.append(None)

    @property
    def filled(self) -> list[tuple[list[str], list[str]]]:
        """The rows without the lines between them."""
        return [row for row in self.rows if row is not None]

    def turned(self) -> Grid:
        """The same with rows and columns in each other's place."""
        columns = [Column(" ".join(keys)) for keys, _ in self.filled]
        rows = [([each.title], [cells[i] for _, cells in self.filled]) for i, each in enumerate(self.columns)]
        return replace(self, keys=[""], columns=columns, rows=list(rows))

    def part(self, first: int, end: int) -> Grid:
        """The keys with some of the columns, and the rows that have something in them."""
        cut = [row and (row[0], row[1][first:end]) for row in self.rows]
        rows = [row for row in cut if row is None or any(row[1])]
        return replace(self, columns=self.columns[first:end], rows=rows)

    def sections(self) -> Iterator[Grid]:
        """The rows of each first key, which becomes the title."""
        for first in dict.fromkeys(keys[0] for keys, _ in self.filled):
            rows = [(keys[1:], cells) for keys, cells in self.filled if keys[0] == first]
            yield replace(self, title=first, keys=self.keys[1:], rows=list(rows), once=False)


#: A table and the sentences below it.
Shown: TypeAlias = tuple[Grid, list[str]]


def html(grid: Grid, lines: Sequence[str]) -> str:
    """Return a table and the sentences below it as HTML for a notebook: high rather than wide."""
    if grid.turns and len(grid.columns) > NOTEBOOK > len(grid.filled):
        grid = grid.turned()
    head = [_cell("th", key, words=True) for key in grid.keys]
    head += [_cell("th", column.title, words=column.words) for column in grid.columns]
    body, first = [], None
    for row in grid.rows:
        if row is None:
            first = None
            continue
        keys, cells = row
        told = ["", *keys[1:]] if grid.once and keys[0] == first else keys
        first = keys[0]
        line = [_cell("th", key, words=True) for key in told]
        line += [
            _cell("td", cell, words=column.words) for column, cell in zip(grid.columns, cells, strict=True)
        ]
        body.append(f"<tr>{''.join(line)}</tr>")
    title = f"<caption><b>{escape(grid.title)}</b></caption>" if grid.title else ""
    table = f"<table>{title}<thead><tr>{''.join(head)}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div style="overflow-x: auto">{table}</div>' + "".join(
        f"<p>{escape(line)}</p>" for line in lines
    )


def _cell(tag: str, text: str, *, words: bool) -> str:
    """A figure stays in one line; words and titles may be wrapped."""
    style = "text-align: left" if words else "text-align: right"
    style += "" if words or tag == "th" else "; white-space: nowrap"
    return f'<{tag} style="{style}; padding: 0.2em 0.5em">{escape(text)}</{tag}>'
