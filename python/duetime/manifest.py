"""Checksums of saved results: a file ``SHA256SUMS`` in each folder, in the format of ``sha256sum``.

A folder without one, as older versions write it, is read as it is. Records and pictures are checked when a
result is loaded, tables when they are read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from duetime import names
from duetime.errors import Damaged, Unreadable

if TYPE_CHECKING:
    import polars as pl

#: The file with the checksums of a folder.
NAME = "SHA256SUMS"
#: The ending of tables, which are checked when they are read.
TABLE = ".parquet"
#: The records that tell what result a folder holds.
RECORDS = {
    *("run.json", "compare.json", "sweep.json", "tighten.json", "capacity.json", "need.json"),
    *("robust.json", "estimate.json", "result.json"),
}
#: A line of it: the hash in lower case, a space, the mode of reading, and a path below the folder.
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^\\\r\n\0]+)")


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes, as it is written."""
    return hashlib.sha256(content).hexdigest()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, without holding it in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text(sums: Mapping[str, str]) -> bytes:
    """Return the content of a manifest: a line for each path, in their order."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def read(folder: Path) -> dict[str, str] | None:
    """Return the checksum of each path in a folder's manifest; None without one."""
    path = folder / NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    found: dict[str, str] = {}
    lines = content.decode("utf-8", "replace").split("\n")
    if lines.pop():
        raise Damaged(f"{path}: is damaged: its last line does not end")
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        name = match[2] if match else ""
        if match is None or name in found or not _is_below(name):
            raise Damaged(f"{path}: is damaged: line {number} is no checksum and path")
        found[name] = match[1]
    if not found:
        raise Damaged(f"{path}: is damaged: it lists no file")
    return found


def seal_tree(folder: Path) -> None:
    """Write the manifest of a folder that is complete, and one into each folder below that has files.

    Each lists all files below it, so that a part of a result may be moved elsewhere.
    """
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NAME)
    sums = {path: digest_of(path) for path in paths}
    parents = {path.parent for path in sums} | {folder}
    for parent in sorted(parents, key=lambda path: len(path.parts), reverse=True):
        below = {path: value for path, value in sums.items() if parent in path.parents}
        if below:
            content = text({path.relative_to(parent).as_posix(): value for path, value in below.items()})
            (parent / NAME).write_bytes(content)
            sums[parent / NAME] = digest(content)


def unseal(folder: Path) -> None:
    """Remove the manifest of a folder before its files change."""
    (folder / NAME).unlink(missing_ok=True)


def check(folder: Path) -> None:
    """Check all files of a sealed folder but its tables; `Damaged` names a file.

    A table need only be there, with the same checksum in the manifest of a folder below.
    """
    below: dict[Path, dict[str, str] | None] = {}
    for name, expected in (read(folder) or {}).items():
        path = folder / name
        if not path.is_file():
            raise Damaged(f"{path}: is missing, but {folder / NAME} lists it")
        if path.suffix != TABLE:
            compare(path, digest_of(path), expected)
        elif path.parent != folder:
            if path.parent not in below:
                below[path.parent] = read(path.parent)
            sums = below[path.parent]
            if sums is not None and sums.get(path.name) != expected:
                raise Damaged(f"{folder / NAME}: has another checksum of {name} than {path.parent / NAME}")


def check_result(folder: Path) -> None:
    """Check a result's folder, and the records of the finished runs in it; nothing in another folder."""
    if any((folder / name).exists() for name in RECORDS):
        for each in (folder, folder / "runs"):
            check(each)


def compare(path: Path, found: str, expected: str | None) -> None:
    """Raise `Damaged` if the checksum of a file is not the expected one, or it has none."""
    if expected is None:
        raise Damaged(f"{path}: is not in {NAME}, which lists every file of this result")
    if found != expected:
        raise Damaged(f"{path}: differs from its checksum in {NAME}; the file is damaged or was changed")


def content(path: Path) -> bytes:
    """Return the bytes of a file of a result, after a check where its folder is sealed."""
    found = path.read_bytes()
    sums = read(path.parent)
    if sums is not None:
        compare(path, digest(found), sums.get(path.name))
    return found


def table(path: Path) -> pl.DataFrame:
    """Return the table in a file of a result, after a check where its folder is sealed."""
    sums = read(path.parent)
    if sums is not None:
        compare(path, digest_of(path), sums.get(path.name))
    return parquet(path, verified=sums is not None)


def parquet(path: Path, verified: bool) -> pl.DataFrame:
    """Return the table in a file, former names of columns renamed; `Unreadable` if polars cannot read it."""
    from duetime.frames import pl

    with readable(path, quiet=not verified):
        return names.renamed(pl.read_parquet(path))


@contextmanager
def readable(path: Path, quiet: bool = True) -> Iterator[None]:
    """Turn every failure of polars to read a file into `Unreadable`; with `quiet` it prints nothing."""
    from duetime.frames import pl

    failures = (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OverflowError, OSError)
    try:
        with _no_panic_message() if quiet else nullcontext():
            yield
    except failures as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise Unreadable(f"{path}: cannot be read as a table: {reason}") from None


@contextmanager
def understood(path: Path, always: bool = False) -> Iterator[None]:
    """Turn errors in reading a result into one message, if its folder has no checksums, or `always`."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        if type(error).__module__.startswith("duetime") or (not always and (path / NAME).exists()):
            raise
        raise Unreadable(f"{path}: is not what duetime writes: {error!r}") from error


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and str(path) == name


@contextmanager
def _no_panic_message() -> Iterator[None]:
    """Discard what the threads of polars write to standard error when they fail on a damaged file."""
    kept = None
    with suppress(OSError):
        kept = os.dup(2)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)
        os.close(nothing)
    try:
        yield
    finally:
        if kept is not None:
            os.dup2(kept, 2)
            os.close(kept)
