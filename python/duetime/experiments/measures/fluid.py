"""MCP's evaluation in the fluid model: missed deadlines by type and goodput over the load.

``[options.fluid]``: ``transports``, laws of `duetime.fluid.laws`; ``seconds``, how long; the rest are fields
of `duetime.fluid.sessions.Setting`. Axes of the experiment named ``load`` and ``reading`` select the traffic;
runs of all loads and seeds are in one simulation for each reading and transport.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from duetime.contract.rows import number
from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Study, over_seeds
from duetime.fluid import arrays, engine, laws, sessions
from duetime.quantities import time_ps


@dataclass(frozen=True, kw_only=True)
class Options(sessions.Setting):
    """The keys of ``[options.fluid]``, which are described above."""

    transports: list[str]
    seconds: float
    library: str = "numpy"


def rows(study: Study) -> list[Row]:
    """A row for each reading, load and transport."""
    options = study.experiment.options.of("fluid", Options)
    seconds = time_ps(study.cut) / 1e12 if study.cut else options.seconds
    xp = arrays.namespace(options.library)
    samples: list[tuple[Labels, Metrics]] = []
    for reading in dict.fromkeys(cell.labels["reading"] for cell in study.cells()):
        setting = replace(options, reading=str(reading))
        places = [
            (cell.labels, seed)
            for cell in study.cells()
            if cell.labels["reading"] == reading
            for seed in study.seeds
        ]
        drawn, run_of = sessions.side_by_side(
            [sessions.draw(setting, number(labels, "load"), seconds, seed) for labels, seed in places]
        )
        for name in options.transports:
            law = laws.LAWS[name](xp, sessions.FRAME)
            outcome = engine.simulate(
                xp, drawn.links, drawn.messages, [law], tau=setting.rtt, until=seconds, abort_late=True
            )
            for place, (labels, _) in enumerate(places):
                found = sessions.summary(drawn, outcome.end, seconds, run_of == place)
                samples.append(({**labels, "transport": name}, found))
    return over_seeds(samples)
