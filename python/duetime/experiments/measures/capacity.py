"""The limit of a parameter up to which enough deadlines are met (`duetime capacity`).

``[options.capacity]``: the parameter ``over``, its first and last value ``from`` and ``to``, the ``step``,
and ``target``, the percentage of deadlines that may be missed. Ends of the interval are the values that
surely hold and that may hold, with 95 % confidence. 0: not even the first value holds. Where too few misses
back them there are none, and ``capacity_seeds`` is about how many seeds would do.
"""

from dataclasses import dataclass

from duetime.contract.rows import Cell
from duetime.decide import capacity
from duetime.experiments.study import Row, Study


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.capacity]``, which are described above."""

    over: str
    from_: Cell
    to: Cell
    step: Cell
    target: float


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport."""
    options = study.experiment.options.of("capacity", Options)
    found: list[Row] = []
    for cell in study.cells():
        for transport in study.transports:
            runs = study.deciding(cell, [transport])
            decided = capacity(
                runs,
                target=options.target,
                over=options.over,
                start=str(options.from_),
                end=str(options.to),
                step=str(options.step),
            )
            (answer,) = decided.data["answers"]
            few: Row = {"capacity_seeds": answer["seeds"]} if "seeds" in answer else {}
            low, high = (None if few else end or 0 for end in answer["ci95"])
            found.append(
                {
                    **cell.labels,
                    "transport": transport,
                    "runs": len(study.seeds),
                    "capacity": answer["largest"] or 0,
                    "capacity_low": low,
                    "capacity_high": high,
                    **few,
                    "bound_percent": None
                    if answer["bound_percent"] is None
                    else answer["bound_percent"]["mean"],
                    "levels": len(answer["tried"]),
                }
            )
    return found
