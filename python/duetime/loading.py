"""Folders of results, read again as what the call gave that wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from duetime import manifest
from duetime.comparison import AnyComparison, comparison_of
from duetime.contract import reading
from duetime.contract.nothing import Nothing
from duetime.decide import Decision
from duetime.engine.points import Kept, Point
from duetime.engine.store import Store
from duetime.errors import Unreadable
from duetime.results import load_run
from duetime.robustness import MEASURES, SEED, Choice, Outcome, Robustness, Variant
from duetime.statistics import BOUNDS
from duetime.sweeping import RUNS, Sweep, Swept
from duetime.transports import in_folder

if TYPE_CHECKING:
    from duetime.contract import variants
    from duetime.estimates import Estimate
    from duetime.experiments.reproduce import Reproduction

R = TypeVar("R")


def load(folder: str | os.PathLike[str]) -> Any:
    """Read a folder that ``--out``, ``out=`` or ``save`` wrote; return an object as the call did.

    The folder of a run gives a `Result`, of a comparison a `Comparison`, of a sweep a `Swept` (whose runs
    must still be in it). That of ``tighten``, ``capacity`` and ``need`` gives a `Decision`, of ``robust`` a
    `Robustness`, of ``estimate`` an `Estimate`, of an experiment a `Reproduction`. Any other folder raises
    `FileNotFoundError`, which names the folders inside that can be read.

    Files that differ from the checksums in the folder raise `errors.Damaged`: records and pictures here,
    tables when they are first read.
    """
    path = Path(folder)
    for name, read in READERS.items():
        if (path / name).is_file():
            with manifest.understood(path / name, always=True):
                manifest.check_result(path)
                found = read(path)
                # A record without the values of its first line is named here, not when it is printed.
                repr(found)
                return found
    inside = sorted({str(found.parent) for name in READERS for found in path.glob(f"*/**/{name}")})
    more = f"; these do: {', '.join(inside[:5])}" if inside else ""
    raise FileNotFoundError(f"{folder}: holds no result{more}")


def _comparison(folder: Path) -> AnyComparison:
    record = _record(folder / "compare.json", reading.comparison)
    by_seed, seeds = {}, None
    for name in record["runs"]:
        inside = folder / in_folder(name)
        of_seeds = sorted(inside.glob("seed-*"), key=lambda path: int(path.name[5:]))
        by_seed[name] = [load_run(path) for path in of_seeds or [inside]]
        seeds = max(seeds or 0, len(of_seeds)) or None
    found = comparison_of(by_seed, seeds, record["interrupted"], record["against"])
    found.limits = record.get("limits", [])
    return found


def _swept(folder: Path) -> Swept:
    record = _record(folder / "sweep.json", reading.sweep)
    sweep = Sweep(
        record["title"],
        Path(record["scenario"]),
        tuple(record["transports"] or [None]),
        tuple(record["seeds"]),
        tuple(record["shared"]),
        tuple(record["keys"]),
        tuple(tuple(values) for values in record["points"]),
        tuple(tuple(changes) for changes in record["changes"]),
        record["against"],
    )
    store = Store(folder / RUNS)
    points, each = sweep.points, len(sweep.transports) * len(sweep.seeds)
    reasons = {
        (failed["point"], failed["transport"], failed["seed"]): str(failed["error"])
        for failed in record["failures"]
    }
    return Swept(
        sweep,
        [
            _kept(point, key, store, reasons.get((number // each, point.name, point.seed)))
            for number, (point, key) in enumerate(zip(points, record["results"], strict=True))
        ],
    )


def _record(path: Path, read: Callable[[bytes], R]) -> R:
    """Return the JSON object in a file of a result; `Unreadable` if it is none."""
    found = read(manifest.content(path))
    if not isinstance(found, dict):
        raise Unreadable(f"{path}: is not what duetime writes: it holds no JSON object")
    return found


def _kept(point: Point, key: str, store: Store, error: str | None) -> Kept:
    if error is not None:
        return Kept(point, key, Nothing(), error)
    found = store.record(key)
    if found is None:
        raise FileNotFoundError(f"{store.folder}: a run of this sweep is no longer there; sweep again")
    return Kept(point, key, found["result"], None, found["scenario"], (), store)


def _decision(question: str) -> Callable[[Path], Decision]:
    def read(folder: Path) -> Decision:
        return Decision(_record(folder / f"{question}.json", reading.search))

    return read


def _robustness(folder: Path) -> Robustness:
    record = _record(folder / "robust.json", reading.robustness)
    measure = next(each for each in MEASURES if each.name == record["measure"]["name"])
    outcomes = [
        Outcome(Variant(tuple(_choices(each))), each["values"], each["error"], each.get(BOUNDS) or {})
        for each in record["variants"]
    ]
    return Robustness(record["title"], tuple(record["transports"]), measure, tuple(outcomes))


def _choices(variant: variants.Variant) -> list[Choice]:
    """The choices of a variant; the record has their changes together, and the first has them here."""
    left = tuple(variant["set"])
    found = []
    for name, value in variant["choices"].items():
        found.append(Choice(name, value, ("seed",) if name == SEED else left))
        left = left if name == SEED else ()
    return found


def _estimate(folder: Path) -> Estimate:
    # Loaded late: it needs numpy and polars, which many folders do not.
    from duetime.estimates import Estimate

    record = _record(folder / "estimate.json", reading.estimate)
    del record["version"]
    return Estimate(record)


def _reproduction(folder: Path) -> Reproduction:
    # Loaded late: the measures of experiments need polars, which many folders do not.
    from duetime.experiments.reproduce import Reproduction

    path = folder / "result.json"
    record = _record(path, reading.reproduction)
    missing = [key for key in ("id", "title", "charts", "rows", "claims") if key not in record]
    if missing:
        raise Unreadable(f"{path}: is not what duetime writes: it has no {missing[0]!r}")
    return Reproduction(record, [])


#: The file that identifies a folder, and the function that reads it.
READERS: dict[str, Callable[[Path], object]] = {
    "run.json": load_run,
    "compare.json": _comparison,
    "sweep.json": _swept,
    **{f"{question}.json": _decision(question) for question in ("tighten", "capacity", "need")},
    "robust.json": _robustness,
    "estimate.json": _estimate,
    "result.json": _reproduction,
}
