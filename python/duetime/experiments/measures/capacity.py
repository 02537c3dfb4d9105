"""The limit of a parameter up to which enough deadlines are met (`duetime capacity`).

``[options.capacity]``: the parameter ``over``, its first and last value ``from`` and ``to``, the ``step``,
and ``target``, the percentage of deadlines that may be missed. Ends of the interval are the values that
surely hold and that may hold, with 95 % confidence. 0: not even the first value holds. Where too few misses
back them there are none, and ``capacity_seeds`` is about how many seeds would do.
"""

from duetime.decide import capacity
from duetime.experiments.study import Row, Study


def rows(study: Study) -> list[Row]:
    """A row for each cell and transport."""
    options = study.experiment.options["capacity"]
    found = []
    for cell in study.cells():
        for transport in study.transports:
            runs = study.deciding(cell, [transport])
            decided = capacity(
                runs,
                target=options["target"],
                over=options["over"],
                start=str(options["from"]),
                end=str(options["to"]),
                step=str(options["step"]),
            )
            (answer,) = decided.data["answers"]
            few = {"capacity_seeds": answer["seeds"]} if "seeds" in answer else {}
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
