"""Rates and times as ns-3 and htsim write them, and as scenarios do."""

from __future__ import annotations

import re

from duetime.imports.text import Text, Word

BITS = {"": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}


def rate(text: Text, word: Word) -> float:
    """Return a rate in bit/s: 100Gbps, 100Gb/s, 25000000000.0."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e\+?\d+)?)(?:([KkMGT]?)(?:bps|b/s))?", word.text)
    if match is None or not float(match[1]):
        raise text.fault(word, f"a rate like 100Gbps, or a number of bit/s, is expected, not `{word}`")
    return float(match[1]) * BITS[match[2] or ""]


def seconds(text: Text, word: Word) -> float:
    """Return a time in seconds: 1000ns, 0.001ms."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)(s|ms|us|ns|ps)", word.text)
    if match is None or not float(match[1]):
        raise text.fault(word, f"a delay like 1000ns is expected, not `{word}`")
    return float(match[1]) * SECONDS[match[2]]


def written_rate(bits: float) -> str:
    """Write a rate as scenarios do."""
    for unit, factor in (("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3)):
        if bits >= factor and round(bits / factor, 6) * factor == bits:
            return f"{bits / factor:.12g} {unit}"
    return f"{bits:.12g} bps"


def written_time(value: float) -> str:
    """Write a time in seconds as scenarios do, exact to the picosecond."""
    ps = round(value * 1e12)
    for unit, factor in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if ps >= factor and ps * 1000 % factor == 0:
            return f"{ps / factor:.12g} {unit}"
    return f"{ps} ps"
