"""Finished runs in a folder, each under the hash of everything that decides its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import errors, files, manifest
from duetime.contract import reading

if TYPE_CHECKING:
    import polars as pl

    from duetime.contract.runs import Stored


class Store:
    """A folder with ``<2 hex digits>/<hash>.json`` for each run, and its tables beside.

    A file appears as a whole or not at all, and a run's JSON last: where it is there, the run is finished.
    Several processes may share one folder.
    """

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which need not exist; `Refused` if it cannot be made."""
        self.folder = folder
        #: The checksums of the files that were here, as far as the folder is sealed, and of those kept since.
        self._sums = manifest.read(folder) or {}
        self._made = [each for each in (folder, *folder.parents) if not each.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.Refused(f"{folder}: cannot be written ({error.strerror})") from error

    def undo(self) -> None:
        """Remove the folders that were made for it, if nothing was kept."""
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()

    def record(self, key: str, tables: Sequence[str] = ()) -> Stored | None:
        """Return the record of a finished run; none if it, or one of these tables, is missing."""
        if any(not self._path(key, f".{name}.parquet").exists() for name in tables):
            return None
        path = self._path(key, ".json")
        try:
            content = path.read_bytes()
        except OSError:
            return None
        self._check(path, manifest.digest(content))
        return reading.stored(content)

    def table(self, key: str, name: str) -> pl.DataFrame:
        """Return a table; `FileNotFoundError` if the run was kept without it."""
        path = self._path(key, f".{name}.parquet")
        if not path.exists():
            raise FileNotFoundError(f"{self.folder}: the table `{name}` of this run was not kept")
        self._check(path, manifest.digest_of(path))
        return manifest.parquet(path, verified=self._name(path) in self._sums)

    def keep(self, key: str, record: bytes, tables: Mapping[str, bytes]) -> None:
        """Write a finished run."""
        self._path(key, "").parent.mkdir(exist_ok=True)
        for name, content in tables.items():
            self._write(self._path(key, f".{name}.parquet"), content)
        self._write(self._path(key, ".json"), record)

    def seal(self) -> None:
        """Write the checksums of all files, when everything that was asked for is there.

        Files that have a checksum are not read again: one that was damaged since then stays noticed.
        """
        known = {**(manifest.read(self.folder) or {}), **self._sums}
        paths = {self._name(path): path for path in self.folder.glob("*/*") if path.name[0] != "."}
        sums = {name: known.get(name) or manifest.digest_of(path) for name, path in paths.items()}
        if sums and manifest.read(self.folder) != sums:
            files.write(self.folder / manifest.NAME, manifest.text(sums))

    def _write(self, path: Path, content: bytes) -> None:
        files.write(path, content)
        self._sums[self._name(path)] = manifest.digest(content)

    def _check(self, path: Path, digest: str) -> None:
        """Raise `errors.Damaged` for a file that differs from its checksum; a new one has none."""
        try:
            manifest.compare(path, digest, self._sums.get(self._name(path), digest))
        except errors.Damaged as error:
            raise errors.Damaged(f"{error}; remove it to have its run repeated") from None

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _path(self, key: str, suffix: str) -> Path:
        return self.folder / key[:2] / f"{key}{suffix}"
