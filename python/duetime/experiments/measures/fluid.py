"""MCP's evaluation in the fluid model: missed deadlines by type and goodput over the load.

``[options.fluid]``: ``transports``, laws of `duetime.fluid.laws`; ``seconds``, how long; the rest are fields
of `duetime.fluid.sessions.Setting`. Axes of the experiment named ``load`` and ``reading`` select the traffic;
runs of all loads and seeds are in one simulation for each reading and transport.
"""

from __future__ import annotations

from typing import Any

from duetime.experiments.experiment import Labels
from duetime.experiments.study import Metrics, Row, Study, over_seeds
from duetime.quantities import time_ps


def rows(study: Study) -> list[Row]:
    """A row for each reading, load and transport."""
    # Loaded late: only this measure needs them, and they need numpy.
    from duetime.fluid import arrays, engine, laws, sessions

    options: dict[str, Any] = dict(study.experiment.options["fluid"])
    names, seconds = options.pop("transports"), options.pop("seconds")
    if study.cut:
        seconds = time_ps(study.cut) / 1e12
    xp = arrays.namespace(options.pop("library", "numpy"))
    samples: list[tuple[Labels, Metrics]] = []
    for reading in dict.fromkeys(cell.labels["reading"] for cell in study.cells()):
        setting = sessions.Setting(reading=reading, **options)
        places = [
            (cell.labels, seed)
            for cell in study.cells()
            if cell.labels["reading"] == reading
            for seed in study.seeds
        ]
        drawn, run_of = sessions.side_by_side(
            [sessions.draw(setting, labels["load"], seconds, seed) for labels, seed in places]
        )
        for name in names:
            law = laws.LAWS[name](xp, sessions.FRAME)
            outcome = engine.simulate(
                xp, drawn.links, drawn.messages, [law], tau=setting.rtt, until=seconds, abort_late=True
            )
            for number, (labels, _) in enumerate(places):
                found = sessions.summary(drawn, outcome.end, seconds, run_of == number)
                samples.append(({**labels, "transport": name}, found))
    return over_seeds(samples)
