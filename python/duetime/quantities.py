"""Quantities as a resolved scenario writes them, ``"20 us"``, ``"1.46 KB"``, ``"40 packets"``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from duetime.errors import Unreadable

_TIME_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_BYTES = {
    "B": Fraction(1),
    **{f"{prefix}B": Fraction(1000**power) for power, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}iB": Fraction(1024**power) for power, prefix in enumerate("KMG", 1)},
    **{f"{prefix}b": Fraction(1000**power, 8) for power, prefix in enumerate("KMG", 1)},
}
_RATES = {f"{prefix}bps": Fraction(1000**power) for power, prefix in enumerate(("", "K", "M", "G", "T"))}
_PACKETS = {"packet": Fraction(1), "packets": Fraction(1)}
_SHARES = {"": Fraction(1), "%": Fraction(1, 100)}
#: Units that measure the same, with their factors.
_KINDS: tuple[dict[str, Fraction], ...] = (
    {unit: Fraction(ps) for unit, ps in _TIME_PS.items()},
    _BYTES,
    _RATES,
    _PACKETS,
    _SHARES,
)


def counted(number: int, what: str) -> str:
    """Write a count and its noun: 1 run, 2,000 runs."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def short(value: float, digits: int = 3) -> str:
    """Write a number with so many digits that matter, and all before the point: 0.0123, 98.2, 3,460."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def memory(count: float) -> str:
    """Write a number of bytes with three digits that matter: 1.5 GB."""
    power = 0
    while count >= 999.5 and power < 6:
        count, power = count / 1000, power + 1
    return f"{short(count)} {('B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB')[power]}"


def time_ps(text: str) -> int:
    """Picoseconds of a time."""
    number, unit = text.split()
    return round(Fraction(number) * _TIME_PS[unit])


def size_bytes(text: str) -> int:
    """Bytes of a size."""
    number, unit = text.split()
    return round(Fraction(number) * _BYTES[unit])


def amount(text: str) -> tuple[int, int]:
    """(packets, bytes) of an amount in a queue; the other one is 0."""
    number, unit = text.split()
    return (round(Fraction(number)), 0) if unit.startswith("packet") else (0, size_bytes(text))


@dataclass(frozen=True)
class Quantity:
    """A number and its unit."""

    number: float
    unit: str = ""

    def __str__(self) -> str:
        """Write it as in a scenario."""
        return f"{self.number:.9g}{'' if self.unit == '%' else ' '}{self.unit}".strip()

    @staticmethod
    def of(written: object, what: str) -> Quantity:
        """Read a number with its unit, a percentage as a share; `Unreadable` if it is none."""
        found = Quantity.as_written(written, what)
        return Quantity(found.number / 100) if found.unit == "%" else found

    @staticmethod
    def as_written(written: object, what: str) -> Quantity:
        """Read a number with its unit, also a percentage; `Unreadable` if it is none."""
        if isinstance(written, int | float) and not isinstance(written, bool):
            return Quantity(float(written))
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z%]*)\s*", str(written))
        if match is None:
            raise Unreadable(f"{what} must be a number, with a unit if it has one, not {written}")
        return Quantity(float(match[1]), match[2])

    def to(self, unit: str) -> Quantity | None:
        """Return the same in another unit; none where the two measure different things."""
        if unit == self.unit:
            return self
        kind = next((kind for kind in _KINDS if {unit, self.unit} <= kind.keys()), None)
        if kind is None:
            return None
        return Quantity(float(Fraction(self.number) * kind[self.unit] / kind[unit]), unit)
