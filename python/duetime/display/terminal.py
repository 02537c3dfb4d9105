"""Tables that fit the terminal: a figure is never cut, whatever else must give way.

Where a table is too wide, rows and columns are transposed, if the table allows it. Then optional parts are
left out, and headers and keys are wrapped. Then columns are printed in several tables below one another. At
last each row becomes a list.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duetime.display.grid import Grid, Shown

#: Spaces between columns, and beside the first and the last one together.
GAP, EDGES = 3, 4


#: The minimum width of a column of words, lest each word has a line of its own.
WORDS = 16


#: The width of a page that is not shown in a terminal.
PAGE = 160


def present(shown: Shown, indent: str = "  ") -> None:
    """Print a table and the sentences below it."""
    grid, lines = shown
    out = console()
    if not show(out, grid):
        say(out, grid.without_extras, indent)
    for line in lines:
        say(out, line, indent)


def console() -> Console:
    """Standard output: as wide as the terminal; a page for files and pipes. ``:name:`` stays as it is."""
    shown = Console(emoji=False)
    return shown if shown.is_terminal else Console(width=PAGE, emoji=False)


def say(shown: Console, text: str, indent: str = "  ") -> None:
    """Print a sentence: wrapped between words in a terminal, whole where a program may read it."""
    if not shown.is_terminal:
        shown.print(indent + text, highlight=False, markup=False, soft_wrap=True)
        return
    for line in textwrap.wrap(text, max(shown.width - len(indent), 20), break_on_hyphens=False) or [""]:
        shown.print(indent + line, highlight=False, markup=False, soft_wrap=True)


def show(shown: Console, grid: Grid) -> bool:
    """Print a table in the first of the ways that fits; say whether all of its columns are there."""
    if grid.title:
        shown.print(Text(grid.title, "bold"))
    ways = [grid, *([grid.turned()] if grid.turns else [])]
    whole = _print_whole(shown, ways, wrapped=False)
    if not whole and grid.extras:
        grid = grid.part(0, len(grid.columns) - grid.extras)
        ways = [grid]
    if not whole and not _print_whole(shown, ways, wrapped=True):
        sections = list(grid.sections()) if grid.once else []
        if not _print_parts(shown, ways) and not _print_sections(shown, sections):
            _print_lists(shown, grid)
    return whole or not grid.extras


def _print_whole(shown: Console, ways: Sequence[Grid], *, wrapped: bool) -> bool:
    """Print the first of the ways that fits in one table; say whether there was one."""
    for way in ways:
        widths = _widths(way, shown.width, wrapped)
        if widths is not None:
            shown.print(_table(way, widths))
            return True
    return False


def _print_parts(shown: Console, ways: Sequence[Grid]) -> bool:
    """Print the way that takes the fewest tables below one another, if there is one."""
    split = [parts for parts in (list(_parts(way, shown.width)) for way in ways) if parts]
    return all(_print_whole(shown, [part], wrapped=True) for part in min(split, key=len)) if split else False


def _print_sections(shown: Console, sections: Sequence[Grid]) -> bool:
    """Print each section with its key above it, if all of them fit."""
    split = [list(_parts(section, shown.width)) for section in sections]
    if not split or not all(split):
        return False
    for section, parts in zip(sections, split, strict=True):
        if section.title:
            shown.print(Text(section.title, "bold"))
        for part in parts:
            _print_whole(shown, [part], wrapped=True)
    return True


def _parts(grid: Grid, width: int) -> Iterator[Grid]:
    """Split the columns into as few tables as fit; nothing where some column does not fit beside the keys."""
    ends, first = [], 0
    while first < len(grid.columns):
        fitting = [
            end
            for end in range(first + 1, len(grid.columns) + 1)
            if _widths(grid.part(first, end), width, True) is not None
        ]
        if not fitting:
            return
        ends.append((first, fitting[-1]))
        first = fitting[-1]
    for first, end in ends:
        yield grid.part(first, end)


def _widths(grid: Grid, width: int, wrapped: bool) -> list[int] | None:
    """Return each column's width; none where the table does not fit.

    Without wrapping, every cell has one line, except in columns of words, which share the remaining width.
    """
    least, most = [], []
    for place, (title, words) in enumerate(_columns(grid)):
        cells = [row[place] for row in ([*keys, *cells] for keys, cells in grid.filled)]
        key = place < len(grid.keys)
        natural = max((cell_len(text) for text in (*cells, title)), default=0)
        broken = max(*(_longest(text) for text in (*cells, title)), min(natural, WORDS) if words else 0)
        figure = max([*(cell_len(text) for text in cells), _longest(title)], default=0)
        may_break = words or (wrapped and key)
        least.append(broken if may_break else figure if wrapped else natural)
        most.append(natural if may_break else least[-1])
    room = width - sum(least) - GAP * (len(least) - 1) - EDGES
    if room < 0:
        return None
    # The remaining width is given first to the columns that need the least.
    found = dict(enumerate(least))
    waiting = sorted(range(len(least)), key=lambda place: most[place] - least[place])
    for number, place in enumerate(waiting):
        more = min(most[place] - least[place], room // (len(waiting) - number))
        found[place] += more
        room -= more
    return [found[place] for place in range(len(least))]


def _columns(grid: Grid) -> list[tuple[str, bool]]:
    return [
        *((key, grid.wordy) for key in grid.keys),
        *((each.title, each.words) for each in grid.columns),
    ]


def _longest(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _table(grid: Grid, widths: Sequence[int]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_header=any(title for title, _ in _columns(grid)),
    )
    for place, (title, words) in enumerate(_columns(grid)):
        left = place < len(grid.keys) or words
        table.add_column(
            Text(title), justify="left" if left else "right", width=widths[place], overflow="fold"
        )
    first = None
    for row in grid.rows:
        if row is None:
            table.add_section()
            first = None
            continue
        keys, cells = row
        said = ["", *keys[1:]] if grid.once and keys[0] == first else keys
        table.add_row(*(Text(text) for text in (*said, *cells)))
        first = keys[0]
    return table


def _print_lists(shown: Console, grid: Grid) -> None:
    """Print each row as a heading and a line for each cell."""
    titles = [column.title for column in grid.columns]
    for keys, cells in grid.filled:
        shown.print(Text(", ".join(key for key in keys if key), "bold"))
        for title, cell in zip(titles, cells, strict=True):
            if cell:
                say(shown, f"{title}: {cell}" if title else cell)
