"""Commands whose libraries are heavy, as functions: they load what they need when they are called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from duetime import scenario

if TYPE_CHECKING:
    from duetime.estimates import Estimate
    from duetime.experiments.reproduce import Reproduction

#: The default limit in packet-hops of the full run that an estimate is compared with: some ten seconds of one
#: core.
BUDGET = 20_000_000


def estimate(
    source: scenario.Source,
    *,
    out: str | os.PathLike[str],
    set: scenario.Changes | None = None,
    seed: int | None = None,
    transport: str | None = None,
    budget: int = BUDGET,
    always: bool = False,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate slowdown by size and missed deadlines of a scenario from simulations of single links.

    `source`, `set`, `seed` and `transport` are the same as for `run`, `progress` and `jobs` the same as for
    `compare`. Simulations of links are kept in ``out/runs``, so that a call that was stopped resumes;
    ``out/messages.parquet`` has a row for each message with its estimated completion time. The estimate is
    corrected by a full run of the same network, in the largest size that takes at most about `budget`
    packet-hops. It states a range for each figure; 0 leaves this out. Where a full run of the whole is
    expected to take no more packet-hops than all this, it is made instead, unless `always` asks for the
    estimate.

    Raises what `run` raises, `errors.Unreadable` for what no estimate can be made of, `errors.Refused` for a
    folder that holds something else, and `errors.Failed` where a simulation fails.
    """
    # Loaded late: it needs numpy and polars.
    from duetime.estimates import Task, estimated

    task = Task.of(scenario.read(source), scenario.changes(set), seed, transport)
    return estimated(task, Path(out), budget, jobs, progress, always)


def reproduce(
    name: str,
    *,
    scale: Literal["quick", "paper"] = "quick",
    seeds: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] = "out/reproduce",
    set: Sequence[str] = (),
    variants: int = 0,
    experiments: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Repeat the experiment `name` ("d2tcp/fig10"), judge its claims, and write both into ``out/name``.

    Runs are kept in ``out/points`` and never made twice. With `variants` the claims are judged anew in so
    many variants of the settings that the scenario leaves open. `experiments` is a folder of them, by default
    the one shipped with duetime. Raises what `run` raises, and
    `errors.UnknownExperiment`, which names the nearest one.
    """
    # Loaded late: the measures of experiments need polars.
    from duetime.experiments.experiment import read
    from duetime.experiments.places import folder, path_of
    from duetime.experiments.reproduce import reproduce as repeat

    root = folder(None if experiments is None else Path(experiments))
    return repeat(
        read(path_of(root, name)),
        scale=scale,
        seeds=seeds,
        jobs=jobs,
        out=Path(out),
        set=set,
        variants=variants,
    )


def plot(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> list[Path]:
    """Draw every picture that a folder of results allows; give the paths of the pictures.

    `folder` is what any of the commands wrote with ``--out``, or a Parquet file of ``d2tcp trace``. The
    pictures are written to `out`, by default ``plots`` in the folder. Raises `errors.NoResults` (a
    `ValueError`), and `errors.Missing` without matplotlib.
    """
    from duetime.plots import plot_dir, plot_trace

    source, target = Path(folder), None if out is None else Path(out)
    return plot_trace(source, target) if source.suffix == ".parquet" else plot_dir(source, target)
