"""Verdicts on claims, and the number of facts: several claims on the same fact count as one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duetime.contract.experiments import Counted

#: The statuses of a claim, from best to worst, with their texts. `few`: its rule reads an interval that too
#: few misses back. `late`: it holds by a definition that was chosen when the figure was known. `calibrated`:
#: it holds where a choice was calibrated by the paper's text, and the other regime was not tried or
#: contradicts it; `uncalibrated`: it holds in that alone.
STATUSES = {
    "holds": "holds",
    "late": "holds, defined late",
    "open": "not measured",
    "few": "too few misses to tell",
    "calibrated": "holds where calibrated",
    "uncalibrated": "holds only uncalibrated",
    "fails": "does not hold",
}


def several(number: int, kind: str) -> str:
    """Return a number of facts with the words of their status: 1 holds, 5 do not hold."""
    words = STATUSES[kind]
    if number != 1:
        words = {"fails": "do not hold"}.get(kind, words.replace("holds", "hold", 1))
    return f"{number} {words}"


#: The verdict of each status; without one there is none.
HOLDS = {
    "holds": True,
    "late": True,
    "calibrated": True,
    "uncalibrated": False,
    "fails": False,
    "open": None,
    "few": None,
}


def status(claim: Counted) -> str:
    """One of `STATUSES`; a record of a former version says only whether the claim holds."""
    former = {True: "holds", False: "fails", None: "open"}
    return str(claim.get("status") or former[claim["holds"]])


def in_unit(number: str, unit: str) -> str:
    """Write a number with its unit, which is given for several: 2 cells in which, 1 cell in which."""
    if number == "1":
        # Not the s of "us", "Mbps" and "times": these stay as they are.
        unit = re.sub(r"^(?!times\b)([a-z-]{3,}?)(ies|s)\b", lambda it: it[1] + "y" * (it[2] == "ies"), unit)
    return f"{number} {unit}".rstrip()


def tally(claims: Iterable[Counted]) -> dict[str, int]:
    """Return the number of facts of each status in the claims of papers.

    Claims of one fact count once, as the worst of them. Echoes of the set-up and our own expectations do not
    count.
    """
    worse = [*STATUSES]
    found: dict[tuple[str, str | int], str] = {}
    for number, claim in enumerate(claims):
        if claim.get("kind", "claim") == "claim":
            fact = ("fact", claim["fact"]) if claim.get("fact") else ("claim", number)
            found[fact] = max(found.get(fact, worse[0]), status(claim), key=worse.index)
    return {word: sum(each == word for each in found.values()) for word in STATUSES}
