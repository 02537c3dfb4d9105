"""Texts with places for values, ``{name}`` or ``{name:.1f}``, as experiment files have them.

Python's own formatting reaches the attributes of what it formats, and a width makes a text of any length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

from duetime.errors import Mistaken

#: The limits of a formatted value's width and digits, and of a whole text's length.
MAX_WIDTH, MAX_PRECISION, MAX_LENGTH = 100, 20, 100_000
_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?(?P<width>\d*)[_,]?(?:\.(?P<precision>\d+))?[a-zA-Z%]?")


def places(text: str, where: str) -> list[str]:
    """Return the names that a text has places for; `Mistaken` for a text that cannot be filled."""
    return [name for _, name, _ in _parts(text, where) if name is not None]


def filled(text: str, words: Mapping[str, object], where: str) -> str:
    """Put words into the places of a text; `Mistaken`, which names `where`, for one that has no such word."""
    made: list[str] = []
    length = 0
    for literal, name, spec in _parts(text, where):
        made.append(literal)
        if name is not None:
            if name not in words:
                known = ", ".join(filter(None, words)) or "none"
                raise Mistaken(f"{where}: nothing is called {name!r} in {text[:200]!r}; there are: {known}")
            made.append(_formatted(words[name], spec, where))
        length += sum(map(len, made[-2:]))
        if length > MAX_LENGTH:
            raise Mistaken(f"{where}: {text[:200]!r} makes a text of more than {MAX_LENGTH} characters")
    return "".join(made)


def _parts(text: str, where: str) -> list[tuple[str, str | None, str]]:
    """Split a text into the words before a place, the name of the place, and its format."""
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise Mistaken(f"{where}: {error} in {text[:200]!r}") from None
    for _, name, spec, conversion in parsed:
        if name is None:
            continue
        if conversion or re.search(r"[.\[\]{}!]", name):
            written = name + (f"!{conversion}" if conversion else "")
            raise Mistaken(f"{where}: {{{written}}} must be a name alone, in {text[:200]!r}")
        match = _SPEC.fullmatch(spec or "")
        wide = match is not None and int(match["width"] or 0) <= MAX_WIDTH
        if match is None or not wide or int(match["precision"] or 0) > MAX_PRECISION:
            most = f"at most {MAX_WIDTH} wide and with at most {MAX_PRECISION} digits"
            raise Mistaken(f"{where}: {spec!r} is no format {most}, in {text[:200]!r}")
    return [(literal, name, spec or "") for literal, name, spec, _ in parsed]


def _formatted(value: object, spec: str, where: str) -> str:
    if not spec:
        return str(value)
    if not isinstance(value, str | int | float):
        raise Mistaken(f"{where}: {value!r} has no format {spec!r}")
    try:
        return format(value, spec)
    except (ValueError, OverflowError) as error:
        raise Mistaken(f"{where}: {error}: {spec!r} of {value!r}") from None
