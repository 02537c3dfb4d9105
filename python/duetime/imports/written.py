"""The scenario that imported parts make, and the files beside it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from duetime.imports.model import Flow, Flows, Network, Settings, Sizes, Steps
from duetime.imports.text import Mistaken, Text, Word
from duetime.imports.units import written_time

#: Bit/s and the words where files say no network.
RATE, DELAY = 100e9, "1 us"
#: The longest run that is written, in seconds after the last start: flows may be meant to last for ever.
LONGEST = 1.0
#: The shortest.
SHORTEST = 1e-3
#: Stages of one class (`MAX_TABLES` in crates/scenario).
MAX_STEPS = 4096
#: About htsim's packets, of 4150 bytes with headers.
HTSIM_MSS = "4096 B"


@dataclass
class Written:
    """A scenario, and files beside it by name."""

    text: str
    beside: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def scenario(
    out: Path,
    network: Network | None,
    traffic: list[Flows | Steps | Sizes],
    settings: Settings,
    sources: list[Path],
) -> Written:
    """Write the scenario of some parts; what no file says is chosen, and named in a note."""
    written = Written("")
    if network is None:
        network = _network(traffic, written)
    classes = []
    end = 0.0
    hosts = len(network.nodes)
    for listed in (each for each in traffic if isinstance(each, Flows | Steps)):
        if listed.nodes not in (None, hosts):
            said = f"announces {listed.nodes} nodes, the network has {hosts} hosts"
            written.notes.append(f"{listed.text.path}: {said}")
    for number, each in enumerate(traffic or [None]):
        name = "flows" if number == 0 else f"flows {number + 1}"
        match each:
            case Flows():
                classes.append(_flows(out, name, each, network, written))
                end = max(end, _end(each.flows, each.unit[1], network, written))
            case Steps():
                classes.append(_steps(name.replace("flows", "matrix"), each, network))
                end = max(end, _end([step.flow for step in each.steps], each.unit, network, written))
            case _:
                classes.append(_random(out, each, written))
                end = max(end, 10e-3)
    run = {"duration": f'"{_rounded(end)}"', "seed": "1"} | settings.run
    transport = {"name": '"dctcp"'} | settings.transport
    transport |= {key: f'"{100 * bits / network.rate:.12g}%"' for key, bits in settings.shares.items()}
    if "name" not in settings.transport:
        written.notes.append("no file says the transport: dctcp")
    if any(map(_is_htsim, traffic)) and "mss" not in transport:
        transport["mss"] = f'"{HTSIM_MSS}"'
    lines = [
        f"# Imported by duetime import from {', '.join(path.name for path in sources)}.",
        *(f"# {remark}" for remark in settings.remarks),
        f'title = "{_title(sources)}"',
        "",
        "[run]",
        *(f"{key} = {value}" for key, value in run.items()),
        "",
        "[network]",
        *_marked(network, settings, written),
        "",
        *network.faults,
        *(make(network) for make in settings.faults),
        "[transport]",
        *(f"{key} = {value}" for key, value in transport.items()),
        "",
        "\n".join(classes).rstrip(),
        "",
    ]
    written.text = "\n".join(lines)
    return written


def _is_htsim(each: Flows | Steps | Sizes) -> bool:
    """Return whether messages are from a connection matrix."""
    return isinstance(each, Steps) or (isinstance(each, Flows) and each.nodes is not None)


def _title(sources: list[Path]) -> str:
    names = " and ".join(path.name for path in sources)
    return re.sub(r'["\\\x00-\x1f]', "_", names)[:200]


def _network(traffic: list[Flows | Steps | Sizes], written: Written) -> Network:
    """Return a network for messages whose files have none."""
    hosts, is_htsim = 16, False
    for each in traffic:
        if isinstance(each, Steps | Flows) and each.nodes is not None:
            hosts, is_htsim = max(hosts if is_htsim else 0, each.nodes), True
        elif isinstance(each, Flows) and not is_htsim:
            hosts = max(int(word.text) for flow in each.flows for word in (flow.src, flow.dst)) + 1
    hosts = max(hosts, 2)
    rate = 'rate = "100 Gbps"'
    k = next((k for k in range(4, 129, 2) if k**3 // 4 == hosts), None)
    if is_htsim and k is not None:
        # htsim's own choice for so many nodes.
        lines = ['topology = "fat-tree"', f"k = {k}", rate, 'uplink = "100 Gbps"', f'delay = "{DELAY}"']
        what = f"a fat-tree of {hosts} hosts with links of 100 Gbps and {DELAY}, as htsim's without one"
    else:
        lines = ['topology = "star"', f"hosts = {hosts}", rate, f'delay = "{DELAY}"']
        what = (
            f"one switch with {hosts} hosts at 100 Gbps and {DELAY}; import a topology with the other files"
        )
    written.notes.append(f"no file says the network: {what}")
    return Network(lines, list(range(hosts)), {}, RATE)


def _marked(network: Network, settings: Settings, written: Written) -> list[str]:
    """Return the lines of the network with its buffers and thresholds."""
    lines = list(network.lines)
    mark = settings.mark(network.rate)
    missing = [rate for rate in network.rates if mark is not None and settings.mark(rate) is None]
    if missing:
        written.notes.append(
            f"KMIN_MAP has no threshold for links of {missing[0]:g} bit/s: that of hosts' links"
        )
    for at, line in enumerate(lines):
        found = re.search(r'rate = "([\d.]+) ([GMK]?)bps"', line)
        if at < 4 or found is None or mark is None:
            continue
        own = settings.mark(float(found[1]) * {"G": 1e9, "M": 1e6, "K": 1e3, "": 1.0}[found[2]])
        if own is not None and own != mark:
            lines[at] = line.replace(" },", f", mark = {own} }},")
    keys = dict(settings.network)
    if mark is not None:
        keys["mark"] = mark
        keys |= _red(network, settings, written)
    chosen = []
    if "buffer" not in keys and not network.has_buffers:
        keys["buffer"] = '"16 MB"'
        chosen.append("a switch has a buffer of 16 MB, shared dynamically")
    if "mark" not in keys:
        # DCTCP's K is a share of the bandwidth-delay product; HPCC's Kmin at 100 Gbps is 400 KB.
        keys["mark"] = f'"{max(1, round(network.rate / 100e9 * 400))} KB"'
        chosen.append(f"packets are marked above {keys['mark'][1:-1]}")
    if chosen:
        written.notes.append(f"no file says it: {' and '.join(chosen)}")
    at = next(i for i, line in enumerate(lines) if line.startswith("delay")) + 1
    return lines[:at] + [f"{key} = {value}" for key, value in keys.items()] + lines[at:]


def _red(network: Network, settings: Settings, written: Written) -> dict[str, str]:
    """Return the keys of RED, whose Kmax is one for ports to hosts and one for ports to switches."""
    if settings.red is None:
        return {}
    kmax = settings.red.kmax
    of_kind = {"host": network.rates - network.uplinks | {network.rate}, "uplink": network.uplinks}
    ends = {}
    for kind, rates in of_kind.items():
        known = {rate: kmax[rate] for rate in rates if rate in kmax}
        if not known and rates:
            written.notes.append(
                f"KMAX_MAP has no value for links of {min(rates):g} bit/s: that of the fastest"
            )
            known = kmax
        if known:
            ends[kind] = max(known.values())
        if len(set(known.values())) > 1:
            place = "to hosts" if kind == "host" else "between switches"
            written.notes.append(f"links {place} have one Kmax here, that of the fastest: {ends[kind]:g} KB")
    values = {kind: f'"{value:.12g} KB"' for kind, value in ends.items()}
    one = len(set(values.values())) == 1
    several = ", ".join(f"{kind} = {value}" for kind, value in values.items())
    keys = {"marking": '"red"', "red_kmax": values["host"] if one else f"{{ {several} }}"}
    if (share := settings.red.pmax.get(network.rate)) is not None:
        keys["red_pmax"] = f'"{100 * share:.12g}%"'
    return keys


def _host(text: Text, network: Network, places: dict[int, int], word: Word) -> int:
    node = int(word.text)
    host = places.get(node)
    if host is not None:
        return host
    if node in network.switches:
        raise text.fault(word, f"node {node} is a switch of the topology, and sends and receives nothing")
    last = max(*network.nodes, *network.switches, 0)
    hint = ""
    if node == last + 1 and 0 in places:
        hint = "does the file count its nodes from 1?"
    raise text.fault(
        word, f"node {node} does not exist; the topology's hosts are {_span(network.nodes)}", hint
    )


def _span(nodes: list[int]) -> str:
    return f"{nodes[0]} to {nodes[-1]}"


def _flows(out: Path, name: str, each: Flows, network: Network, written: Written) -> str:
    places = {node: host for host, node in enumerate(network.nodes)}
    ending, _ = each.unit
    rows = [f"start{ending},src,dst,bytes"]
    for flow in each.flows:
        src, dst = (_host(each.text, network, places, word) for word in (flow.src, flow.dst))
        rows.append(f"{flow.start},{src},{dst},{flow.size}")
    file = f"{out.stem}-{name.replace(' ', '-')}.csv"
    written.beside[file] = "\n".join(rows) + "\n"
    first, last = (float(pick(each.flows, key=lambda flow: float(flow.start)).start) for pick in (min, max))
    # An idle beginning is kept, as times of logs are of the file; one key cuts it.
    idle = '# start = "0 s"               # begins with the first flow\n' if first > last - first else ""
    return f'[[traffic]]\nname = "{name}"\npattern = "trace"\nfile = "{file}"\n{idle}'


def _steps(name: str, each: Steps, network: Network) -> str:
    """Write messages that wait for each other as stages of one request."""
    places = {node: host for host, node in enumerate(network.nodes)}
    timed = sum(1 for step in each.steps if not step.after and float(step.flow.start))
    if len(each.steps) + timed > MAX_STEPS:
        raise each.text.fault(
            each.steps[MAX_STEPS - timed].flow.src,
            f"{len(each.steps)} connections with triggers are too many: at most {MAX_STEPS} stages",
        )
    roles: dict[int, str] = {}
    stages = []
    for step in each.steps:
        src, dst = (_host(each.text, network, places, word) for word in (step.flow.src, step.flow.dst))
        for host in (src, dst):
            roles[host] = f"h{host}"
        after = step.after
        if not after and float(step.flow.start):
            # Work of the sender until the start.
            time = written_time(round(float(step.flow.start) * each.unit * 1e12))
            stages.append(
                _stage(f"until {step.name}", [f"at = {_text(roles[src])}", f'time = "{time}"', "after = []"])
            )
            after = [f"until {step.name}"]
        keys = [f'from = "{roles[src]}"', f'to = "{roles[dst]}"', f'size = "{step.flow.size} B"']
        keys.append(f"after = [{', '.join(map(_text, after))}]")
        # The end of another host's message starts it too, as triggers do.
        keys += ["barrier = true"] if step.after else []
        stages.append(_stage(step.name, keys))
    head = f'[[traffic]]\nname = "{name}"\npattern = "stages"\nclients = 1\ncount = 1\n\n[traffic.roles]\n'
    return (
        head
        + "".join(f"{role} = {host}\n" for host, role in sorted(roles.items()))
        + "\n"
        + "\n".join(stages)
    )


def _text(name: str) -> str:
    return f'"{name}"'


def _stage(name: str, keys: list[str]) -> str:
    return "\n".join(["[[traffic.stage]]", f'name = "{name}"', *keys, ""])


def _random(out: Path, each: Sizes | None, written: Written) -> str:
    """Write messages between random pairs, of the sizes of a file."""
    size = '"cdf(websearch)"'
    if each is not None:
        path = Path(os.path.relpath(each.text.path.resolve(), out.resolve().parent)).as_posix()
        if re.search(r'["\\\x00-\x1f]', path):
            raise Mistaken(f"{each.text.path}: a scenario cannot name a path like this")
        keys = [f'cdf = "{path}"', *(f"{key} = {value}" for key, value in each.shape.items())]
        size = f"{{ {', '.join(keys)} }}" if each.shape else f'"cdf({path})"'
        written.notes.append(
            "no file says the arrivals: Poisson, at 40 % of hosts' links, between random pairs"
        )
    else:
        written.notes.append(
            "no file says the traffic: websearch's sizes, Poisson, 40 % of hosts' links, between random pairs"
        )
    return f'[[traffic]]\nname = "random"\npattern = "poisson"\nload = "40%"\nsize = {size}\n'


def _end(flows: list[Flow], unit: float, network: Network, written: Written) -> float:
    """Return the end of a run in which messages can arrive, in seconds."""
    last = max(float(flow.start) for flow in flows) * unit
    at: dict[tuple[str, str], int] = {}
    for flow in flows:
        for key in (("to", flow.dst.text), ("from", flow.src.text)):
            at[key] = at.get(key, 0) + flow.size
    needed = max(at.values()) * 8 / network.rate * 1.5
    if needed > LONGEST:
        written.notes.append(
            f"the messages of one host take {needed / 1.5:.3g} s of its link: the run lasts {LONGEST:g} s "
            "after the last start, unless a file says otherwise"
        )
    return last + min(max(needed, SHORTEST), LONGEST)


def _rounded(value: float) -> str:
    """Write a time that is not shorter, in two or three digits."""
    ps = ceil(value * 1e12)
    step = 10 ** max(0, len(str(ps)) - 3)
    return written_time(-(-ps // step) * step)
