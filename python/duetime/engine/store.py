"""Finished runs in a folder, each under the hash of everything that decides its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duetime import errors, files

if TYPE_CHECKING:
    import polars as pl


class Store:
    """A folder with ``<2 hex digits>/<hash>.json`` for each run, and its tables beside.

    A file appears as a whole or not at all, and a run's JSON last: where it is there, the run is finished.
    Several processes may share one folder.
    """

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which need not exist; `Refused` if it cannot be made."""
        self.folder = folder
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

    def record(self, key: str, tables: Sequence[str] = ()) -> dict[str, Any] | None:
        """Return the record of a finished run; none if it, or one of these tables, is missing."""
        if any(not self._path(key, f".{name}.parquet").exists() for name in tables):
            return None
        try:
            kept = json.loads(self._path(key, ".json").read_bytes())
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) and "result" in kept else None

    def table(self, key: str, name: str) -> pl.DataFrame:
        """Return a table; `FileNotFoundError` if the run was kept without it."""
        from duetime.frames import pl

        path = self._path(key, f".{name}.parquet")
        if not path.exists():
            raise FileNotFoundError(f"{self.folder}: the table `{name}` of this run was not kept")
        return pl.read_parquet(path)

    def keep(self, key: str, record: bytes, tables: Mapping[str, bytes]) -> None:
        """Write a finished run."""
        self._path(key, "").parent.mkdir(exist_ok=True)
        for name, content in tables.items():
            files.write(self._path(key, f".{name}.parquet"), content)
        files.write(self._path(key, ".json"), record)

    def _path(self, key: str, suffix: str) -> Path:
        return self.folder / key[:2] / f"{key}{suffix}"
