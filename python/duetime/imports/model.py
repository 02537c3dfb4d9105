"""The parts of a scenario that files of others hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from duetime.imports.text import Text, Word


@dataclass(frozen=True)
class Options:
    """Facts from the command line that files do not state themselves."""

    #: A value of 1 in a distribution, such as "1442 B".
    scale: str | None = None
    #: Only the values of a distribution are drawn; the file decides where it can.
    steps: bool | None = None
    #: The unit of starts in connection matrices, ps or us.
    start_unit: str | None = None


@dataclass
class Network:
    """A network: its lines in ``[network]``, and the numbers that its file gives to hosts."""

    #: Lines of the section after its title.
    lines: list[str]
    #: The node of each host.
    nodes: list[int]
    #: The names of nodes that are switches.
    switches: dict[int, str]
    #: Bits per second of hosts' links.
    rate: float
    #: Sections ``[[fault]]``.
    faults: list[str] = field(default_factory=list)
    #: The rates of links, for thresholds of marking; and of those between switches.
    rates: set[float] = field(default_factory=set)
    uplinks: set[float] = field(default_factory=set)
    #: Whether `lines` set buffers.
    has_buffers: bool = False


@dataclass(slots=True)
class Flow:
    """A message between two nodes of a file."""

    src: Word
    dst: Word
    size: int
    #: As it is written, in the unit of its list.
    start: str


@dataclass
class Flows:
    """Messages with their starts."""

    text: Text
    flows: list[Flow]
    #: The ending of the column of starts, and seconds of 1 in it: ``start_ps``, 1e-12.
    unit: tuple[str, float] = ("", 1.0)
    #: The number of nodes, if the file says it.
    nodes: int | None = None


@dataclass
class Step:
    """A message that starts when others have arrived, or at a time."""

    name: str
    flow: Flow
    #: Names of the steps that it follows.
    after: list[str]


@dataclass
class Steps:
    """Messages that wait for each other."""

    text: Text
    steps: list[Step]
    nodes: int
    #: Seconds of 1 in their starts.
    unit: float


@dataclass
class Sizes:
    """A distribution of sizes."""

    text: Text
    #: Its keys beside the file: scale, steps.
    shape: dict[str, str]


@dataclass(frozen=True, slots=True)
class Red:
    """The upper ends of RED: Kmax in KB and Pmax of each rate of links, in bit/s."""

    kmax: dict[float, float]
    pmax: dict[float, float]


@dataclass
class Settings:
    """Keys of a simulator's configuration."""

    run: dict[str, str] = field(default_factory=dict)
    network: dict[str, str] = field(default_factory=dict)
    transport: dict[str, str] = field(default_factory=dict)
    #: The rates among them, and keys of the transport that are shares of a host's link, in bit/s.
    rates: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    faults: list[Callable[[Network], str]] = field(default_factory=list)
    #: The threshold of marking for a link of a rate in bit/s.
    mark: Callable[[float], str | None] = lambda _: None
    #: Between the threshold and Kmax the probability of a mark rises.
    red: Red | None = None
    #: Sentences for the head of the file.
    remarks: list[str] = field(default_factory=list)


@dataclass
class Part:
    """The content of one file."""

    #: The parts that were read, for people: "HPCC topology: 320 hosts, 56 switches, 480 links".
    summary: str
    network: Network | None = None
    traffic: Flows | Steps | Sizes | None = None
    settings: Settings | None = None
    #: Parts without a meaning here, or with another one.
    notes: list[str] = field(default_factory=list)
    #: Further files that this one names: the part that each has, and the place.
    names: dict[str, Word] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """A format of files that can be imported."""

    name: str
    help: str
    #: Whether a text looks like it.
    is_it: Callable[[Text], bool]
    read: Callable[[Text, Options], Part]


def counted(number: int, noun: str) -> str:
    """Return "1 link" or "2 links"."""
    plural = f"{noun[:-2]}ices" if noun.endswith("ix") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
