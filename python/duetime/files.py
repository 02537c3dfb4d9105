"""Folders of results that appear as a whole or not at all."""

from __future__ import annotations

import errno
import glob
import io
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import manifest
from duetime.errors import Refused as Refused

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
NAMES = {"slowdown.csv", manifest.NAME}
#: How the name of a former result ends where two folders cannot change names in one step.
FORMER = ".former"


#: The place is right, but there is no room: the disk, a quota or a limit of the process.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def check(folder: Path, keep: str | None = None) -> None:
    """Check that a result can be written at `folder`, before hours of simulation.

    A former result, or its folder `keep`, that a killed process has moved is put back first.
    """
    with _reasons(folder):
        target = _target(folder, keep)
        _remove_abandoned(target, keep)
        ancestor = next(parent for parent in target.parents if parent.exists())
        with _aside(ancestor / target.name):
            pass


@contextmanager
def replacing(folder: Path, keep: str | None = None) -> Iterator[Path]:
    """Yield an empty folder beside `folder` to write into; put it in place of a former one on success.

    A folder in it with the name `keep` stays there.

    Both folders change names in one step, where the file system can do that (`renameat2` of Linux). Elsewhere
    there is a moment with neither; after a kill then, the next process puts the former one back. A process
    that was killed in between leaves a folder with a name that starts with a dot and ends in ``.partial``.
    The next one that writes to the same place removes it.

    The complete folder gets its checksums (`manifest`), and so does each folder in it.
    """
    with ExitStack() as stack:
        with _reasons(folder):
            target = _target(folder, keep)
            target.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(target, keep)
            aside = stack.enter_context(_aside(target))
        with _room(folder):
            yield aside
            manifest.seal_tree(aside)
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


@contextmanager
def sealing(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Remove the checksums of a folder whose files change, and write them anew when they are complete.

    `names` are its possible files; after an error there are no checksums.
    """
    manifest.unseal(folder)
    yield
    sums = {name: manifest.digest_of(folder / name) for name in names if (folder / name).is_file()}
    if sums:
        write(folder / manifest.NAME, manifest.text(sums))


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


#: What `duetime plot` puts into any folder, and the checksums.
PICTURES = {"plots", manifest.NAME}


def check_growing(folder: Path, parts: set[str]) -> None:
    """Check that a folder can grow here during the work; `Refused` if it holds anything but these parts."""
    with _reasons(folder):
        if folder.exists() and not folder.is_dir():
            raise Refused(f"{folder}: exists and is not a directory")
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
        raise Refused(f"{folder}: exists and is not a directory")
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


def _remove_abandoned(target: Path, keep: str | None) -> None:
    """Remove folders that ended processes have left beside `target`: no process holds them.

    A former result that is missing at its place is put back, and so is its folder `keep`.
    """
    beside = f".{glob.escape(target.name)}.{'[0-9a-f]' * 12}"
    for former in sorted(target.parent.glob(beside + FORMER)):
        with suppress(OSError):
            aside = former.with_suffix(".partial")
            held = _hold(aside) if aside.exists() else None
            if aside.exists() and held is None:
                continue
            if target.exists():
                _clear(former, target, keep)
            else:
                former.rename(target)
            if held is not None:
                os.close(held)
    for folder in target.parent.glob(beside + ".partial"):
        with suppress(OSError):
            held = _hold(folder) if folder.is_dir() else None
            if held is not None:
                _clear(folder, target, keep)
                os.close(held)


def _clear(former: Path, target: Path, keep: str | None) -> None:
    """Remove a former result, but for its folder `keep`, which moves to the place of the new one."""
    if keep is not None and (former / keep).exists() and not (target / keep).exists():
        target.mkdir(exist_ok=True)
        (former / keep).rename(target / keep)
    shutil.rmtree(former, ignore_errors=True)


def _put_in_place(aside: Path, target: Path, keep: str | None) -> None:
    _flush(aside)
    if not target.exists():
        aside.rename(target)
        _sync(target.parent)
        return
    former = aside
    if not _exchange(aside, target):
        former = aside.with_suffix(FORMER)
        target.rename(former)
        try:
            aside.rename(target)
        except OSError:
            former.rename(target)
            raise
    _sync(target.parent)
    _clear(former, target, keep)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step; return False where the system or the file system cannot."""
    # Loaded late: only a result that replaces another needs it.
    import ctypes

    here, both_exist = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    done: int = rename(here, os.fsencode(one), here, os.fsencode(other), both_exist)
    return done == 0


def _flush(folder: Path) -> None:
    """Put the files on the disk before their folder gets its name, lest a power cut leave empty ones."""
    for path in sorted(folder.rglob("*")):
        _sync(path)


def _sync(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk where the system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
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
