"""A report: one HTML page that needs no network, from what was reproduced, swept, searched or compared.

`READERS` lists the kinds of folder; each is a module that gives the experiments of `model`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

from duetime.files import Refused
from duetime.report import compared, decided, page, reproduced, swept, varied
from duetime.report.model import Experiment, NoReport

__all__ = ["NoReport", "report"]

#: Each looks at a folder and gives its experiments, or none where it is of another kind.
READERS: tuple[Callable[[Path], list[Experiment]], ...] = (
    reproduced.read,
    swept.read,
    decided.read,
    varied.read,
    compared.read,
)


def report(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write the report of `folder` to `out` (default: ``report.html`` in the folder); give its path.

    `folder` is what ``duetime reproduce``, ``sweep``, ``tighten``, ``capacity``, ``robust``, ``compare`` or
    ``run`` wrote with ``--out``. The same folder gives the same bytes. Raises `NoReport` when there is
    nothing to report, `files.Refused` (an `OSError`) when the page cannot be written.
    """
    source = Path(folder)
    target = Path(out) if out is not None else source / "report.html"
    text = page.render(experiments(source))
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(target)
    except OSError as error:
        raise Refused(f"{target}: cannot be written ({error.strerror})") from error
    finally:
        aside.unlink(missing_ok=True)
    return target


def experiments(folder: Path) -> list[Experiment]:
    """Everything that the folder holds, in the order of a reader's expectation."""
    if not folder.is_dir():
        raise NoReport(f"{folder}: is no folder")
    for read in READERS:
        found = read(folder)
        if found:
            return found
    raise NoReport(
        f"{folder}: holds nothing to report; expected what `duetime reproduce`, `sweep`, `tighten`, "
        "`capacity`, `robust`, `compare` or `run` wrote with --out"
    )
