"""Tables of experiments: claims of a paper with the published and the measured value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duetime.display.grid import Column, Grid, Shown
from duetime.experiments import verdicts
from duetime.quantities import counted, short

if TYPE_CHECKING:
    from duetime.contract.experiments import Claim, Measured, Published, Reproduction, Robust


def table(data: Reproduction) -> Shown:
    """The table of claims, and the finding below it."""
    title = f"{data['id']}: {data['title']} ({data['scale']}, {counted(len(data['seeds']), 'seed')})"
    columns = [Column(name, words=True) for name in ("published", "measured", "holds", "why not")]
    grid = Grid(["claim"], columns, title, wordy=True)
    for claim in data["claims"]:
        words = [_published(claim), _measured(claim), verdict(claim), claim["why"]]
        grid.add([claim["claim"]], words)
    return grid, [data["finding"]] if data.get("finding") else []


def in_variants(found: Robust) -> Shown:
    """In how many variants each claim holds, and the fewer of those where it does and does not."""
    columns = [Column("as written"), Column("held in"), Column("where", words=True)]
    grid = Grid(["claim"], columns, f"The claims in {len(found['variants'])} variants", wordy=True)
    for each in found["claims"]:
        few = each["where"] if len(each["where"]) <= len(each["where_not"]) else each["where_not"]
        word = "only " if few is each["where"] else "not "
        verdict = {True: "yes", False: "no", None: "-"}[each["as_written"]]
        where = word + "; ".join(few) if few else ""
        grid.add([each["claim"]], [verdict, f"{each['held']} of {each['of']}", where])
    return grid, []


def tally(results: Sequence[Reproduction]) -> Shown:
    """The findings of several experiments, and how many facts of the papers hold."""
    grid = Grid(["experiment"], [Column("found", words=True)])
    for data in results:
        grid.add([data["id"]], [data.get("finding") or "-"])
    counted = verdicts.tally([claim for data in results for claim in data["claims"]])
    words = ", ".join(verdicts.several(many, kind) for kind, many in counted.items() if many)
    return grid, [f"Distinct claims of the papers: {words or 'none was judged'}."]


def verdict(claim: Claim) -> str:
    """Return the verdict on a claim, in a word or two."""
    kind = claim.get("kind", "claim")
    said = verdicts.STATUSES[verdicts.status(claim)]
    return said if kind == "claim" else f"{said} ({'set-up' if kind == 'setup' else 'own'})"


def _published(claim: Claim) -> str:
    """Return the value that the source states, with its unit."""
    stated = claim["published"]
    number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return verdicts.in_unit(_stated(stated), claim["unit"] if number else "")


def _measured(claim: Claim) -> str:
    """Return the measured value, with its unit and interval; and in the other regime, if there is one."""
    own, beside = _estimated(claim, claim["unit"]), claim.get("beside")
    if not beside or beside.get("measured") is None:
        return own
    return f"{own}; {beside['regime']}: {_estimated(beside, claim['unit'])}"


def _estimated(one: Measured, unit: str) -> str:
    if one["measured"] is None:
        return "-"
    between = "" if one.get("low") is None else f" ({_stated(one['low'])} to {_stated(one['high'])})"
    return verdicts.in_unit(_stated(one["measured"]), unit) + between


def _stated(value: Published) -> str:
    return short(value, 4) if isinstance(value, float) else str(value)
