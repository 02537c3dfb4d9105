"""Locations and names of experiments: the file ``d2tcp/fig10.toml`` is ``d2tcp/fig10``."""

from __future__ import annotations

import difflib
from pathlib import Path

from duetime.data import EXPERIMENTS
from duetime.errors import NoExperiments, UnknownExperiment

#: In the folder of experiments; everything else with this suffix, one folder down, is one.
PUBLISHED, REGIMES, FACTS = "published.toml", "regimes.toml", "facts.toml"
#: The name of this error in former versions.
Unknown = UnknownExperiment


def folder(given: Path | None = None) -> Path:
    """The folder of experiments: the one given, else that of the package."""
    here = given or EXPERIMENTS
    if (here / PUBLISHED).is_file():
        return here
    raise NoExperiments(f"{here}: holds no experiments (no {PUBLISHED})")


def names(root: Path) -> list[str]:
    """Return every experiment, grouped by paper and in the order of the figures."""
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/*.toml"))


def path_of(root: Path, name: str) -> Path:
    """The file of an experiment; `UnknownExperiment` names the nearest one."""
    known = names(root)
    if name in known:
        return root / f"{name}.toml"
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UnknownExperiment(f"no experiment is called `{name}`{hint} (`duetime reproduce --list` shows all)")
