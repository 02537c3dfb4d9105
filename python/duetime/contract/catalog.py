"""The object of the scenario language's declarations: names, keys, defaults, ranges and sources."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict


class Key(TypedDict):
    """A key of a section."""

    name: str
    kind: str
    unit: str | None
    default: str | None
    #: The default under each profile, where profiles set the key.
    profiles: dict[str, str | None] | None
    required: bool
    range: str | None
    choices: list[str] | None
    easier: Literal["more", "less"] | None
    help: str
    source: str | None
    #: The tables of its value, and their keys, where it holds tables.
    table: NotRequired[str]
    keys: NotRequired[list[Key]]


class Regime(TypedDict):
    """A key that a transport's regime is set by."""

    key: str
    source: str


class Needs(TypedDict):
    """The parts of a network that a transport cannot do without."""

    switches: str
    hosts: str
    discipline: object
    marking: object
    regimes: list[Regime]


class Entry(TypedDict):
    """A name that a section may choose, with its own keys."""

    name: str
    help: str
    source: str | None
    keys: list[Key]
    needs: NotRequired[Needs]
    unread: NotRequired[list[str]]


class Transport(Entry):
    """A transport, and whether its senders decide their rates."""

    #: No switch or receiver allots rates.
    by_senders: bool


class Growth(TypedDict):
    """The key that makes a topology larger: hosts grow with a power of it."""

    key: str
    min: int
    step: int
    power: int


class Topology(Entry):
    """A topology, and the key that makes it larger."""

    example: object
    single_switch: bool
    growth: Growth | None


class Pattern(Entry):
    """A traffic pattern, and the nature of its messages."""

    queries: bool
    draws_hosts: bool
    waits: bool
    endless: bool


class Fault(Entry):
    """A kind of fault."""

    example: object


class Setting(TypedDict):
    """A key that a profile sets."""

    section: str
    key: str
    value: str
    default: str
    source: str


class Profile(TypedDict):
    """A profile, and the keys that it sets."""

    name: str
    help: str
    source: str
    settings: list[Setting]


class Named(TypedDict):
    """A name with its meaning."""

    name: str
    help: str


class Format(Named):
    """A known file of requests."""

    source: str


class Signal(Named):
    """A value of ``run.trace.what``."""

    unit: str | None


class Catalog(TypedDict):
    """All elements of the language."""

    transports: list[Transport]
    topologies: list[Topology]
    patterns: list[Pattern]
    faults: list[Fault]
    profiles: list[Profile]
    root: list[Key]
    run: list[Key]
    trace: list[Key]
    network: list[Key]
    traffic: list[Key]
    links: list[Key]
    flows: list[Key]
    fault: list[Key]
    formats: list[Format]
    notes: list[Named]
    signals: list[Signal]
    #: Pairs of another word and its meaning.
    aliases: list[list[str]]
    distributions: list[Named]


#: A list of the catalogue whose entries have keys of their own.
Family: TypeAlias = Literal["transports", "topologies", "patterns", "faults"]
#: A list of the catalogue that a command shows.
Kind: TypeAlias = Literal["transports", "topologies", "patterns", "faults", "profiles"]
#: A section whose own keys the catalogue lists.
Listed: TypeAlias = Literal["root", "run", "trace", "network", "traffic", "links", "flows", "fault"]
#: A section; `transport` has the keys of its choice only.
Section: TypeAlias = Listed | Literal["transport"]
