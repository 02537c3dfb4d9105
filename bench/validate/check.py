"""A check: something measured beside what it must be by a derivation that does not use the simulator."""

from dataclasses import dataclass
from typing import Any, TypeVar

import duetime as dt

#: Payload of a full packet, what it takes on the wire, and an acknowledgement; bytes.
MSS, WIRE, ACK = 1460, 1500, 40


T = TypeVar("T")


def known(figure: T | None) -> T:
    """Return a figure that a run has; `RuntimeError` where it has none."""
    if figure is None:
        raise RuntimeError("a run without such a figure checks nothing")
    return figure


@dataclass(frozen=True)
class Check:
    """One line of the table."""

    what: str
    expected: float
    measured: float
    #: The largest allowed difference, in the same unit: it follows from the derivation, not from the
    #: measurement.
    tolerance: float
    unit: str
    derivation: str

    @property
    def holds(self) -> bool:
        """Return whether the measured value is the expected one."""
        return abs(self.measured - self.expected) <= self.tolerance


def us_on_wire(size: int, gbps: float) -> float:
    """Return the transmission time of these bytes on a link, in microseconds."""
    return size * 8 / gbps / 1e3


def star(hosts: int, **network: Any) -> dict[str, Any]:
    """A star with clocks that keep perfect time."""
    plain = {"topology": "star", "hosts": hosts, "rate": "1 Gbps", "delay": "20 us", "host_jitter": "0 s"}
    return plain | {"buffer": "1000 packets", "sharing": "per-port"} | network


def run(
    network: dict[str, Any],
    traffic: list[dict[str, Any]],
    duration: str,
    transport: dict[str, Any] | None = None,
    **more: Any,
) -> dt.Result:
    """Simulate a scenario of these sections."""
    sections: dict[str, Any] = {"title": "check", "profile": "classic", "run": {"duration": duration} | more}
    sections |= {"network": network, "transport": {"name": "tcp"} | (transport or {}), "traffic": traffic}
    return dt.run(sections)


def flows(*listed: dict[str, Any]) -> list[dict[str, Any]]:
    """One class of listed messages."""
    return [{"name": "flows", "pattern": "flows", "flows": list(listed)}]


def first_us(result: dt.Result) -> float:
    """Completion time of the first message, in microseconds."""
    return float(result.flows.sort("start_us", "src")["fct_us"][0])


def last_us(done: dt.Result) -> float:
    """Return the longest completion time, in microseconds."""
    return float(done.flows["fct_us"].max())  # type: ignore[arg-type]


def mean_fct(done: dt.Result) -> float:
    """Return the mean completion time, in microseconds."""
    return float(done.flows["fct_us"].mean())  # type: ignore[arg-type]
