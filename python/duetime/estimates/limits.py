"""The limits of an estimate: cases that it cannot represent, and cases that only lower its accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from duetime import errors, language
from duetime.contract import reading
from duetime.estimates.traffic import Traffic, transports
from duetime.foreseen import Column
from duetime.quantities import counted

if TYPE_CHECKING:
    from duetime.contract.estimates import Coverage
    from duetime.contract.scenarios import Resolved
    from duetime.estimates.check import Held

#: By the profile of the networks that ranges were calibrated with: how many these and others were, and in how
#: many of the others all ranges held. `bench/coverage.py test` writes it.
COVERAGE = Path(__file__).with_name("coverage.json")
#: The share of networks in which all ranges are to hold.
LEVEL = 0.9
#: Transports of the networks that ranges were calibrated with.
CALIBRATED = {"tcp", "cubic", "dctcp", "d2tcp", "d2tcp_plus", "xdctcp", "hull", "pfabric", "mcp"}
#: Of the packets that a check delivered, so many were dropped at most there.
MAX_DROPPED = 0.05
#: A check of fewer messages says too little of any figure.
MIN_MESSAGES = 100
#: How the names of hosts begin.
HOST = "host "
#: A share of answers below this that meet at several links is not worth a word.
FEW = 0.01


def refuse(resolved: Resolved, name: str) -> None:
    """Raise `Unreadable` for a scenario of which links cannot be simulated one by one."""

    def no(what: str, why: str) -> errors.Unreadable:
        return errors.Unreadable(
            f"{name}: {what}: an estimate simulates each link by itself, and {why}; "
            "`duetime run` simulates it"
        )

    for own in transports(resolved):
        if not language.transport(own["name"])["by_senders"]:
            raise no(
                f"transport {own['name']}",
                "what its switches or receivers decide rests on several links of a path at once",
            )
    for each in resolved["traffic"]:
        pattern = language.pattern(each["pattern"])
        if pattern["endless"]:
            raise no(
                f"class `{each['name']}`",
                "flows without end take what all the links of their path leave them",
            )
        if pattern["waits"] or each.get("levels", 1) > 1:
            raise no(f"class `{each['name']}`", "when its messages start follows from when others arrive")
    if resolved.get("fault"):
        raise no("fault", "a fault moves flows to other links")
    if resolved["run"]["engine"] != "packets":
        raise no("run.engine", "does so packet by packet")


def refuse_hosts(traffic: Traffic, name: str) -> None:
    """Raise `Unreadable` for a network whose hosts have several links, or links to each other."""
    at_hosts = [(src, dst) for src, dst in traffic.names if src.startswith(HOST)]
    if len({src for src, _ in at_hosts}) < len(at_hosts) or any(dst.startswith(HOST) for _, dst in at_hosts):
        raise errors.Unreadable(
            f"{name}: network.topology: an estimate simulates each link by itself, with hosts that have no "
            "other one, and here hosts have several or pass packets on; `duetime run` simulates it"
        )


def warnings(traffic: Traffic) -> Iterator[str]:
    """Say which assumptions do not hold."""
    resolved = traffic.resolved
    yield from _untested(resolved.get("profile"), reading.coverage(COVERAGE.read_text(encoding="utf-8")))
    for each in resolved["traffic"]:
        if each.get("connections") == "persistent":
            yield (
                f"class `{each['name']}`: its messages wait for each other on connections that stay open, "
                "and this wait is counted at every link: completion times come out too long"
            )
    together = meeting(traffic)
    for number, each in enumerate(resolved["traffic"]):
        own = traffic.classes == number
        share = float(together[own].mean()) if own.any() else 0.0
        if share >= FEW:
            yield (
                f"class `{each['name']}`: correlated incast: {100 * share:.0f} % of its messages meet a "
                "burst of their own query at more than one link; the longest of their delays there counts, "
                "as the first link spreads the burst for the next"
            )


def _untested(profile: str | None, coverage: Mapping[str, Coverage]) -> Iterator[str]:
    """Yield a warning where ranges of a profile were not calibrated, or held too seldom in other networks."""
    if profile is None or profile not in coverage:
        names = " and ".join(coverage)
        yield f"ranges were calibrated with the profiles {names}, and not with {profile or 'none'}"
        return
    tested, held = coverage[profile]["tested"], coverage[profile]["held"]
    if held < LEVEL * tested:
        yield f"ranges: with the profile {profile} they held in {held} of {tested} networks, not nine of ten"


def outside(traffic: Traffic, held: Held | None) -> Iterator[str]:
    """Say why no range can be stated: what the networks that ranges were calibrated with did not have."""
    if held is None:
        yield "no range is stated: the estimate is not held against a full run (--check)"
        return
    queue = traffic.resolved["network"].get("host_queue", "unlimited")
    for each in transports(traffic.resolved):
        if each["name"] not in CALIBRATED:
            yield f"no range is stated: none was calibrated for {each['name']}"
        elif each.get("nic_limit") is None and queue == "unlimited":
            yield (
                f"no range is stated: hosts queue all that the windows of {each['name']} allow "
                "(network.host_queue), of which an estimate makes too much: take its figures as too high"
            )
    if any(each.get("connections") == "persistent" for each in traffic.resolved["traffic"]):
        yield "no range is stated: none was calibrated for connections that stay open"
    if held.full.height < MIN_MESSAGES:
        yield (
            f"no range is stated: the check has {counted(held.full.height, 'message')}, and {MIN_MESSAGES} "
            "are needed (a larger --check)"
        )
    if held.dropped > MAX_DROPPED:
        yield (
            f"no range is stated: the check dropped {100 * held.dropped:.1f} % of its packets, and "
            f"ranges were calibrated up to {100 * MAX_DROPPED:.0f} % (duetime run has no such limit)"
        )


def meeting(traffic: Traffic) -> Column:
    """Return whether a message meets others of its query at several links whose capacity they exceed."""
    return np.bincount(traffic.row, weights=crowded(traffic), minlength=len(traffic.start)) > 1


def crowded(traffic: Traffic) -> Column:
    """Return whether each crossing of a link meets others of its query there, more than the link carries.

    The senders of a query's messages that cross a link could together send faster than the link, so that
    their packets queue there.
    """
    asked = traffic.query[traffic.row] >= 0
    found = np.zeros(len(traffic.hops), dtype=bool)
    if not asked.any():
        return found
    row, link = traffic.row[asked], traffic.hops[asked]
    burst = np.stack([link, traffic.classes[row], traffic.query[row]])
    _, which = np.unique(burst, axis=1, return_inverse=True)
    which = which.ravel()
    sent = np.bincount(which, weights=traffic.rate[traffic.hops[traffic.first[row]]].astype(float))
    many = np.bincount(which)
    found[asked] = (many[which] > 1) & (sent[which] > traffic.rate[link])
    return found
