"""A report: one HTML page that needs no network, of results reproduced, swept, searched or compared.

`READERS` lists the kinds of folder; each is a module that gives the experiments of `model`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from duetime import files, manifest
from duetime.errors import NoReport
from duetime.report.model import Experiment

__all__ = ["NoReport", "report"]


def _reader(name: str) -> Callable[[Path], list[Experiment]]:
    """Return a function that calls a module's `read`; the module is loaded at the first call."""

    def read(folder: Path) -> list[Experiment]:
        found: list[Experiment] = import_module(f"{__name__}.{name}").read(folder)
        return found

    return read


#: Each reads a folder and returns its experiments, or none where it is of another kind.
READERS = {
    name: _reader(name) for name in ("reproduced", "swept", "decided", "varied", "estimated", "compared")
}


def report(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write the report of `folder` to `out` (default: ``report.html`` in the folder); give its path.

    `folder` is what ``duetime reproduce``, ``sweep``, ``tighten``, ``capacity``, ``need``, ``robust``,
    ``estimate``, ``compare`` or ``run`` wrote with ``--out``. The same folder gives the same bytes. Raises
    `NoReport` when there is nothing to report, `errors.Refused` (an `OSError`) when the page cannot be
    written.
    """
    # Loaded late: jinja2 and matplotlib take most of a second.
    from duetime.report import page

    source = Path(folder)
    target = Path(out) if out is not None else source / "report.html"
    with manifest.understood(source):
        text = page.render(experiments(source))
    files.place(target, text.encode())
    return target


def experiments(folder: Path) -> list[Experiment]:
    """Everything that the folder holds, in the order of a reader's expectation."""
    if not folder.is_dir():
        raise NoReport(f"{folder}: is not a directory")
    manifest.check_result(folder)
    for read in READERS.values():
        found = read(folder)
        if found:
            return found
    raise NoReport(
        f"{folder}: holds nothing to report; expected what `duetime reproduce`, `sweep`, `tighten`, "
        "`capacity`, `need`, `robust`, `estimate`, `compare` or `run` wrote with --out"
    )
