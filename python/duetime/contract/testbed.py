"""The lines of JSON that the testbed and its processes tell each other, and the records of its experiments.

The processes are in deploy/linux; times are in ns, of the machine's monotonic clock where they say when.
"""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict

from duetime.contract.rows import Row


class Ready(TypedDict):
    """The first line of a process; the one after its set-up is empty."""

    pid: int


class Port(TypedDict):
    """A port of the switch to set up."""

    interface: str
    mark_packets: int
    mark_bytes: int
    drop_non_ect: bool
    watched: bool


class SwitchSetup(TypedDict):
    """The set-up of the switch."""

    sysctl: list[list[str]]
    watch_ns: int
    ports: list[Port]


class Listen(TypedDict):
    """An address that a host listens on."""

    address: str
    control: str


class ToSend(TypedDict):
    """A message that a host is to send."""

    number: int
    at_ns: int
    to: str
    control: str
    bytes: int | None
    deadline_ns: int | None
    persistent: bool


class HostSetup(TypedDict):
    """The set-up of a host."""

    sysctl: list[tuple[str, str]]
    cgroup: str | None
    user: int
    net_admin: bool
    listen: list[Listen]
    messages: list[ToSend]
    sample_ns: int | None


class Go(TypedDict):
    """The start of a run."""

    start_ns: int
    duration_ns: int
    warm_up_ns: int
    #: Of the switch only.
    sample_ns: NotRequired[int | None]


class State(TypedDict):
    """The counts of the congestion control for a connection."""

    ecn: int
    messages: int
    met: int
    missed: int
    cuts: int


class Sent(TypedDict):
    """A message that a host sent."""

    number: int
    start_ns: int
    state: State | None
    min_rtt_us: int
    refused: str | None
    error: str | None
    timeouts: int
    retransmits: int
    marks: int


class Received(TypedDict):
    """A message that a host received."""

    end_ns: int | None
    bytes: int
    counted_bytes: int


class HostReport(TypedDict):
    """The report of a host after a run."""

    sent: list[Sent]
    #: By the number of the message.
    received: dict[str, Received]
    segments: int
    #: Signal, time, message and value.
    samples: list[tuple[str, int, int, float]]


class PortReport(TypedDict):
    """The report on a port of the switch."""

    interface: str
    packets: int
    bytes: int
    drops: int
    non_ect_drops: int
    marks: int
    #: How often each length of the queue was seen.
    lengths: list[int]
    longest: int
    samples: list[tuple[int, int]]


class SwitchReport(TypedDict):
    """The report of the switch after a run."""

    ports: list[PortReport]
    longest_pause_ns: int


class Count(TypedDict):
    """The packets and bytes of an interface, in one direction."""

    packets: int
    bytes: int


class Stats(TypedDict):
    """The counters of an interface, as `ip -s link` gives them."""

    rx: Count
    tx: Count


class Interface(TypedDict):
    """An interface, as `ip -s link` gives it."""

    ifname: str
    stats64: Stats


class Counters(TypedDict):
    """The packets and bytes of IP through a port of the switch."""

    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int


class Repeat(TypedDict):
    """The difference that deadlines make with one seed, in points, and whether the signs agree."""

    fan_in: int
    seed: int
    real: float
    simulated: float
    agree: bool


class Table(TypedDict):
    """Figure 7 as ``testbed.json`` has it."""

    version: str
    id: str
    scale: str
    rows: list[Row]
    repeats: list[Repeat]


class RealRows(TypedDict):
    """The rows of a real network, for `duetime reproduce`: the content of ``real.json``."""

    version: str
    id: str
    notes: list[str]
    rows: list[Row]


#: The recorded figures of a run, by name.
Figures: TypeAlias = dict[str, float | None]


class RecordedRun(TypedDict):
    """A run of an experiment, real or simulated."""

    arm: str
    seed: int
    where: str
    figures: Figures
    #: Of real runs.
    pause_ms: NotRequired[float]
    late_us: NotRequired[float | None]


class Record(TypedDict):
    """All runs of an experiment of the testbed."""

    experiment: str
    set: list[str]
    at: str
    kernel: str
    cores: int | None
    load: list[float]
    run_again: int
    rows: list[RecordedRun]
