"""The objects of a scenario: with every default filled in, explained, and its cost.

A section has keys of the transport, the topology or the pattern that it names. Here are the keys that are
read by name; the others are read as of any `Mapping[str, object]`.
"""

from __future__ import annotations

from typing import NotRequired, Required, TypedDict


class Trace(TypedDict):
    """The section ``[run.trace]``: the period and the signals."""

    every: str
    what: list[str]


class RunTable(TypedDict):
    """The section ``[run]``: times, seed and engine."""

    seed: int
    duration: str
    warm_up: str
    cool_down: NotRequired[str | None]
    engine: str
    deadline_factor: float
    threads: NotRequired[int | str]
    trace: NotRequired[Trace | None]


class Network(TypedDict, total=False):
    """The section ``[network]``: the topology, links and ports."""

    topology: Required[str]
    hosts: int
    rate: str
    delay: str
    #: One for all switches, or the buffers of switches by name.
    buffer: str | dict[str, str]
    sharing: str
    dynamic_alpha: float
    mark: str | dict[str, str] | None
    mark_at: str
    non_ect: str
    host_queue: str
    host_jitter: str


class Transport(TypedDict, total=False):
    """The section ``[transport]``, or the transport of a class."""

    name: Required[str]
    mss: Required[str]
    header: Required[str]
    ack_delay: str
    ack_every: int
    cwnd_floor: float
    d_cap: float
    ecn: bool
    expired: str
    floor_horizon: str
    g: float
    guard_most: str
    hold_most: str
    hopeless_hold: str
    idle_restart: bool
    initial_alpha: float
    initial_window: float
    limited_transmit: bool
    margin: float
    nic_limit: object
    pacing: str
    recovery: str
    rto_granularity: str
    rto_initial: str
    rto_min: str
    rtt: str
    t_c: str


#: A class of ``[[traffic]]``.
Traffic = TypedDict(
    "Traffic",
    {
        "name": Required[str],
        "pattern": Required[str],
        "set": str,
        "from": object,
        "to": object,
        "connections": str,
        "leaves": object,
        "levels": int,
        "load": object,
        "parents": int,
        "priority": object,
        "start": object,
        "transport": Transport | None,
    },
    total=False,
)


class Resolved(TypedDict):
    """A scenario with every default filled in: the object of ``duetime check --json``."""

    title: str
    profile: str
    parameters: NotRequired[dict[str, object]]
    run: RunTable
    network: Network
    transport: NotRequired[Transport]
    traffic: list[Traffic]
    fault: NotRequired[list[dict[str, object]]]


class Rows(TypedDict):
    """The numbers of rows that a run is expected to give."""

    flows: float
    queries: float
    links: float


class Cost(TypedDict):
    """The expected cost of a run."""

    messages: float
    flows_without_end: float
    packets: float
    packet_hops: float
    packets_in_flight: float
    rows: Rows
    memory_bytes: float
    memory_with_out_bytes: float
    rows_bytes: float
    memory_with_rows_bytes: float


class Preset(TypedDict):
    """A key that the profile has set in a scenario."""

    table: str
    key: str
    value: object
    source: str


class Profile(TypedDict):
    """The profile of a scenario, and the keys that it has set."""

    name: str
    help: str
    source: str
    set: list[Preset]


class Spread(TypedDict):
    """The least, the mean and the largest of some values."""

    min: float
    mean: float
    max: float


class Clients(TypedDict):
    """Clients that wait for their answers: what they send follows from the run."""

    count: int
    #: The mean pause of a client after each of its requests.
    think_us: float
    #: The most messages that they can ask for, about: as if nothing waited but for full links of hosts.
    messages: float


class Offered(TypedDict):
    """A class before it is run: its hosts, and what it is expected to send and was drawn."""

    name: str
    pattern: str
    #: None where requests arrive whatever became of those before.
    clients: Clients | None
    size_mean_bytes: float | None
    expected_messages: float
    expected_mbps: float
    drawn_mbps: float
    transport: str
    connections: str
    senders: int
    receivers: int
    messages: int
    drawn_until_s: float
    drawn_partly: bool
    without_end: int
    at_once: int | None
    bytes: Spread | None
    deadline_us: Spread | None
    deadline_times_alone: Spread | None
    random: object


class Link(TypedDict):
    """A direction of a link before a run: its load, and the sizes that matter at its port."""

    link: str
    rate_mbps: float
    expected_percent: float
    load_percent: float
    flows_without_end: float
    classes: list[str]
    limit_bytes: float | None
    mark_bytes: float | None
    mark_at: str | None
    bandwidth_delay_bytes: float | None
    burst_bytes: float | None
    floor_bytes: float | None


class Ports(TypedDict):
    """Ports of one role that the engine simulates in the same mode."""

    of: str
    ports: int
    mode: str
    why: str


class Fault(TypedDict):
    """A fault before a run: its time and its links."""

    kind: str
    at_s: float
    until_s: float | None
    directions: int
    links: list[str]
    carry_traffic: int


class Explanation(TypedDict):
    """The object of ``duetime check --explain --json``."""

    title: str
    seed: int
    duration_s: float
    profile: Profile
    classes: list[Offered]
    links_in_use: int
    expected_is_complete: bool
    links: list[Link]
    ports: list[Ports]
    faults: list[Fault]
    random: list[str]
    cost: Cost
