"""Figure 7 of D2TCP: missed deadlines and long flows over the fan-in, real and simulated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from duetime import files
from duetime._core import version
from duetime.comparison import Comparison
from duetime.results import Result
from duetime.statistics import estimate
from duetime.testbed.experiments import EXPERIMENTS, carry_out

if TYPE_CHECKING:
    from duetime.contract.rows import Row
    from duetime.contract.testbed import RealRows, Repeat, Table

FAN_INS = (20, 25, 30, 35, 40)
#: The scenario's rate over the paper's, and what else is scaled.
RATE = 1 / 50
SCALE = (
    "200 Mbps, 1/50 of the paper's 10 Gbps; messages half as large, times 25-fold; "
    "K = 65 packets and the 83 that the paper's pipe held"
)


def run(
    fan_ins: Sequence[int] = FAN_INS,
    *,
    seeds: int = 3,
    seed: int | None = None,
    set: Mapping[str, object] | None = None,
    advanced: Callable[[str], None] | None = None,
) -> dict[int, Comparison[Result]]:
    """Run each fan-in `seeds` times, each with the next seed."""
    experiment = EXPERIMENTS["fig07"]

    def compare(fan_in: int) -> Comparison[Result]:
        told = None if advanced is None else lambda what: advanced(f"fan-in {fan_in}, {what}")
        changes = {**(set or {}), "fan_in": fan_in}
        return carry_out(
            experiment.scenario, experiment.arms, seeds=seeds, seed=seed, set=changes, advanced=told
        )

    return {fan_in: compare(fan_in) for fan_in in fan_ins}


def table(compared: Mapping[int, Comparison[Result]]) -> Table:
    """Lay it out as rows, one for each curve's point, and say of each repeat whether the signs agree."""
    rows: list[Row] = []
    repeats: list[Repeat] = []
    for fan_in, comparison in compared.items():
        for arm, results in comparison.by_seed.items():
            transport, where = arm.split(" ")
            rows.append({"fan_in": fan_in, "transport": transport, "where": where, **_point(results)})
        repeats += _repeats(fan_in, comparison)
    return {"version": version(), "id": "d2tcp/fig07", "scale": SCALE, "rows": rows, "repeats": repeats}


def record(compared: Mapping[int, Comparison[Result]]) -> RealRows:
    """Return the real rows as `duetime reproduce` takes them, with notes for readers.

    ``flow_mbps`` is what long flows got, at the paper's rate; ``points`` how many percentage points more
    D2TCP missed than DCTCP, run by run.
    """
    laid_out = table(compared)
    rows: list[Row] = []
    for row in laid_out["rows"]:
        if row["where"] == "real":
            scaled = {
                key.replace("long", "flow"): value / RATE if isinstance(value, int | float) else None
                for key, value in row.items()
                if key.startswith("long_mbps")
            }
            own = {key: value for key, value in row.items() if key != "where"}
            rows.append({**own, **scaled, **_points(row, laid_out["repeats"])})
    agree = sum(each["agree"] for each in laid_out["repeats"])
    runs = [run for each in compared.values() for run in each.by_seed["d2tcp real"]]
    machines = sorted({f"Linux {run.data['testbed']['kernel']}" for run in runs})
    return {
        "version": version(),
        "id": "d2tcp/fig07",
        "notes": [
            f"The real network: TCP of {', '.join(machines)} between network namespaces; {SCALE}.",
            f"Beside a simulation of the same messages the sign of D2TCP's difference to DCTCP agrees in "
            f"{agree} of {len(laid_out['repeats'])} repeats.",
        ],
        "rows": rows,
    }


def save(compared: Mapping[int, Comparison[Result]], folder: Path) -> None:
    """Write ``testbed.json`` (all rows), ``real.json`` (the real ones), and a folder for each fan-in."""
    with files.replacing(folder) as aside:
        for fan_in, comparison in compared.items():
            comparison.save(aside / f"fan-in-{fan_in}")
        for name, what in (("testbed", table(compared)), ("real", record(compared))):
            (aside / f"{name}.json").write_text(json.dumps(what, indent=2) + "\n", encoding="utf-8")


def missed(result: Result) -> float:
    """Missed deadlines of the answers, in percent."""
    found = result.classes["answers"]["missed_percent"]
    assert found is not None, "the answers have deadlines"
    return float(found)


def long_mbps(result: Result) -> float | None:
    """Mean rate of the long flows that were completed: their bytes over their time."""
    flows = result.flows.filter((result.flows["class"] == "long") & result.flows["counted"])
    done = flows.drop_nulls("fct_us")
    rates = (done["bytes"] * 8 / done["fct_us"]).mean() if done.height else None
    return float(rates) if isinstance(rates, float) else None


def _point(results: Sequence[Result]) -> Row:
    share, rate = (
        estimate([missed(each) for each in results]),
        estimate([long_mbps(each) for each in results]),
    )
    assert share is not None
    return {
        "missed_percent": share["mean"],
        "missed_percent_low": share["ci95"][0],
        "missed_percent_high": share["ci95"][1],
        "long_mbps": rate["mean"] if rate else None,
        "long_mbps_low": rate["ci95"][0] if rate else None,
        "long_mbps_high": rate["ci95"][1] if rate else None,
        "repeats": len(results),
    }


def _points(row: Row, repeats: Sequence[Repeat]) -> Row:
    found = estimate([each["real"] for each in repeats if each["fan_in"] == row["fan_in"]])
    if row["transport"] != "d2tcp" or found is None or found["ci95"][0] is None:
        return {}
    low, high = found["ci95"]
    return {"points": found["mean"], "points_low": low, "points_high": high}


def _repeats(fan_in: int, comparison: Comparison[Result]) -> list[Repeat]:
    """Return the difference that deadlines make for each seed, in percentage points of missed ones."""
    by_seed = comparison.by_seed
    ways = {
        where: [
            round(missed(d2tcp) - missed(dctcp), 6)
            for d2tcp, dctcp in zip(by_seed[f"d2tcp {where}"], by_seed[f"dctcp {where}"], strict=True)
        ]
        for where in ("real", "simulated")
    }
    seeds = [result.seed for result in by_seed["d2tcp real"]]
    return [
        {
            "fan_in": fan_in,
            "seed": seed,
            "real": real,
            "simulated": simulated,
            "agree": _sign(real) == _sign(simulated),
        }
        for seed, real, simulated in zip(seeds, ways["real"], ways["simulated"], strict=True)
    ]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
