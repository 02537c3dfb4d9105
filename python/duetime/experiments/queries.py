"""Queries of experiment files: each reads the tables that it is given, within limits, and nothing else.

An experiment may be of any origin, and its queries are SQL. SQLite asks `Tables` before each statement is
compiled, so that one can neither write nor open a file, and calls it back while one runs, so that each ends.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import cast

from duetime.contract.rows import Cell
from duetime.errors import Mistaken

#: Instructions of SQLite's machine that a query may take: some 20 s. The largest of the queries shipped with
#: duetime, which pairs the rows of a trace, takes 25 million (`d2tcp/fig04`).
MAX_STEPS = 1_000_000_000
#: Seconds of processor time that it may take, where single instructions are slow.
MAX_SECONDS = 30.0
#: How often SQLite calls back, in instructions: Ctrl-C is noticed as often.
STEPS = 10_000
#: Rows of an answer.
MAX_ROWS = 10_000
#: Bytes of a text in a query, a row or an answer, and characters of a pattern of LIKE.
MAX_LENGTH, MAX_PATTERN = 100_000, 200
#: Bytes that SQLite may hold in this process: exponential growth is stopped while it is compiled.
MAX_MEMORY = 256 << 20

#: Functions that queries may call: functions of numbers, texts, JSON and windows that make nothing large.
FUNCTIONS = frozenset(
    (  # noqa: SIM905
        "abs acos asin atan atan2 avg ceil ceiling char coalesce cos count cume_dist degrees dense_rank "
        "exp first_value floor glob group_concat ifnull iif instr json json_array "
        "json_array_length json_extract json_group_array json_group_object json_object json_type "
        "json_valid lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value "
        "ntile nullif percent_rank pi pow power printf radians rank replace round row_number rtrim sign "
        "sin sqrt substr substring sum tan total trim trunc typeof unicode upper -> ->>"
    ).split()
)
#: Digits after the point that a query may ask for.
MAX_DIGITS = 20
#: Where `printf` fills a value in, or a percent sign is followed by something else.
FILLED = re.compile(r"%(?:([+\- 0]*)(\d{0,2})(?:\.(\d{1,2}))?([dfgs%])|.?)", re.DOTALL)
#: SQLite's actions and their names, for the actions that a hostile or mistaken query would try.
ACTIONS = {
    sqlite3.SQLITE_ATTACH: "attach a database",
    sqlite3.SQLITE_DETACH: "detach a database",
    sqlite3.SQLITE_CREATE_TABLE: "create a table",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "create a table",
    sqlite3.SQLITE_CREATE_VTABLE: "create a table",
    sqlite3.SQLITE_CREATE_VIEW: "create a view",
    sqlite3.SQLITE_CREATE_TEMP_VIEW: "create a view",
    sqlite3.SQLITE_DROP_TABLE: "drop a table",
    sqlite3.SQLITE_INSERT: "insert rows",
    sqlite3.SQLITE_UPDATE: "update rows",
    sqlite3.SQLITE_DELETE: "delete rows",
    sqlite3.SQLITE_PRAGMA: "use a pragma",
    sqlite3.SQLITE_TRANSACTION: "begin or end a transaction",
    sqlite3.SQLITE_SAVEPOINT: "set a savepoint",
    sqlite3.SQLITE_RECURSIVE: "be recursive",
}


class Tables:
    """Tables in memory that queries of one experiment read; `Mistaken` says why a query is refused."""

    def __init__(self, where: str, **tables: Sequence[Mapping[str, object]]) -> None:
        """Fill tables by their name; `where` names the file in error messages."""
        self._names = frozenset(tables)
        self._refused = ""
        self._steps, self._until = 0, math.inf
        self._open = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self._open.execute(f"pragma hard_heap_limit = {MAX_MEMORY}")
            # Nothing is ever written to disk, not even the data of a sort.
            self._open.execute("pragma temp_store = memory")
            for name, rows in tables.items():
                self._fill(name, rows)
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            self._open.close()
            raise Mistaken(f"{where}: rows that no query can read: {error}") from None
        for limit, value in (
            (sqlite3.SQLITE_LIMIT_LENGTH, MAX_LENGTH),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_LENGTH),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        ):
            self._open.setlimit(limit, value)
        # SQLite's own `printf` fills any width asked for, in one step that cannot be interrupted.
        self._open.create_function("printf", -1, self._printf, deterministic=True)
        self._open.set_authorizer(self._allow)
        self._open.set_progress_handler(self._go_on, STEPS)

    def __enter__(self) -> Tables:
        """Return the tables themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database of the tables."""
        self.close()

    def close(self) -> None:
        """Close the database of the tables."""
        self._open.close()

    def ask(
        self, query: str, where: str, values: Mapping[str, Cell] | None = None, *, most: int = MAX_ROWS
    ) -> tuple[list[str], list[tuple[Cell, ...]]]:
        """Return the names and the rows of an answer, at most `most` rows; `where` names claim or table."""
        self._refused = ""
        self._steps, self._until = 0, time.thread_time() + MAX_SECONDS
        try:
            answer = self._open.execute(query, values or {})
            rows = answer.fetchmany(most + 1)
        except sqlite3.Error as error:
            if not self._refused and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                # The callback raised this; Python reports it only in this way.
                raise KeyboardInterrupt from None
            raise Mistaken(f"{where}: {self._refused or error} in {_short(query)!r}") from None
        except MemoryError:
            what = f"needs more than {MAX_MEMORY >> 20} MiB"
            raise Mistaken(f"{where}: {what} in {_short(query)!r}") from None
        except (ValueError, OverflowError, sqlite3.Warning) as error:
            raise Mistaken(f"{where}: {error} in {_short(query)!r}") from None
        if answer.description is None:
            raise Mistaken(f"{where}: is no SELECT: {_short(query)!r}")
        if len(rows) > most:
            raise Mistaken(f"{where}: gives more than {most} row{'s' * (most > 1)}: {_short(query)!r}")
        for value in (value for row in rows for value in row):
            if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
                raise Mistaken(f"{where}: gives {value!r}, which is neither number nor text")
        return [column[0] for column in answer.description], rows

    def _printf(self, text: str, *values: Cell) -> str:
        """Return the text with `%d`, `%f`, `%g` and `%s` filled, each at most 99 wide and with 20 digits."""
        left = list(values)

        def fill(match: re.Match[str]) -> str:
            flags, width, digits, kind = match.groups()
            if kind == "%":
                return "%"
            if kind is None or int(digits or 0) > MAX_DIGITS:
                self._refused = f"printf fills %d, %f, %g, %s and widths of two figures, not {match[0]!r}"
                raise ValueError
            given = left.pop(0) if left else None
            value: int | float | str | Decimal
            if kind == "s":
                value = "" if given is None else str(given)
            elif kind == "d":
                value = int(given or 0)
            elif kind == "f" and math.isfinite(cast(float, given or 0)):
                # Half a digit is rounded away from zero, as in SQLite's own.
                digits = digits or "6"
                value = Decimal(repr(float(given or 0))).quantize(
                    Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP
                )
            else:
                value = float(given or 0)
            return f"%{flags}{width}{'.' + digits if digits else ''}{kind}" % value

        return FILLED.sub(fill, str(text))

    def _allow(self, action: int, one: str | None, two: str | None, *_: str | None) -> int:
        """Return whether SQLite may do one of the actions of a query."""
        tables = ", ".join(sorted(self._names))
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            # Of a subquery no column is named here.
            if one in self._names or (not two and not str(one).startswith(("sqlite_", "pragma_"))):
                return sqlite3.SQLITE_OK
            self._refused = f"a query reads {tables}, not {one}"
        elif action == sqlite3.SQLITE_FUNCTION:
            name = str(two).lower()
            if name in FUNCTIONS:
                return sqlite3.SQLITE_OK
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self._refused = f"a query may not call {name}{hint}"
        else:
            self._refused = f"a query reads {tables}: it may not {ACTIONS.get(action, 'change anything')}"
        return sqlite3.SQLITE_DENY

    def _go_on(self) -> int:
        """Return 1 if a query has used all its steps or time, otherwise 0; Ctrl-C is raised in here."""
        self._steps += STEPS
        if self._steps > MAX_STEPS:
            self._refused = f"takes more than {MAX_STEPS:,} steps"
        elif time.thread_time() > self._until:
            self._refused = f"takes more than {MAX_SECONDS:g} s"
        return 1 if self._refused else 0

    def _fill(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        columns = list(dict.fromkeys(column for row in rows for column in row)) or ["nothing"]
        quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        self._open.execute(f'create table "{name}" ({quoted})')
        marks = ", ".join("?" for _ in columns)
        self._open.executemany(
            f'insert into "{name}" values ({marks})',
            ([sql(row.get(column)) for column in columns] for row in rows),
        )


def flat(value: object, path: str = "") -> Iterable[tuple[str, object]]:
    """Yield the values of nested tables with the dotted path of each; named ones by their name."""
    parts: Iterable[tuple[object, object]]
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value):
        parts = (
            (each.get("name", i) if isinstance(each, Mapping) else i, each) for i, each in enumerate(value)
        )
    else:
        yield path, value
        return
    for key, each in parts:
        yield from flat(each, f"{path}.{key}" if path else str(key))


def sql(value: object) -> Cell:
    """Return a value as SQLite holds it: lists and tables as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else cast(Cell, value)


def _short(query: str) -> str:
    """Return a query as messages show it."""
    text = " ".join(query.split())
    return text if len(text) <= 200 else f"{text[:200]} ..."
