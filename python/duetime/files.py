"""Folders of results that appear as a whole or not at all."""

from __future__ import annotations

import errno
import glob
import io
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: A folder that holds one of these files is one of ours.
MARKERS = ("run.json", "compare.json", "result.json", "testbed.json")
#: What a folder of ours may hold: tables, records, pictures and a report.
SUFFIXES = {".json", ".parquet", ".png", ".svg", ".pdf", ".html"}
#: Further files of ours; others of this kind are the user's.
NAMES = {"slowdown.csv"}


#: The place is right, but there is no room: the disk, a quota or a limit of the process.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Refused(OSError):
    """A place where no result can be written; the message says why."""


def check(folder: Path, keep: str | None = None) -> None:
    """See that a result can be written at `folder`, so that this is known before hours of simulation."""
    with _reasons(folder):
        target = _target(folder, keep)
        ancestor = next(parent for parent in target.parents if parent.exists())
        with _aside(ancestor / target.name):
            pass


@contextmanager
def replacing(folder: Path, keep: str | None = None) -> Iterator[Path]:
    """Yield an empty folder beside `folder` to write into; rename it into place on success.

    A folder in it with the name `keep` stays there.

    A process that was killed in between leaves a folder with a name that starts with a dot and ends in
    ``.partial``. The next one that writes to the same place removes it. A former result is moved aside first
    and removed last.
    """
    with ExitStack() as stack:
        with _reasons(folder):
            target = _target(folder, keep)
            target.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(target)
            aside = stack.enter_context(_aside(target))
        with _room(folder):
            yield aside
        with _reasons(folder):
            _put_in_place(aside, target, keep)


def write(path: Path, content: bytes) -> None:
    """Write a file that appears as a whole or not at all, and replaces a former one."""
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        with named(path):
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                with suppress(OSError):
                    os.fsync(file.fileno())
            aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def place(path: Path, content: bytes) -> None:
    """Write a file where the caller asked for it; `Refused` if the place is wrong."""
    try:
        write(path, content)
    except OSError as error:
        if error.errno in FULL:
            raise
        raise Refused(f"{path}: cannot be written ({error.strerror})") from error


def create(path: Path, content: bytes) -> None:
    """Write a file that must not be there yet and appears as a whole or not at all; `FileExistsError`."""
    with path.open("xb"):
        pass
    try:
        write(path, content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def table(frame: pl.DataFrame) -> bytes:
    """Return a table as Parquet: the disk's errors occur only when the bytes are written."""
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Say of an error in reading or writing which file it was."""
    try:
        yield
    except OSError as error:
        if error.filename == str(path):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


#: What `duetime plot` puts into any folder.
PICTURES = {"plots"}


def check_growing(folder: Path, parts: set[str]) -> None:
    """Check that a folder can grow here during the work; `Refused` if it holds anything but these parts."""
    with _reasons(folder):
        if folder.exists() and not folder.is_dir():
            raise Refused(f"{folder}: exists and is no folder")
        ancestor = next(each for each in (folder, *folder.parents) if each.exists())
        with _aside(ancestor / "duetime"):
            pass
        for path in sorted(folder.iterdir()) if folder.exists() else []:
            if path.name not in parts | PICTURES and not path.name.endswith(".partial"):
                raise Refused(f"{folder}: holds something else ({path.name}); name another folder")


def is_result(folder: Path) -> bool:
    """Return whether `folder` holds a finished result."""
    return any(_has_version(folder / marker) for marker in MARKERS)


def _target(folder: Path, keep: str | None = None) -> Path:
    target = Path(os.path.realpath(folder))
    if target == Path.cwd() or target in Path.cwd().parents:
        raise Refused(f"{folder}: is the current folder or contains it; name a folder of its own")
    if target.exists() and not target.is_dir():
        raise Refused(f"{folder}: exists and is no folder")
    if target.is_dir() and any(path.name != keep for path in target.iterdir()):
        if not is_result(target):
            raise Refused(f"{folder}: is not empty and holds no former result; name another folder")
        foreign = next(_foreign(target, keep), None)
        if foreign is not None:
            raise Refused(f"{folder}: holds a former result, but also {foreign.name}; name another folder")
    return target


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target`, which is removed in the end, unless it was renamed.

    Where there are locks it is held by one as long as this process lives.
    """
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.partial")
    # Under a name that no process takes for abandoned, until it is held.
    unheld = aside.with_suffix(".new")
    unheld.mkdir()
    held = _hold(unheld)
    try:
        unheld.rename(aside)
        yield aside
    finally:
        for folder in (unheld, aside):
            shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def _hold(folder: Path) -> int | None:
    """Hold a folder by a lock, and give its descriptor; None where another process does, or none can."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_abandoned(target: Path) -> None:
    """Remove folders that ended processes have left beside `target`: no process holds them."""
    for folder in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 12}.partial"):
        with suppress(OSError):
            held = _hold(folder) if folder.is_dir() else None
            if held is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(held)


def _put_in_place(aside: Path, target: Path, keep: str | None) -> None:
    _flush(aside)
    if not target.exists():
        aside.rename(target)
        return
    if keep is not None and (target / keep).exists():
        (target / keep).rename(aside / keep)
    former = aside.with_suffix(".former")
    target.rename(former)
    try:
        aside.rename(target)
    except OSError:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Put the files on the disk before their folder gets its name, lest a power cut leave empty ones."""
    for path in sorted(folder.rglob("*")):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            with suppress(OSError):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _foreign(folder: Path, keep: str | None) -> Iterator[Path]:
    inside = (path for path in folder.rglob("*") if keep is None or folder / keep not in path.parents)
    files = (path for path in inside if not path.is_dir())
    return (path for path in files if path.suffix not in SUFFIXES and path.name not in NAMES)


def _has_version(record: Path) -> bool:
    try:
        value = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(value, dict) and "version" in value


@contextmanager
def _reasons(folder: Path) -> Iterator[None]:
    try:
        with _room(folder):
            yield
    except Refused:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise
        raise Refused(f"{folder}: cannot be written ({error.strerror})") from error


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """Name the folder where there was no room to write in it."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(error.errno, error.strerror, str(folder)) from error
