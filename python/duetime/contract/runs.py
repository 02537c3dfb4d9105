"""The object of one run, the same over several seeds, and the differences of two transports."""

from __future__ import annotations

from typing import Generic, NotRequired, TypeAlias, TypedDict, TypeVar

from duetime.contract.scenarios import Resolved


class Mean(TypedDict):
    """A figure over several seeds: its mean, the ends of the 95 % interval, and the value of each seed."""

    mean: float
    ci95: list[float | None]
    values: list[float | None]
    #: About how many seeds would do, where too few events back an interval.
    seeds: NotRequired[int]


class Unknown(TypedDict):
    """A figure over several seeds of which some know a lower bound only."""

    mean: None
    ci95: list[float | None]
    values: list[float | None]
    #: The mean of the known values and the bounds; differences have none.
    at_least: NotRequired[float]


#: A figure over several seeds.
Seeds: TypeAlias = Mean | Unknown
#: A figure of one run, or over several seeds; None where it was not measured.
Figure: TypeAlias = float | Mean | Unknown | None

#: A count and another number in an object: `int` and `float` of one run, `Seeds` of several.
C = TypeVar("C")
N = TypeVar("N")


class Times(TypedDict, Generic[N]):
    """A distribution of times, in us."""

    mean: N | None
    p50: N | None
    p90: N | None
    p99: N | None
    #: Not in results of former versions, as the two in `Slowdown`.
    p999: NotRequired[N | None]
    max: N | None
    #: Lower bounds of the figures that are not known.
    at_least: NotRequired[dict[str, float]]


class Slowdown(TypedDict, Generic[N]):
    """The distribution of completion times over the least possible."""

    mean: NotRequired[N | None]
    p50: N | None
    p99: N | None
    p999: NotRequired[N | None]
    at_least: NotRequired[dict[str, float]]


class DeadlineRatio(TypedDict, Generic[N]):
    """The distribution of completion times over allowed times."""

    p50: N | None
    p90: N | None
    p99: N | None
    at_least: NotRequired[dict[str, float]]


class AnswersInTime(TypedDict, Generic[N]):
    """The share of a query's answers that met their deadline, over queries."""

    mean: N | None
    p1: N | None


class Attained(TypedDict, Generic[C, N]):
    """The requests that reached a goal in time."""

    judged: C
    missed: C
    undecided: C
    attainment_percent: N | None


class RequestTimes(TypedDict, Generic[N]):
    """The distribution of the times of requests, in us."""

    mean: N | None
    p50: N | None
    p95: N | None
    p99: N | None
    at_least: NotRequired[dict[str, float]]


class StageShare(TypedDict, Generic[N]):
    """The part of the requests' time that one stage took, and what it was."""

    share_percent: N | None
    network_percent: N | None
    work_percent: N | None
    waiting_percent: N | None


class Straggler(TypedDict):
    """A host, and the share of requests whose longest piece it had."""

    host: int
    percent: float


class Requests(TypedDict, Generic[C, N]):
    """The requests of classes of stages."""

    number: C
    finished: C
    abandoned: C
    censored: C
    with_goals: C
    missed: C
    undecided: C
    goals: dict[str, Attained[C, N]]
    all_goals_percent: N | None
    finished_per_s: N | None
    goodput_per_s: N | None
    time_us: RequestTimes[N]
    slowdown: Slowdown[N]
    stages: dict[str, StageShare[N]]
    #: Of one run only.
    stragglers: list[Straggler]
    bound: Limit[C, N] | None


class Summary(TypedDict, Generic[C, N]):
    """The figures of some messages: of all of them, of a class or of a set of classes."""

    messages: C
    completed: C
    unfinished: C
    censored: C
    with_deadline: C
    missed: C
    undecided: C
    missed_percent: N | None
    goodput_mbps: N | None
    goodput_in_time_mbps: N | None
    fct_us: Times[N]
    slowdown: Slowdown[N]
    deadline_ratio: DeadlineRatio[N]
    #: Fan-in classes only, as the three that follow.
    queries: NotRequired[C]
    complete_queries_percent: NotRequired[N | None]
    answers_in_time_percent: NotRequired[AnswersInTime[N] | None]
    query_us: NotRequired[Times[N] | None]
    #: Classes of stages only.
    requests: NotRequired[Requests[C, N]]


class ClassSummary(Summary[C, N], Generic[C, N]):
    """The figures of one class."""

    bottleneck_delay_us: N | None
    bottleneck_mbps: N | None
    too_late: C


#: A word of a run; over several seeds that differ in it, that of each.
Word: TypeAlias = str | list[str | None] | None


class Limit(TypedDict, Generic[C, N]):
    """The minimum of deadlines that any schedule misses, and how it was found."""

    missed: C
    missed_percent: N
    side: Word
    method: Word
    reason: Word


class Limits(Limit[C, N], Generic[C, N]):
    """The bound of a run, and of each class as if there were no other; None without deadlines."""

    classes: dict[str, Limit[C, N] | None]


class Timers(TypedDict, Generic[C]):
    """The number of expiries of each retransmission timer."""

    initial: C
    minimum: C
    estimated: C
    backed_off: C
    own: C
    probes: C


class Packets(TypedDict, Generic[C]):
    """The numbers of packets."""

    sent: C
    received: C
    in_flight: C


class Queue(TypedDict, Generic[C, N]):
    """The switch port with the largest mean queue, in packets."""

    src: Word
    dst: Word
    mean: N
    p5: C
    p50: C
    p99: C
    max: C


class Faults(TypedDict, Generic[C]):
    """The effects of faults."""

    drops: C
    duplicates: C
    held_back: C
    rerouted: C


class Deadlock(TypedDict, Generic[C, N]):
    """Links that pause each other for ever."""

    since_s: N
    stuck: C
    cycle: Word


class Pauses(TypedDict, Generic[C, N]):
    """The pauses of links in a lossless network."""

    frames: C
    links: C
    paused_s: N
    deadlock: Deadlock[C, N] | None


class RateRequests(TypedDict, Generic[C, N]):
    """The requests for a rate of flows with a deadline."""

    requests: C
    denied: C
    denied_percent: N | None
    inverted: C
    inverted_percent: N | None
    overtaken: C
    overtaken_percent: N | None
    displaceable: C
    displaceable_percent: N | None
    refused: C
    refused_percent: N | None
    passed_over: C
    passed_over_percent: N | None
    flows: C
    inverted_flows: C
    inverted_flows_percent: N | None


class Fluid(TypedDict):
    """The size of a run of the fluid model."""

    step_us: float
    steps: int
    flow_steps: int


class Lateness(TypedDict):
    """How late messages started."""

    p99: float
    max: float


class Testbed(TypedDict):
    """The properties that a simulated run lacks: the machine, and its kernel's figures."""

    kernel: str
    cpus: int | None
    ip: int
    min_rtt_us: float | None
    start_late_us: Lateness | None
    longest_pause_ms: float
    ecn_connections: int
    d2tcp_connections: int
    deadlines_told: int
    deadlines_refused: int
    control_met: int
    control_missed: int
    cuts: int
    failed_connections: int
    non_ect_drops: int
    d_lowest: float | None
    d_highest: float | None


class Bounded(TypedDict, total=False):
    """The lower bound of a figure that is not known."""

    at_least: float


#: A condition of ``--fail-if``, and whether the run fails by it.
Judged = TypedDict(
    "Judged",
    {
        "condition": str,
        "transport": str,
        "class": str | None,
        "figure": str,
        "threshold": float,
        "value": float | None,
        "ci95": list[float | None],
        "at_least": NotRequired[float],
        "failed": bool,
    },
)


class Run(TypedDict, Generic[C, N]):
    """The object of ``duetime run --json``."""

    title: str
    seed: int
    transport: str
    simulated_s: N
    cool_down_s: N
    wall_s: N | None
    packets_delivered: C
    packet_hops: C
    events: C
    drops: C
    #: Left out where switches trimmed nothing.
    trims: NotRequired[C]
    marks: C
    timeouts: C
    timers: Timers[C]
    retransmits: C
    packets: Packets[C]
    busiest_queue: Queue[C, N] | None
    rate_requests: RateRequests[C, N] | None
    faults: NotRequired[Faults[C]]
    pauses: NotRequired[Pauses[C, N]]
    summary: Summary[C, N]
    bound: Limits[C, N] | None
    classes: dict[str, ClassSummary[C, N]]
    sets: NotRequired[dict[str, Summary[C, N]]]
    testbed: NotRequired[Testbed]
    fluid: NotRequired[Fluid]
    limits: NotRequired[list[Judged]]
    #: Over several seeds only.
    seeds: NotRequired[list[int]]
    #: False where all of several seeds gave the same.
    seeds_differ: NotRequired[bool]


#: The object of several seeds of one transport.
Merged: TypeAlias = Run[Seeds, Seeds]
#: The object of a transport in a comparison, without or with seeds.
OfTransport: TypeAlias = Run[int, float] | Merged


class SavedRun(Run[int, float]):
    """The content of ``run.json``."""

    version: str
    notes: list[str]
    scenario: Resolved


class Foresight(TypedDict):
    """The object of ``duetime bound --json``."""

    title: str
    seed: int
    #: Of messages that are no part of requests.
    bound: Limits[int, float] | None
    #: Of requests of several stages.
    requests: Limits[int, float] | None
    #: The classes that `requests` leaves out, since their requests depend on the run, and why.
    depends_on_run: dict[str, str]


class Stored(TypedDict):
    """The record of a finished run in a store."""

    version: str
    #: Without wall-clock times.
    result: Run[int, float]
    scenario: Resolved
