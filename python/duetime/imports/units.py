"""Rates and times as ns-3 and htsim write them, and as scenarios do."""

from __future__ import annotations

import re
from decimal import Decimal

from duetime.imports.text import Text, Word

BITS = {"": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PICOSECONDS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}


def rate(text: Text, word: Word) -> float:
    """Return a rate in bit/s: 100Gbps, 100Gb/s, 25000000000.0."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e\+?\d+)?)(?:([KkMGT]?)(?:bps|b/s))?", word.text)
    if match is None or not float(match[1]):
        raise text.fault(word, f"a rate like 100Gbps, or a number of bit/s, is expected, not `{word}`")
    return float(match[1]) * BITS[match[2] or ""]


def picoseconds(text: Text, word: Word) -> int:
    """Return a time in picoseconds: 1000ns, 0.001ms."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)(s|ms|us|ns|ps)", word.text)
    if match is None or not float(match[1]):
        raise text.fault(word, f"a delay like 1000ns is expected, not `{word}`")
    return round(Decimal(match[1]) * PICOSECONDS[match[2]])


def written_rate(bits: float) -> str:
    """Write a rate as scenarios do."""
    for unit, factor in (("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3)):
        if bits >= factor and round(bits / factor, 6) * factor == bits:
            return f"{bits / factor:.12g} {unit}"
    return f"{bits:.12g} bps"


def written_time(ps: int) -> str:
    """Write a time in picoseconds as scenarios do."""
    for unit, factor in PICOSECONDS.items():
        if ps >= factor and ps * 1000 % factor == 0:
            return f"{Decimal(ps) / factor:f} {unit}"
    return f"{ps} ps"
