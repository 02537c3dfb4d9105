"""Measure how the cost of a run grows: the points of `scale.toml`, one after another.

    python bench/scale.py [--series NAME ...] [--long] [--note TEXT]

measures, prints, and appends to bench/record/.

Each point is run twice by `duetime run --json`, with `--out` where its series says so: as it is, and cut to a
nanosecond, which gives the set-up. The difference over the packet-hops is the time of a hop. Times are CPU
time (user and system). A busy machine increases them, too, but less than the wall-clock time: compare only
figures of one line of the record.
"""

import argparse
import os
import platform
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from run import BENCH, append, cpu, spent

#: Too short for any event.
NOTHING = "run.duration=1 ns"


def main() -> None:
    """Measure the points, print the costs, and append a record."""
    plan = tomllib.loads((BENCH / "scale.toml").read_text(encoding="utf-8"))["series"]
    names = [series["name"] for series in plan]
    parser = argparse.ArgumentParser(description="Measure how the cost of a run grows.")
    parser.add_argument("--series", nargs="+", choices=names, default=names, help="only these")
    parser.add_argument(
        "--long", action="store_true", help="also the points that take a quarter of an hour and more"
    )
    parser.add_argument(
        "--note", default="", help="what a reader of the record should know of the conditions"
    )
    arguments = parser.parse_args()
    chosen = arguments.series
    results = {}
    for series in (series for series in plan if series["name"] in chosen):
        print(f"\n{series['name']}: {series['about']}")
        print(
            f"{series['by']:>15}{'M hops':>9}{'ns per hop':>12}{'M packets/s':>13}{'set-up':>9}{'memory':>11}"
        )
        points = (point for point in series["points"] if arguments.long or not point.get("long"))
        results[series["name"]] = [measured(series, point) for point in points]
    keep(results, arguments.note)


def measured(series: dict[str, Any], point: dict[str, Any]) -> dict[str, float]:
    """Run one point and print its cost."""
    scenario = BENCH / "scale" / f"{series.get('scenario', series['name'])}.toml"
    settings = [option for setting in point["set"] for option in ("--set", setting)]
    written = {}
    with TemporaryDirectory() as folder:
        if series.get("out"):
            settings += ["--out", f"{folder}/tables"]
        nothing = spent(scenario, *settings, "--set", NOTHING)
        whole = spent(scenario, *settings)
        if series.get("out"):
            written["written_mb"] = round(
                sum(file.stat().st_size for file in Path(folder).rglob("*")) / 1e6, 1
            )
    result, run_s = whole.result, max(whole.cpu_s - nothing.cpu_s, 1e-9)
    row = {
        "at": point["at"],
        "packet_hops": result["packet_hops"],
        "packets_delivered": result["packets_delivered"],
        "ns_per_hop": round(run_s * 1e9 / max(1, result["packet_hops"]), 1),
        "delivered_per_cpu_s": round(result["packets_delivered"] / run_s),
        "set_up_s": round(nothing.cpu_s, 2),
        "memory_mb": round(whole.peak_bytes / 1e6, 1),
        "set_up_mb": round(nothing.peak_bytes / 1e6, 1),
        "load_average": round(os.getloadavg()[0], 1),
        **written,
    }
    print(
        f"{row['at']:>15}{row['packet_hops'] / 1e6:>9.2f}{row['ns_per_hop']:>12.0f}"
        f"{row['delivered_per_cpu_s'] / 1e6:>13.2f}{row['set_up_s']:>7.1f} s{row['memory_mb']:>8.0f} MB",
        flush=True,
    )
    return row


def keep(results: dict[str, list[dict[str, float]]], note: str) -> None:
    """Append one line to the record of the day."""
    line = {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "note": note,
        "results": results,
    }
    print()
    append(line, "scale")


if __name__ == "__main__":
    main()
