"""Configurations of the HPCC simulator (``config.txt``): a key and its values in each line."""

from __future__ import annotations

import re
from collections.abc import Callable

from duetime.imports.model import Format, Network, Options, Part, Red, Settings
from duetime.imports.text import Text, Word
from duetime.imports.units import rate, written_rate

#: CC_MODE -> the transport.
MODES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp"}
#: CC_MODE of HPCC with PINT's headers.
PINT = 10
#: The free part of a switch's buffer that it lets a link of the hosts' rate hold before it pauses that.
PAUSE_ALPHA = "0.125"
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
    readers = dict(READERS)
    mode = _mode(text, found["CC_MODE"], settings) if "CC_MODE" in found else None
    readers |= OF_MODES.get(mode or "", {})
    for key, reader in readers.items():
        if key in found:
            reader(text, found[key], settings)
    _marking(text, found, settings, part.notes)
    _lossless(text, found, settings)
    part.names = {name: found[key][1] for key, name in FILES.items() if key in found}
    others = {key for each in OF_MODES.values() for key in each} | IDLE.keys()
    rest = [
        key
        for key, row in found.items()
        if key not in readers
        and key not in FILES
        and not OUTPUT.fullmatch(key)
        and AS_HERE.get(key) != row[1].text
    ]
    unread = [key for key in rest if mode is None or key not in others or IDLE.get(key) == mode]
    if unread:
        part.notes.append(f"keys without a meaning here: {', '.join(unread)}")
        values = (" ".join(word.text for word in found[key]) for key in unread)
        settings.remarks.append(f"Keys of {text.path.name} without a meaning here: {', '.join(values)}.")
    if idle := [key for key in rest if key not in unread]:
        settings.remarks.append(f"Keys of other modes than CC_MODE {found['CC_MODE'][1]}: {', '.join(idle)}.")
    part.summary += f": {len(found) - len(unread)} of {len(found)} keys"
    return part


def _payload(text: Text, row: list[Word], settings: Settings) -> None:
    settings.transport["mss"] = f'"{text.whole(row[1], "PACKET_PAYLOAD_SIZE", least=1)} B"'


def _stop(text: Text, row: list[Word], settings: Settings) -> None:
    settings.run["duration"] = f'"{text.number(row[1], "SIMULATOR_STOP_TIME"):.12g} s"'


def _mode(text: Text, row: list[Word], settings: Settings) -> str:
    """Return the transport, and set the keys that its mode has in all configurations."""
    mode = text.whole(row[1], "CC_MODE")
    if mode == PINT:
        raise text.fault(
            row[1], f"CC_MODE {mode} is HPCC-PINT, which is no transport here", "CC_MODE 3 is HPCC"
        )
    if mode not in MODES:
        known = ", ".join(f"{number} {name}" for number, name in MODES.items())
        raise text.fault(row[1], f"CC_MODE {mode} is unknown", f"the modes are {known}")
    name = MODES[mode]
    settings.transport["name"] = f'"{name}"'
    settings.transport |= FIXED[name]
    return name


def _buffer(text: Text, row: list[Word], settings: Settings) -> None:
    settings.network["buffer"] = f'"{text.whole(row[1], "BUFFER_SIZE", least=1)} MiB"'


def _acks(text: Text, row: list[Word], settings: Settings) -> None:
    if (every := text.whole(row[1], "L2_ACK_INTERVAL", least=1)) > 1:
        settings.transport["ack_every"] = str(every)


def _irn(text: Text, row: list[Word], settings: Settings) -> None:
    if text.whole(row[1], "ENABLE_IRN"):
        settings.transport["recovery"] = '"sack"'


def _loss(text: Text, row: list[Word], settings: Settings) -> None:
    if share := text.number(row[1], "ERROR_RATE_PER_LINK"):
        settings.faults.append(lambda _: f'[[fault]]\nkind = "loss"\nprobability = {share!r}\n')


def _down(text: Text, row: list[Word], settings: Settings) -> None:
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


Reader = Callable[[Text, list[Word], Settings], None]


def _plain(key: str) -> Reader:
    """Return a reader of a number for a key of ``[transport]``."""

    def read_it(text: Text, row: list[Word], settings: Settings) -> None:
        settings.transport[key] = f"{text.number(row[1], row[0].text):.12g}"

    return read_it


def _microseconds(key: str) -> Reader:
    def read_it(text: Text, row: list[Word], settings: Settings) -> None:
        settings.transport[key] = f'"{text.number(row[1], row[0].text):.12g} us"'

    return read_it


def _rate(key: str) -> Reader:
    def read_it(text: Text, row: list[Word], settings: Settings) -> None:
        settings.rates[key] = rate(text, row[1])
        settings.transport[key] = f'"{written_rate(settings.rates[key])}"'

    return read_it


def _share(key: str) -> Reader:
    """Return a reader of a rate for a key that is a share of a host's link."""

    def read_it(text: Text, row: list[Word], settings: Settings) -> None:
        settings.shares[key] = rate(text, row[1])

    return read_it


def _flag(key: str) -> Reader:
    def read_it(text: Text, row: list[Word], settings: Settings) -> None:
        settings.transport[key] = "true" if text.whole(row[1], row[0].text) else "false"

    return read_it


def _has_window(text: Text, row: list[Word], settings: Settings) -> None:
    # IRN bounds the data in flight by the bandwidth-delay product whatever HAS_WIN says.
    has_irn = settings.transport.get("recovery") == '"sack"'
    settings.transport["window"] = '"fixed"' if text.whole(row[1], "HAS_WIN") or has_irn else '"none"'


def _scales_window(text: Text, row: list[Word], settings: Settings) -> None:
    # It says nothing without a window.
    if text.whole(row[1], "VAR_WIN") and settings.transport.get("window") != '"none"':
        settings.transport["window"] = '"scaled"'


def _hyper_steps(text: Text, row: list[Word], settings: Settings) -> None:
    """Read TIMELY's larger step as a multiple of the other one."""
    if step := settings.rates.get("add_step"):
        settings.transport["hai_steps"] = f"{rate(text, row[1]) / step:.12g}"


WINDOW: dict[str, Reader] = {
    "HAS_WIN": _has_window,
    "VAR_WIN": _scales_window,
    "MIN_RATE": _share("least_rate"),
}
#: The keys that each transport reads, beside the keys of all.
OF_MODES: dict[str, dict[str, Reader]] = {
    "dcqcn": {
        "ALPHA_RESUME_INTERVAL": _microseconds("alpha_interval"),
        "RATE_DECREASE_INTERVAL": _microseconds("cnp_interval"),
        "RP_TIMER": _microseconds("increase_timer"),
        "CLAMP_TARGET_RATE": _flag("clamp_target"),
        "EWMA_GAIN": _plain("g"),
        "FAST_RECOVERY_TIMES": _plain("fast_recovery"),
        "RATE_AI": _rate("add_step"),
        "RATE_HAI": _rate("hyper_step"),
        **WINDOW,
    },
    "hpcc": {
        "U_TARGET": _plain("eta"),
        "MI_THRESH": _plain("max_stage"),
        "RATE_AI": _share("additive_increase"),
    },
    "timely": {"RATE_AI": _rate("add_step"), "RATE_HAI": _hyper_steps, **WINDOW},
    "dctcp": {"EWMA_GAIN": _plain("g")},
}
#: What a transport has in that simulator whatever the configuration says. TIMELY's times are its paper's.
FIXED: dict[str, dict[str, str]] = {
    "dcqcn": {"reaction": '"periodic"', "stages": '"timer"'},
    "hpcc": {},
    "timely": {
        "t_low": '"50 us"',
        "t_high": '"500 us"',
        "min_rtt": '"20 us"',
        "hai_after": "6",
        "hai_below_t_low": "true",
        "recovery": '"go-back-n"',
    },
    "dctcp": {"recovery": '"go-back-n"'},
}
#: Values that are so here anyway.
AS_HERE = {
    "GLOBAL_T": "1",
    "RATE_BOUND": "1",
    "L2_BACK_TO_ZERO": "0",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "FAST_REACT": "1",
}
#: Keys that no reader has, of one transport or of PINT.
IDLE = {
    "DCTCP_RATE_AI": "dctcp",
    "FAST_REACT": "hpcc",
    "INT_MULTI": "hpcc",
    "PINT_LOG_BASE": "",
    "PINT_PROB": "",
}
#: Each key that means something, with its reader.
READERS: dict[str, Reader] = {
    "PACKET_PAYLOAD_SIZE": _payload,
    "SIMULATOR_STOP_TIME": _stop,
    "CC_MODE": lambda *_: None,
    "BUFFER_SIZE": _buffer,
    "L2_ACK_INTERVAL": _acks,
    "ENABLE_IRN": _irn,
    "ERROR_RATE_PER_LINK": _loss,
    "LINK_DOWN": _down,
    "ENABLE_PFC": lambda *_: None,
    "ENABLE_QCN": lambda *_: None,
    "USE_DYNAMIC_PFC_THRESHOLD": lambda *_: None,
    "KMIN_MAP": lambda *_: None,
    "KMAX_MAP": lambda *_: None,
    "PMAX_MAP": lambda *_: None,
}


def _lossless(text: Text, found: dict[str, list[Word]], settings: Settings) -> None:
    """Pause links as that simulator always does, and ConWeave's unless ENABLE_PFC is 0."""
    if "ENABLE_PFC" in found and text.whole(found["ENABLE_PFC"][1], "ENABLE_PFC") == 0:
        return
    settings.network |= {"lossless": "true", "dynamic_alpha": PAUSE_ALPHA}
    settings.remarks.append(
        f"PFC pauses a link that holds {PAUSE_ALPHA} of the free buffer; that simulator lets faster links "
        "than hosts' hold more."
    )


def _marking(text: Text, found: dict[str, list[Word]], settings: Settings, notes: list[str]) -> None:
    """Mark from Kmin of a link's rate on, with the probability of RED where Kmax is another.

    Both simulators decide in ``SwitchNode::SwitchNotifyDequeue``, by the queue behind a departing packet.
    """
    if "ENABLE_QCN" in found and text.whole(found["ENABLE_QCN"][1], "ENABLE_QCN") == 0:
        return
    if "KMIN_MAP" not in found:
        return
    low = _map(text, found["KMIN_MAP"])
    settings.network["mark_at"] = '"departure"'
    settings.mark = lambda rate: f'"{low[rate]:.12g} KB"' if rate in low else None
    if "KMAX_MAP" not in found:
        return
    high = _map(text, found["KMAX_MAP"])
    for bits in sorted(low.keys() & high.keys()):
        if high[bits] < low[bits]:
            message = (
                f"Kmax is below Kmin for links of {written_rate(bits)}: {high[bits]:g} and {low[bits]:g}"
            )
            raise text.fault(found["KMAX_MAP"][0].line, message)
    if low == high:
        return
    shares = _map(text, found["PMAX_MAP"]) if "PMAX_MAP" in found else {}
    if len(set(shares.values())) > 1:
        notes.append("PMAX_MAP: links have one Pmax here, that of hosts' links")
    settings.red = Red(high, shares)


def _map(text: Text, row: list[Word]) -> dict[float, float]:
    pairs = text.whole(row[1], f"`{row[0]}`", least=1)
    if len(row) != 2 + 2 * pairs:
        message = f"`{row[0]}` announces {pairs} pairs of a rate and a value, and has {(len(row) - 2) / 2:g}"
        raise text.fault(row[0].line, message)
    numbers = [text.number(word, f"each number of `{row[0]}`") for word in row[2:]]
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


FORMAT = Format("hpcc-config", "a configuration of the HPCC simulator (config.txt)", is_it, read)
