"""Former names of columns, which are still read.

A column of a figure is called as its place in the JSON object, with ``_`` for each dot: ``fct_us.p99`` is
``fct_us_p99``. Versions up to 0.2 put the unit last (``fct_p99_us``). They called the ends of messages
and of links ``from`` and ``to``, which SQL reserves.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Former columns of a run's tables and of traces of real connections.
ENDS = {"from": "src", "to": "dst", "from_address": "src_address", "to_address": "dst_address"}
#: A former column of a figure: its first part, the statistic, the unit, and the end of an interval.
FIGURE = re.compile(
    r"\b(\w+)_((?:mean|max|p\d+)(?:_at_least)?)_(us|percent)((?:_low|_high|_seeds|_at_least)?)\b"
)


def present(name: str) -> str:
    """Return the present name of a column: `name` itself unless it is a former one."""
    return ENDS.get(name) or FIGURE.sub(r"\1_\3_\2\4", name)


def renamed(table: pl.DataFrame) -> pl.DataFrame:
    """Return a stored table with the present names of its columns."""
    names = {name: present(name) for name in table.columns}
    return table.rename({name: now for name, now in names.items() if now != name and now not in names})


def in_query(text: str, own: Container[str], found: dict[str, str]) -> str:
    """Return a query, or a column's name, with present names in place of former ones, which `found` gets.

    Names in `own` stay: the experiment has chosen them.
    """

    def replace(match: re.Match[str]) -> str:
        former = match[0]
        name = re.sub("(_low|_high|_seeds|_at_least)$", "", former)
        if name in own:
            return former
        found[former] = present(former)
        return found[former]

    return FIGURE.sub(replace, text)
