"""The factor by which deadlines can be tighter at no more misses than another transport (`duetime tighten`).

``[options.tightening]``: ``against`` names that transport, ``step`` the precision in percent. The rows of the
others hold ``tighter_percent``; all hold the misses with the deadlines as they are written. Where too few
misses back an interval there is none, and a column in ``_seeds`` says how many seeds would do.
"""

from dataclasses import dataclass

from duetime.decide import tighten
from duetime.experiments.study import Row, Study


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.tightening]``, which are described above."""

    against: str
    step: float


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport."""
    options = study.experiment.options.of("tightening", Options)
    found: list[Row] = []
    for cell in study.cells():
        runs = study.deciding(cell, study.transports)
        decided = tighten(runs, against=options.against, step=options.step)
        for name, answer in zip(study.transports, decided.data["answers"], strict=True):
            written, at = answer["as_written_missed_percent"], answer["missed_percent"]
            low, high = answer["ci95"]
            bound = answer["bound_percent"]
            few: Row = {}
            if "seeds" in written:
                few["missed_percent_seeds"] = written["seeds"]
            if "seeds" in answer:
                few["tighter_percent_seeds"] = answer["seeds"]
            found.append(
                {
                    **cell.labels,
                    "transport": name,
                    "runs": len(study.seeds),
                    "missed_percent": written["mean"],
                    "missed_percent_low": written["ci95"][0],
                    "missed_percent_high": written["ci95"][1],
                    "tighter_percent": answer["tighter_percent"],
                    "tighter_percent_low": low,
                    "tighter_percent_high": high,
                    **few,
                    "missed_when_tighter_percent": None if at is None else at["mean"],
                    "bound_percent": None if bound is None else bound["mean"],
                    "levels": len(answer["tried"]),
                }
            )
    return found
