"""An estimate of a scenario, link by link or by a full run where that costs less."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import _core, errors, files
from duetime.display import estimates as display
from duetime.display import grid
from duetime.engine.points import Point
from duetime.estimates import check, correct, limits, paths, ranges, summary, traffic
from duetime.estimates.paths import Cut
from duetime.estimates.task import Runs, Task
from duetime.estimates.traffic import Traffic
from duetime.frames import pl

if TYPE_CHECKING:
    from duetime.contract import estimates as contract

RUNS = "runs"
RECORD, MESSAGES = "estimate.json", "messages.parquet"
#: What a folder of ours holds.
PARTS = {RUNS, RECORD, MESSAGES, "report.html"}


@dataclass(frozen=True, repr=False)
class Estimate:
    """An estimate: `data` is the object that ``duetime estimate --json`` prints."""

    data: contract.Estimate

    def __repr__(self) -> str:
        """Name the scenario, the transport and the seed."""
        return f"<Estimate of {self.data['title']!r}: {self.data['transport']}, seed {self.data['seed']}>"

    def _repr_html_(self) -> str:
        """Show the table of ``duetime estimate`` in a notebook."""
        return grid.html(*display.table(self))


def estimated(
    task: Task, out: Path, budget: int, jobs: int | None, progress: bool | None, always: bool = False
) -> Estimate:
    """Make an estimate, and write it into a folder: `functions.estimate` says more."""
    limits.refuse(task.resolved, task.read.name)
    files.check_growing(out, PARTS)
    runs = Runs(out / RUNS, jobs, progress)
    begun = time.process_time()
    drawn = traffic.of(task.resolved, task.read, task.changes, task.seed)
    limits.refuse_hosts(drawn, task.read.name)
    if not drawn.counted.any():
        raise errors.Unreadable(f"{task.read.name}: no message starts in the measured time")
    cut = paths.cut_out(drawn)
    cost = _cost(drawn.packet_hops, cut, budget)
    if cost["run"] <= cost["links"] + cost["check"] and not always:
        made, messages = _in_full(task, runs)
    else:
        made, messages = _by_links(task, runs, drawn, cut, budget)
    own, figures = task.resolved.get("transport"), summary.figures(messages)
    found: contract.Estimate = {
        "title": task.resolved["title"],
        "seed": task.seed,
        "transport": own and own["name"],
        "summary": figures["summary"],
        "classes": figures["classes"],
        "sizes": figures["sizes"],
        "method": made["method"],
        "links": made["links"],
        "ranges": made["ranges"],
        "warnings": made["warnings"],
        "check": made["check"],
        "cost": cost,
        "notes": task.notes,
    }
    record = json.dumps({"version": _core.version(), **found}, indent=1, ensure_ascii=False) + "\n"
    with files.sealing(out, [RECORD, MESSAGES]):
        files.write(out / RECORD, record.encode())
        files.write(out / MESSAGES, files.table(messages))
    found["cpu_s"] = time.process_time() - begun
    return Estimate(found)


#: The cost of a simulation in addition to its packet-hops, in packet-hops. It is 30 ms to write, read and
#: start it, at ten million packet-hops a second. Measured at the networks of `bench/networks.py`.
PER_SIMULATION = 300_000
#: Messages that are sent alone and second simulations of links between switches take so much more: 1.2 to 1.8
#: times the rest at the same networks.
AND_ALONE = 1.4


def _cost(packet_hops: int, cut: Cut, budget: int) -> contract.Cost:
    """Return the packet-hops that a full run, the links and the check should take, with no loss."""
    links = sum(int(AND_ALONE * each.packet_hops) + PER_SIMULATION for each in cut[1])
    share = min(budget / packet_hops, 1.0)
    return {"run": packet_hops, "links": links, "check": int(share * (packet_hops + links))}


def _in_full(task: Task, runs: Runs) -> tuple[contract.Made, pl.DataFrame]:
    """Run the scenario: its figures have no error."""
    (run,) = runs.of([Point(task.read, task.changes, seed=task.seed)])
    made: contract.Made = {"method": "run", "links": None, "ranges": None, "warnings": [], "check": None}
    return made, summary.of_run(run.table("flows"))


def _by_links(
    task: Task, runs: Runs, drawn: Traffic, cut: Cut, budget: int
) -> tuple[contract.Made, pl.DataFrame]:
    """Estimate the scenario link by link, and correct it by a full run of a smaller size."""
    completion, links = paths.completion(drawn, task.seed, runs, cut)
    messages = summary.messages(drawn, completion)
    held = check.against_full(task, runs, budget / drawn.packet_hops) if budget else None
    if held is not None:
        messages = correct.corrected(messages, held.estimated, held.full)
    outside = list(limits.outside(drawn, held))
    record = None if held is None else held.record()
    return {
        "method": "links",
        "links": links,
        "ranges": None if outside or record is None else ranges.of(summary.figures(messages), record),
        "warnings": [*limits.warnings(drawn), *outside],
        "check": record,
    }, messages
