"""The table of a comparison's variants: what each transport gave in every one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duetime.display.grid import Column, Grid, Shown

if TYPE_CHECKING:
    from duetime.robustness import Robustness


def table(found: Robustness) -> Shown:
    """The table of variants, and the sentences below it."""
    title = f"{found.title}: {found.measure.name} [{found.measure.unit}]"
    grid = Grid(["variant"], [Column(name) for name in found.transports], title)
    for each in found.outcomes:
        values = (each.words(name) for name in found.transports)
        grid.add([each.variant.words], list(values))
    return grid, [verdict.sentence for verdict in found.verdicts]
