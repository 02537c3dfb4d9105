"""An estimate compared with a full run of the same network, in the largest size that a budget allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duetime import _core, language
from duetime.engine.points import Point
from duetime.estimates import summary
from duetime.estimates.paths import of_links
from duetime.estimates.task import Runs, Task
from duetime.frames import pl
from duetime.quantities import time_ps

if TYPE_CHECKING:
    from duetime.contract.estimates import Check
    from duetime.contract.scenarios import Traffic

#: The smallest part of the time after the warm-up, where the network cannot be small enough.
SHORTEST = 0.01


@dataclass(frozen=True)
class Held:
    """A smaller network, estimated and run in full."""

    #: The changes against the whole network; empty where it is the whole.
    changes: list[str]
    estimated: pl.DataFrame
    full: pl.DataFrame
    packet_hops: int
    #: Packets dropped, as a share of the packets delivered.
    dropped: float

    def record(self) -> Check:
        """Return the changes, and the figures of both with the estimate's errors."""
        estimated, full = summary.figures(self.estimated), summary.figures(self.full)
        return {
            "set": self.changes,
            "packet_hops": self.packet_hops,
            "dropped": self.dropped,
            "estimated": estimated,
            "full": full,
            "errors": {
                **summary.errors(estimated["summary"], full["summary"]),
                "classes": {
                    name: summary.errors(estimated["classes"][name], each)
                    for name, each in full["classes"].items()
                    if name in estimated["classes"]
                },
            },
        }


def against_full(task: Task, runs: Runs, share: float) -> Held:
    """Estimate and run the largest size of a scenario with about this share of its packet-hops."""
    changes = smaller(task, share)
    made = _changed(task, changes)
    _, estimated = of_links(made, runs)
    (full,) = runs.of([Point(made.read, made.changes, seed=made.seed)])
    dropped = full.run["drops"] / max(full.run["packets_delivered"], 1)
    return Held(changes, estimated, full.table("flows").filter("counted"), full.run["packet_hops"], dropped)


def smaller(task: Task, share: float) -> list[str]:
    """Changes that leave about so much of a scenario: fewer hosts if its shape allows it, or less time."""
    if share >= 1:
        return []
    resolved = task.resolved
    network, changes, left = resolved["network"], [], share
    growth = language.topology(network["topology"])["growth"]
    if growth and all(_anywhere(each) for each in resolved["traffic"]):
        key, power = growth["key"], growth["power"]
        now = _number(network, key)
        size = max(int(now * share ** (1 / power)), growth["min"])
        size -= size % growth["step"]
        part = (size / now) ** power
        tried = [f"network.{key}={size}"]
        for each in resolved["traffic"]:
            if language.pattern(each["pattern"])["queries"]:
                tried.append(f"traffic.{each['name']}.parents={max(round(each['parents'] * part), 1)}")
        if part < 1 and _valid(task, tried):
            changes, left = tried, share / part
    if left < 1:
        run = resolved["run"]
        warm_up = time_ps(run["warm_up"])
        measured = time_ps(run["duration"]) - warm_up
        changes.append(f"run.duration={warm_up + int(measured * max(left, SHORTEST))} ps")
    return changes


def _number(table: Mapping[str, object], key: str) -> float:
    found = table[key]
    assert isinstance(found, int | float), f"{key} of a topology that grows is a number"
    return found


def _anywhere(each: Traffic) -> bool:
    """Return whether a class's hosts are drawn from all hosts, whatever their number."""
    drawn = language.pattern(each["pattern"])["draws_hosts"]
    return drawn and each.get("from") is None and each.get("to") is None


def _valid(task: Task, changes: list[str]) -> bool:
    try:
        _changed(task, changes)
    except _core.ScenarioError:
        return False
    return True


def _changed(task: Task, changes: list[str]) -> Task:
    return Task.of(task.read, (*task.changes, *changes), task.seed)
