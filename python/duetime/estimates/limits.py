"""Of what an estimate can speak, and where only its accuracy suffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from duetime import scenario
from duetime.estimates.traffic import Column, Traffic, transports

#: Transports whose senders decide by themselves from what comes back: of them a link can be simulated alone.
BY_SENDERS = {
    "tcp", "tcppr", "cubic", "dctcp", "d2tcp", "d2tcp_plus", "xdctcp", "hull", "pfabric", "mcp", "karuna",
    "jit",
}  # fmt: skip
#: A share of answers below this that meet at several links is not worth a word.
FEW = 0.01


def refuse(resolved: Mapping[str, Any], name: str) -> None:
    """Raise `Unreadable` for a scenario of which links cannot be simulated one by one."""

    def no(what: str, why: str) -> scenario.Unreadable:
        return scenario.Unreadable(
            f"{name}: {what}: an estimate simulates each link by itself, and {why}; "
            "`duetime run` simulates it"
        )

    for each in transports(resolved):
        if each["name"] not in BY_SENDERS:
            raise no(
                f"transport {each['name']}",
                "what its switches or receivers decide rests on several links of a path at once",
            )
    for each in resolved["traffic"]:
        if each["pattern"] == "long":
            raise no(
                f"class `{each['name']}`",
                "flows without end take what all the links of their path leave them",
            )
        if each["pattern"] == "sessions" or each.get("levels", 1) > 1:
            raise no(f"class `{each['name']}`", "when its messages start follows from when others arrive")
    if resolved.get("fault"):
        raise no("fault", "a fault moves flows to other links")
    if resolved["run"]["engine"] != "packets":
        raise no("run.engine", "does so packet by packet")


def warnings(traffic: Traffic) -> Iterator[str]:
    """Say which assumptions do not hold."""
    resolved = traffic.resolved
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
                "burst of their own query at more than one link; their delays there are added up, though the "
                "first link spreads the burst for the next: its figures are not to be trusted"
            )


def meeting(traffic: Traffic) -> Column:
    """Whether a message meets others of its query at several links, each of which gets more than it carries."""
    return np.bincount(traffic.row, weights=crowded(traffic), minlength=len(traffic.start)) > 1


def crowded(traffic: Traffic) -> Column:
    """Whether each crossing of a link meets others of its query there, more than the link carries.

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
