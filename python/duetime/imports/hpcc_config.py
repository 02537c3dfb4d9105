"""Configurations of the HPCC simulator (``config.txt``): a key and its values in each line."""

from __future__ import annotations

import re
from collections.abc import Callable

from duetime.imports.model import Format, Network, Options, Part, Settings
from duetime.imports.text import Text, Word
from duetime.language import catalog

#: CC_MODE -> the transport, by its name where duetime has it.
MODES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc-pint"}
#: Keys of output, which results have anyway, and that need no word.
OUTPUT = re.compile(r"\w+_OUTPUT_FILE|TRACE_FILE|QLEN_\w+|ENABLE_TRACE")
FILES = {"TOPOLOGY_FILE": "network", "FLOW_FILE": "traffic"}
#: Bytes of the unit of KMIN_MAP, KMAX_MAP and BUFFER_SIZE.
KILO, MEBI = 1000, 1 << 20


def is_it(text: Text) -> bool:
    """Return whether the file has keys that every such configuration has."""
    keys = {row[0].text for row in text.rows("{")}
    return len(keys & {"TOPOLOGY_FILE", "FLOW_FILE", "CC_MODE", "SIMULATOR_STOP_TIME"}) >= 2


def read(text: Text, _: Options) -> Part:
    """Read the keys that mean something here, and name all others."""
    settings, part = Settings(), Part("HPCC configuration")
    part.settings = settings
    found: dict[str, list[Word]] = {}
    for row in text.rows("{"):
        key = row[0].text
        if key in found:
            raise text.fault(row[0], f"`{key}` appears twice")
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", key) or len(row) < 2:
            raise text.fault(row[0].line, "a key and its value are expected, like CC_MODE 8")
        found[key] = row
    unread = [key for key in found if key not in READERS and key not in FILES and not OUTPUT.fullmatch(key)]
    for key, reader in READERS.items():
        if key in found:
            reader(text, found[key], settings, part.notes)
    _marking(text, found, settings, part.notes)
    part.names = {name: found[key][1] for key, name in FILES.items() if key in found}
    if unread:
        part.notes.append(f"keys without a meaning here: {', '.join(unread)}")
    part.summary += f": {len(found) - len(unread)} of {len(found)} keys"
    return part


def _payload(text: Text, row: list[Word], settings: Settings, _: list[str]) -> None:
    settings.transport["mss"] = f'"{text.whole(row[1], "PACKET_PAYLOAD_SIZE", least=1)} B"'


def _stop(text: Text, row: list[Word], settings: Settings, _: list[str]) -> None:
    settings.run["duration"] = f'"{text.number(row[1], "SIMULATOR_STOP_TIME"):.12g} s"'


def _mode(text: Text, row: list[Word], settings: Settings, notes: list[str]) -> None:
    mode = text.whole(row[1], "CC_MODE")
    if mode not in MODES:
        known = ", ".join(f"{number} {name}" for number, name in MODES.items())
        raise text.fault(row[1], f"CC_MODE {mode} is unknown", f"the modes are {known}")
    name = MODES[mode]
    if name not in {each["name"] for each in catalog()["transports"]}:
        notes.append(f"CC_MODE {mode} is {name}, which is no transport here: dctcp takes its place")
        name = "dctcp"
    settings.transport["name"] = f'"{name}"'


def _buffer(text: Text, row: list[Word], settings: Settings, _: list[str]) -> None:
    settings.network["buffer"] = f'"{text.whole(row[1], "BUFFER_SIZE", least=1)} MiB"'


def _gain(text: Text, row: list[Word], settings: Settings, notes: list[str]) -> None:
    if settings.transport.get("name") == '"dctcp"':
        settings.transport["g"] = f"{text.number(row[1], 'EWMA_GAIN'):.12g}"
    else:
        notes.append("EWMA_GAIN is of DCQCN and DCTCP")


def _loss(text: Text, row: list[Word], settings: Settings, _: list[str]) -> None:
    if share := text.number(row[1], "ERROR_RATE_PER_LINK"):
        settings.faults.append(lambda _: f'[[fault]]\nkind = "loss"\nprobability = {share!r}\n')


def _down(text: Text, row: list[Word], settings: Settings, _: list[str]) -> None:
    if len(row) != 4:
        raise text.fault(row[0].line, "LINK_DOWN has three numbers: a time in us after 2 s, and two nodes")
    after, a, b = (text.whole(word, "each number of LINK_DOWN") for word in row[1:])
    if after == a == b == 0:
        return

    def fault(network: Network) -> str:
        for word, node in ((row[2], a), (row[3], b)):
            if node not in network.switches:
                raise text.fault(word, f"node {node} of LINK_DOWN is no switch of the topology")
        ends = f"{network.switches[a]} - {network.switches[b]}"
        return f'[[fault]]\nkind = "down"\nlink = "{ends}"\nat = "2 s + {after} us"\n'

    settings.faults.append(fault)


Reader = Callable[[Text, list[Word], Settings, list[str]], None]
#: Each key that means something, with its reader.
READERS: dict[str, Reader] = {
    "PACKET_PAYLOAD_SIZE": _payload,
    "SIMULATOR_STOP_TIME": _stop,
    "CC_MODE": _mode,
    "BUFFER_SIZE": _buffer,
    "EWMA_GAIN": _gain,
    "ERROR_RATE_PER_LINK": _loss,
    "LINK_DOWN": _down,
    "ENABLE_QCN": lambda *_: None,
    "KMIN_MAP": lambda *_: None,
    "KMAX_MAP": lambda *_: None,
    "PMAX_MAP": lambda *_: None,
}


def _marking(text: Text, found: dict[str, list[Word]], settings: Settings, notes: list[str]) -> None:
    """Mark from Kmin of a link's rate on."""
    if "ENABLE_QCN" in found and text.whole(found["ENABLE_QCN"][1], "ENABLE_QCN") == 0:
        return
    if "KMIN_MAP" not in found:
        return
    maps = {key: _map(text, found[key]) for key in ("KMIN_MAP", "KMAX_MAP") if key in found}
    low, high = maps["KMIN_MAP"], maps.get("KMAX_MAP", maps["KMIN_MAP"])
    if low != high:
        notes.append(
            "KMIN_MAP, KMAX_MAP, PMAX_MAP: all packets are marked from Kmin on, and Kmax is not read"
        )
    settings.mark = lambda rate: f'"{low[rate]:.12g} KB"' if rate in low else None


def _map(text: Text, row: list[Word]) -> dict[float, float]:
    pairs = text.whole(row[1], f"`{row[0]}`", least=1)
    if len(row) != 2 + 2 * pairs:
        message = f"`{row[0]}` announces {pairs} pairs of a rate and a value, and has {(len(row) - 2) / 2:g}"
        raise text.fault(row[0].line, message)
    numbers = [text.number(word, f"each number of `{row[0]}`") for word in row[2:]]
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


FORMAT = Format("hpcc-config", "a configuration of the HPCC simulator (config.txt)", is_it, read)
