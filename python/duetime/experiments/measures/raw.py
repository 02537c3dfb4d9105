"""The xDCTCP study's own results, which are not ours to copy: how far the points of our grid are from them.

``[options.raw]``: ``folder``, relative to the experiment, for the study's files ``avgfile_*.tr``; and
``record``, the result of a former comparison, which is used where the files are missing.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from duetime.contract import reading
from duetime.contract.rows import number
from duetime.experiments.measures.summary import sample
from duetime.experiments.study import Metrics, Row, Study

#: Columns of our rows, and what they are called.
QUANTITIES = {
    "delay_us": "delay of flows 0 to 4",
    "query_us": "delay of the query flows",
    "short_us": "delay of the short flows",
    "long_mbps": "throughput of a long flow",
}
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.raw]``, which are described above."""

    folder: str
    record: str


def rows(study: Study) -> list[Row]:
    """A row for each quantity."""
    options, here = study.experiment.options.of("raw", Options), study.experiment.path.parent
    theirs = read(here / options.folder)
    if not theirs:
        return reading.real((here / options.record).read_text(encoding="utf-8"))["rows"]
    ours: dict[Point, Metrics] = {}
    for run in study.runs():
        (_, metrics), *_ = sample(study, run)
        ours[number(run.labels, "g"), number(run.labels, "ns"), number(run.labels, "nl")] = metrics
    points = [point for point in ours if point in theirs]
    return [
        {
            "transport": "xdctcp",
            "setting": "this version",
            "quantity": name,
            **compared([_known(ours[p][column]) for p in points], [theirs[p][column] for p in points]),
        }
        for column, name in QUANTITIES.items()
    ]


def _known(value: float | None) -> float:
    assert value is not None, "every run of the grid has these figures"
    return float(value)


def read(folder: Path) -> dict[Point, dict[str, float]]:
    """The study's files: first line the point, then for each flow its number, mean delay in s, and Mbit."""
    found: dict[Point, dict[str, float]] = {}
    for path in sorted(folder.glob("avgfile_*.tr")):
        head, *lines = [line.split() for line in path.read_text(encoding="ascii").split("\n") if line.strip()]
        g, ns, nl = (round(float(word), 6) for word in head)
        delays = [1e6 * float(line[1]) for line in lines]
        found[g, ns, nl] = {
            "delay_us": float(np.mean(delays[:5])),
            "query_us": float(np.mean(delays[:2])),
            "short_us": float(np.mean(delays[2:5])),
            "long_mbps": float(np.mean([float(line[2]) for line in lines[5:]])),
        }
    return found


def compared(ours: list[float], theirs: list[float]) -> dict[str, float]:
    """Return the errors of ours in percent of theirs, over all points."""
    error = 100 * (np.array(ours) / np.array(theirs) - 1)
    return {
        "points": len(ours),
        "error_percent": float(error.mean()),
        "error_sd": float(error.std()),
        "error_percent_low": float(error.min()),
        "error_percent_high": float(error.max()),
        "beyond_3_percent": int((abs(error) > 3).sum()),
        "correlation": float(np.corrcoef(ours, theirs)[0, 1]),
    }
