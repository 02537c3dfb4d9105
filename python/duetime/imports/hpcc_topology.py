"""Topology files of the HPCC simulator and of its descendants: PowerTCP, ConWeave.

The first line has the numbers of nodes, switches and links; PowerTCP's has that of racks before the last. The
second has the numbers of the switches, and all other nodes are hosts. Each further line is a link: two nodes,
rate, delay and the share of packets that it loses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import mode

from duetime.imports.model import Format, Network, Options, Part, counted
from duetime.imports.text import Text, Word
from duetime.imports.units import picoseconds, rate, written_rate, written_time

FIRST = "nodes, switches and links; PowerTCP's: nodes, switches, racks and links"
#: Bits per second of units, and plain numbers.
LINK = re.compile(r"\d+ \d+ [\d.e+]+([KMGT]?(bps|b/s))? [\d.]+(s|ms|us|ns)? ")


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the file."""

    row: list[Word]
    a: int
    b: int
    rate: float
    #: Picoseconds.
    delay: int
    loss: float


def is_it(text: Text) -> bool:
    """Return whether the first line is numbers, and the third a link."""
    rows = [row for row, _ in zip(text.rows(), range(3), strict=False)]
    if len(rows) < 3 or not 3 <= len(rows[0]) <= 6:
        return False
    return bool(LINK.match(" ".join(word.text for word in rows[2]) + " "))


def read(text: Text, _: Options) -> Part:
    """Read nodes and links as a `custom` network, and losses as faults."""
    rows = list(text.rows())
    nodes, announced, links_announced = _header(text, rows[0]) if rows else (0, 0, 0)
    if len(rows) < 2:
        raise text.fault(len(text.lines) or 1, "the numbers of the switches are expected in the second line")
    if len(rows[1]) != announced:
        message = f"the first line announces {counted(announced, 'switch')}, this one has {len(rows[1])}"
        raise text.fault(rows[1][0].line, message)
    switches: dict[int, str] = {}
    for word in rows[1]:
        number = _node(text, word, nodes)
        if number in switches:
            raise text.fault(word, f"switch {number} appears twice")
        switches[number] = f"switch {number}"
    links, more = _links(text, rows[2:], nodes, links_announced)
    if len(links) < links_announced:
        message = f"the first line announces {counted(links_announced, 'link')}, the file has {len(links)}"
        raise text.fault(rows[0][-1], message)
    hosts = [node for node in range(nodes) if node not in switches]
    if len(hosts) < 2:
        raise text.fault(rows[0][0], f"{counted(len(hosts), 'host')}: at least two nodes are to be hosts")
    _check(text, links, hosts)
    network = _network(links, hosts, switches)
    notes = []
    if more:
        announces = f"the first line announces {counted(len(links), 'link')}"
        notes.append(f"{announces}: {more} behind them are not read, as in HPCC")
    offset = hosts[0]
    if hosts != list(range(offset, offset + len(hosts))):
        notes.append(f"host h is here the h-th node that is no switch: {_ranges(hosts)}")
    elif offset:
        notes.append(f"hosts are numbered from 0 here: host h is node h + {offset}")
    summary = f"HPCC topology: {counted(len(hosts), 'host')}, {counted(len(switches), 'switch')}, "
    return Part(summary + counted(len(links), "link"), network=network, notes=notes)


def _header(text: Text, row: list[Word]) -> tuple[int, int, int]:
    if len(row) > 4:
        hint = "SimAI's have more: its GPUs have a NIC and NVLink each, which is not imported"
        raise text.fault(
            row[0].line, f"three or four numbers are expected first ({FIRST}), not {len(row)}", hint
        )
    if len(row) < 3:
        raise text.fault(row[0].line, f"three numbers are expected first, not {len(row)}", FIRST)
    numbers = [text.whole(word, "each number of the first line", least=1) for word in row]
    return numbers[0], numbers[1], numbers[-1]


def _node(text: Text, word: Word, nodes: int) -> int:
    number = text.whole(word, "a node")
    if number >= nodes:
        off = f"; does the file count from 1? It has nodes 0 to {nodes - 1}" if number == nodes else ""
        raise text.fault(
            word, f"node {number} does not exist: the file announces {nodes}, 0 to {nodes - 1}{off}"
        )
    return number


def _links(text: Text, rows: list[list[Word]], nodes: int, announced: int) -> tuple[list[Link], int]:
    """Return the announced links, and how many lines behind them look like links."""
    links: list[Link] = []
    more = 0
    for row in rows:
        if len(links) == announced:
            more += bool(LINK.match(" ".join(word.text for word in row) + " "))
            continue
        if not row[0].text.isdigit():
            # A remark ends the list.
            break
        if len(row) not in (4, 5):
            hint = "two nodes, rate, delay and the share of lost packets"
            raise text.fault(row[0].line, f"five columns are expected, not {len(row)}", hint)
        a, b = _node(text, row[0], nodes), _node(text, row[1], nodes)
        if a == b:
            raise text.fault(row[1], f"node {a} would be joined with itself")
        loss = text.number(row[4], "the share of lost packets") if len(row) > 4 else 0.0
        if loss > 1:
            raise text.fault(row[4], f"a share of lost packets is at most 1, not {row[4]}")
        links.append(Link(row, a, b, rate(text, row[2]), picoseconds(text, row[3]), loss))
    return links, more


def _check(text: Text, links: list[Link], hosts: list[int]) -> None:
    """Refuse what a network here cannot have."""
    joined: dict[tuple[int, int], int] = {}
    linked: set[int] = set()
    for link in links:
        pair = (min(link.a, link.b), max(link.a, link.b))
        if pair in joined:
            message = f"nodes {link.a} and {link.b} are joined in line {joined[pair]} already"
            raise text.fault(link.row[0].line, message, "two nodes have at most one link here")
        joined[pair] = link.row[0].line
        linked.update((link.a, link.b))
    if lost := [node for node in hosts if node not in linked]:
        line = 2
        raise text.fault(line, f"node {lost[0]} is neither among the switches nor has it a link")


def _network(links: list[Link], hosts: list[int], switches: dict[int, str]) -> Network:
    of_node = {node: host for host, node in enumerate(hosts)}
    at_hosts = [link for link in links if link.a in of_node or link.b in of_node]
    bits = mode(link.rate for link in at_hosts)
    delay = mode(link.delay for link in links)
    lines = [
        'topology = "custom"',
        f"hosts = {len(hosts)}",
        f'rate = "{written_rate(bits)}"',
        f'delay = "{written_time(delay)}"',
    ]
    names = [f'"{name}"' for name in switches.values()]
    lines.append(f"switches = [{', '.join(names)}]")
    lines.append("links = [")
    # Consecutive hosts at one switch are one entry.
    entries: list[tuple[tuple[str, float, int], list[int]]] = []
    latest: dict[tuple[str, float, int], list[int]] = {}
    between = []
    faults = []
    written = {node: f'"{name}"' for node, name in switches.items()}
    written |= {node: str(host) for node, host in of_node.items()}
    for link in sorted(at_hosts, key=lambda link: of_node.get(link.a, of_node.get(link.b, 0))):
        node, other = (link.a, link.b) if link.a in of_node else (link.b, link.a)
        host, key = of_node[node], (written[other], link.rate, link.delay)
        if key in latest and latest[key][-1] + 1 == host:
            latest[key].append(host)
        else:
            latest[key] = [host]
            entries.append((key, latest[key]))
        if link.loss:
            name = switches.get(other, f"host {of_node.get(other)}")
            faults.append(_loss(f"host {host} - {name}", link.loss))
    for (end, own, late), which in entries:
        ends = f'"{which[0]}..{which[-1] + 1}"' if len(which) > 1 else str(which[0])
        between.append(_entry(ends, end, (own, bits), (late, delay)))
    for link in links:
        if link.a in switches and link.b in switches:
            between.append(_entry(written[link.a], written[link.b], (link.rate, bits), (link.delay, delay)))
            if link.loss:
                faults.append(_loss(f"{switches[link.a]} - {switches[link.b]}", link.loss))
    lines += [*between, "]"]
    uplinks = {link.rate for link in links if link.a in switches and link.b in switches}
    return Network(lines, hosts, switches, bits, faults, {link.rate for link in links}, uplinks)


def _entry(a: str, b: str, rates: tuple[float, float], delays: tuple[int, int]) -> str:
    rate_ = f', rate = "{written_rate(rates[0])}"' if rates[0] != rates[1] else ""
    delay = f', delay = "{written_time(delays[0])}"' if delays[0] != delays[1] else ""
    return f"  {{ from = {a}, to = {b}{rate_}{delay} }},"


def _loss(link: str, share: float) -> str:
    return f'[[fault]]\nkind = "loss"\nlink = "{link}"\nprobability = {share!r}\n'


def _ranges(numbers: list[int]) -> str:
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] + 1 == number:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number, number])
    shown = [str(a) if a == b else f"{a} to {b}" for a, b in found[:20]]
    return ", ".join(shown) + (" and further ones" if len(found) > 20 else "")


FORMAT = Format("hpcc-topology", "a topology file of the HPCC simulator, PowerTCP or ConWeave", is_it, read)
