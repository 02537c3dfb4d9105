"""The text of a file that is imported: its lines, the places in them, and mistakes there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from duetime.errors import Unreadable

#: No file of these formats is larger.
LARGEST = 512 * 1024 * 1024


class Mistaken(Unreadable):
    """A mistake in a file that is imported; the message shows its line."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a file, with its place."""

    text: str
    #: Line and column, from 1.
    line: int
    column: int

    def __str__(self) -> str:
        """Return the word as it is written."""
        return self.text


@dataclass(frozen=True)
class Text:
    """A file that is imported."""

    path: Path
    content: str

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines of the file, without their ends."""
        return self.content.splitlines()

    def rows(self, comment: str = "#") -> Iterator[list[Word]]:
        """Iterate over the words of each line that has some, without comments."""
        for number, line in enumerate(self.lines, 1):
            written = line.split(comment, 1)[0]
            found = [Word(each[0], number, each.start() + 1) for each in re.finditer(r"\S+", written)]
            if found:
                yield found

    def fault(self, place: Word | int, message: str, hint: str = "") -> Mistaken:
        """Return the mistake at a word, or at a whole line."""
        if isinstance(place, int):
            shown = self.lines[place - 1] if 0 < place <= len(self.lines) else ""
            start = len(shown) - len(shown.lstrip())
            place = Word(shown.strip(), place, start + 1)
        line = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        window = max(0, place.column - 61)
        shown = "".join(each if each.isprintable() else " " for each in line[window : window + 120]).rstrip()
        gutter = " " * len(str(place.line))
        below = " " * (place.column - 1 - window)
        carets = "^" * max(1, min(len(place.text), len(shown) - len(below)))
        text = (
            f"{message}\n{gutter}--> {self.path}:{place.line}:{place.column}\n{gutter} |\n"
            f"{place.line} | {shown}\n{gutter} | {below}{carets}"
        )
        return Mistaken(text + (f"\n{gutter} = {hint}" if hint else ""))

    def whole(self, word: Word, what: str, least: int = 0) -> int:
        """Return a whole number that is not less than `least`."""
        if not re.fullmatch(r"\d{1,18}", word.text) or int(word.text) < least:
            bound = f" of {least} or more" if least else ""
            raise self.fault(word, f"{what} must be a whole number{bound}, not `{word}`")
        return int(word.text)

    def number(self, word: Word, what: str) -> float:
        """Return a finite number that is not negative."""
        try:
            found = float(word.text)
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or found < 0:
            raise self.fault(word, f"{what} must be a number of 0 or more, not `{word}`")
        return found


def read(path: Path) -> Text:
    """Read a file; `Unreadable` says why it cannot be."""
    try:
        if not path.is_file():
            raise Unreadable(f"{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}")
        if path.stat().st_size > LARGEST:
            raise Unreadable(f"{path}: larger than {LARGEST >> 20} MiB")
        return Text(path, path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: not UTF-8 text (byte {error.start + 1})") from None
