"""Topology files of htsim (``.topo``): two or three tiers of switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from duetime.imports.model import Format, Network, Options, Part, counted
from duetime.imports.text import Text, Word
from duetime.imports.units import written_rate, written_time

#: Keys of the file, and of each tier.
HEADERS = ("nodes", "tiers", "podsize")
KEYS = (
    "downlink_speed_gbps",
    "radix_up",
    "radix_down",
    "queue_up",
    "queue_down",
    "oversubscribed",
    "bundle",
    "switch_latency_ns",
    "downlink_latency_ns",
)
#: The names of switches by tier.
NAMES = ("tor", "agg", "core")


@dataclass
class Tier:
    """One tier of switches, from the hosts up."""

    word: Word
    values: dict[str, int] = field(default_factory=dict)
    places: dict[str, Word] = field(default_factory=dict)

    def get(self, key: str, default: int = 0) -> int:
        """Return the value of a key."""
        return self.values.get(key, default)


@dataclass(frozen=True)
class Joint:
    """Switches of a tier below one of the tier above, or hosts below a ToR."""

    #: Picoseconds: the link, and half of the latency of the switch at each end, so that paths have all of it.
    delay: int
    rate: float
    queue: int


def is_it(text: Text) -> bool:
    """Return whether the file says its nodes and its tiers."""
    first = {row[0].text.lower() for row, _ in zip(text.rows(), range(3), strict=False)}
    return {"nodes", "tiers"} <= first


def read(text: Text, _: Options) -> Part:
    """Read the tiers, and list the switches and links that htsim builds from them."""
    header, places, tiers = _parse(text)
    nodes, number, pod = (header[name] for name in HEADERS)
    if number not in (2, 3):
        raise text.fault(places["tiers"], f"two or three tiers are possible, not {number}")
    if sorted(tiers) != list(range(number)):
        raise text.fault(
            places["tiers"], f"{number} tiers are announced, the file has {len(tiers)}: Tier 0 is the lowest"
        )
    if nodes % pod:
        raise text.fault(places["podsize"], f"{nodes} nodes are no whole number of pods of {pod}")
    lists = [tiers[tier] for tier in range(number)]
    for tier, found in enumerate(lists):
        needed = ["downlink_speed_gbps", "radix_down", "downlink_latency_ns"]
        needed += ["radix_up"] if tier < number - 1 else []
        for key in needed:
            if not found.get(key):
                raise text.fault(found.word.line, f"tier {tier} lacks `{key}`")
        if found.get("bundle", 1) != 1:
            message = f"bundles of {found.get('bundle')} links are not imported: two nodes have one link here"
            raise text.fault(found.places["bundle"], message)
        if tier < number - 1:
            _oversubscription(text, lists, tier)
    return _build(text, lists, nodes, pod)


def _parse(text: Text) -> tuple[dict[str, int], dict[str, Word], dict[int, Tier]]:
    header: dict[str, int] = {}
    places: dict[str, Word] = {}
    tiers: dict[int, Tier] = {}
    current: Tier | None = None
    for row in text.rows():
        key = row[0].text.lower()
        if len(row) != 2:
            raise text.fault(row[0].line, f"`{row[0]}` has one number")
        value = text.whole(row[1], f"`{row[0]}`", least=0 if "latency" in key or key == "tier" else 1)
        if key == "tier":
            if value in tiers:
                raise text.fault(row[1], f"tier {value} appears twice")
            current = tiers[value] = Tier(row[0])
        elif current is None and key in HEADERS:
            header[key], places[key] = value, row[1]
        elif current is not None and key in KEYS:
            if key in current.values:
                raise text.fault(row[0], f"`{row[0]}` appears twice in this tier")
            current.values[key], current.places[key] = value, row[1]
        else:
            known = HEADERS if current is None else KEYS
            raise text.fault(row[0], f"`{row[0]}` is unknown here", f"the keys are {', '.join(known)}")
    for name in HEADERS:
        if name not in header:
            raise text.fault(1, f"`{name.capitalize()}` is expected in the first lines")
    return header, places, tiers


def _oversubscription(text: Text, tiers: list[Tier], tier: int) -> None:
    low, high = tiers[tier], tiers[tier + 1]
    below = low.get("radix_down") * low.get("downlink_speed_gbps")
    above = low.get("radix_up") * high.get("downlink_speed_gbps")
    told = low.get("oversubscribed", 1)
    if below != told * above:
        ports = f"{low.get('radix_down')} ports down at {low.get('downlink_speed_gbps')} Gbps and "
        ports += f"{low.get('radix_up')} up at {high.get('downlink_speed_gbps')} Gbps"
        message = f"tier {tier} has {ports}: oversubscribed {below / above:g} times, and not {told}"
        raise text.fault(low.places.get("oversubscribed", low.word), message)


def _build(text: Text, tiers: list[Tier], nodes: int, pod: int) -> Part:
    low, middle = tiers[0], tiers[1]
    if pod % low.get("radix_down"):
        raise text.fault(
            low.places["radix_down"], f"pods of {pod} hosts are no whole number of ToRs of these"
        )
    pods, tors = nodes // pod, pod // low.get("radix_down")
    aggs = low.get("radix_up")
    # All ToRs are joined with all switches of the upper tier.
    if len(tiers) == 2 and pods != 1:
        raise text.fault(1, f"two tiers have one pod: Podsize is {nodes}, not {pod}")
    if middle.get("radix_down") != tors:
        ports = f"each switch of tier 1 has {middle.get('radix_down')} ports down"
        message = f"{ports}, a pod has {counted(tors, 'ToR')}"
        raise text.fault(middle.places["radix_down"], message)
    cores = 0
    if len(tiers) == 3:
        up, top = middle.get("radix_up"), tiers[2]
        cores = aggs * up
        if top.get("radix_down") != pods:
            ports = f"each core has {counted(top.get('radix_down'), 'port')}"
            message = f"{ports}, one for each of {counted(pods, 'pod')} is expected"
            raise text.fault(top.places["radix_down"], message)
    joints = [_joint(text, tiers, tier) for tier in range(len(tiers))]
    lines = [
        'topology = "custom"',
        f"hosts = {nodes}",
        f'rate = "{written_rate(joints[0].rate)}"',
        f'delay = "{written_time(joints[0].delay)}"',
    ]
    names = [f"tor {i}" for i in range(pods * tors)] + [f"agg {i}" for i in range(pods * aggs)]
    names += [f"core {i}" for i in range(cores)]
    lines += [f"switches = [{', '.join(_quoted(names))}]", "links = ["]
    lines += _entries(joints, (pods, tors, aggs, cores), low.get("radix_down"))
    lines.append("]")
    notes = []
    if any(tier.get("switch_latency_ns") for tier in tiers):
        notes.append(
            "links have half of the latency of the switch at each end: paths have the latency of all switches"
        )
    network = Network(lines, list(range(nodes)), {}, joints[0].rate, rates={joint.rate for joint in joints})
    network.has_buffers = any(joint.queue for joint in joints)
    summary = f"htsim topology: {counted(nodes, 'host')}, {counted(pods * tors, 'ToR')}, "
    summary += f"{counted(pods * aggs, 'aggregation switch')}" + (
        f", {counted(cores, 'core')}" if cores else ""
    )
    return Part(summary, network=network, notes=notes)


def _quoted(names: list[str]) -> Iterator[str]:
    return (f'"{name}"' for name in names)


def _joint(text: Text, tiers: list[Tier], tier: int) -> Joint:
    """Return the links below a tier."""
    upper, lower = tiers[tier], tiers[tier - 1] if tier else None
    latency = upper.get("switch_latency_ns") + (lower.get("switch_latency_ns") if lower else 0)
    down, up = upper.get("queue_down"), lower.get("queue_up") if lower else upper.get("queue_down")
    if down != up:
        message = f"ports up to tier {tier} have queues of {up} bytes, ports down from it {down}"
        raise text.fault(upper.word.line, message, "both directions of a link have equal buffers here")
    delay = upper.get("downlink_latency_ns") * 1000 + latency * 500
    return Joint(delay, upper.get("downlink_speed_gbps") * 1e9, down)


def _entries(joints: list[Joint], sizes: tuple[int, int, int, int], radix: int) -> Iterator[str]:
    pods, tors, aggs, cores = sizes

    def entry(a: str, b: str, tier: int) -> str:
        joint, first = joints[tier], joints[0]
        keys = [f"from = {a}", f"to = {b}"]
        keys += [f'rate = "{written_rate(joint.rate)}"'] if joint.rate != first.rate else []
        keys += [f'delay = "{written_time(joint.delay)}"'] if joint.delay != first.delay else []
        keys += [f'buffer = "{joint.queue} B"'] if joint.queue else []
        return f"  {{ {', '.join(keys)} }},"

    for tor in range(pods * tors):
        yield entry(f'"{tor * radix}..{(tor + 1) * radix}"', f'"tor {tor}"', 0)
    for tor in range(pods * tors):
        for agg in range(aggs):
            yield entry(f'"tor {tor}"', f'"agg {tor // tors * aggs + agg}"', 1)
    for agg in range(pods * aggs if cores else 0):
        for up in range(cores // aggs):
            yield entry(f'"agg {agg}"', f'"core {agg % aggs + aggs * up}"', 2)


FORMAT = Format("htsim-topology", "a topology of htsim (.topo), of two or three tiers", is_it, read)
