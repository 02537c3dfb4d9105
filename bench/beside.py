"""Compare duetime with other simulators on the workloads of `workloads.toml`: ratios with their range.

    python bench/beside.py [--rounds N] [--htsim TREE] [--duetime COMMAND]

measures, prints, and appends to bench/record/.

Each round runs every workload in every installed simulator. ns-3 needs its wheel
(`bench/peers/ns3/requirements.txt`). csg-htsim needs `--htsim` with a tree of it, built by `make -C sim
libhtsim.a`. The drivers are `bench/peers/*/speed.cc`. There are two figures: delivered data packets per
second of the event loop, and per second of CPU time of the whole process. A simulator runs for the length in
`beside` of its workload, as their speeds differ fiftyfold. `--duetime` is the command of another build, such
as the wheel of `make wheel PGO=1` in a separate environment; the record has the kind of build. Measure on a
machine without other work.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from run import BENCH, DUETIME, ROOT, append, cpu, ended, how_built, millions, spent, watched
from validate import htsim, ns3
from validate.arrivals import Absent, of_all, quantity, write_trace

import duetime as dt

PEERS = BENCH / "peers"


class Run(NamedTuple):
    """One run of one simulator."""

    #: Delivered data packets.
    delivered: int
    #: Wall-clock time of the event loop, in seconds.
    seconds: float
    #: CPU time of the whole process.
    cpu_s: float


#: Runs a workload, a table of `workloads.toml`, once.
Simulator = Callable[[Mapping[str, Any]], Run]


def main() -> None:
    """Measure, print the figures, and append a record."""
    parser = argparse.ArgumentParser(description="Measure other simulators beside duetime.")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each workload in each (default 7)")
    parser.add_argument("--htsim", type=Path, help="a tree of csg-htsim with its libhtsim.a")
    parser.add_argument(
        "--duetime", type=Path, default=DUETIME, help="the command (default: this environment's)"
    )
    arguments = parser.parse_args()
    workloads = tomllib.loads((BENCH / "workloads.toml").read_text(encoding="utf-8"))["workload"]
    with tempfile.TemporaryDirectory() as folder:
        simulators = {"duetime": command(arguments.duetime), **peers(arguments.htsim, Path(folder))}
        runs = measured(workloads, simulators, max(1, arguments.rounds))
    results = {name: figures(of) for name, of in runs.items()}
    for name, of in results.items():
        for peer, figure in of.items():
            print(f"{name:4}{peer:12}{told(figure)}")
    keep(results, max(1, arguments.rounds), how_built(arguments.duetime))


def peers(tree: Path | None, folder: Path) -> Mapping[str, Simulator]:
    """Return the other simulators that are installed; print the reason for missing ones."""
    found: dict[str, Simulator] = {}
    for name in ("csg-htsim", "ns-3"):
        try:
            found[name] = driven(name, built(name, tree), folder)
        except Absent as why:
            print(f"SKIPPED: {name}: {why}", file=sys.stderr)
    return found


def built(peer: str, tree: Path | None) -> Path:
    """Return the driver of a simulator; raise `Absent` if it cannot be built."""
    if peer == "ns-3":
        return ns3.build(PEERS / "ns3" / "speed.cc")
    if tree is None:
        raise Absent("no tree of it was named (--htsim)")
    return htsim.build(tree, PEERS / "htsim" / "speed.cc")


def command(program: Path) -> Simulator:
    """Return a simulator that runs duetime's command."""

    def run(workload: Mapping[str, Any]) -> Run:
        length = f"run.duration={workload['beside']['duetime']}"
        whole = spent(ROOT / workload["scenario"], "--set", length, program=program)
        return Run(whole.result["packets_delivered"], whole.result["wall_s"], whole.cpu_s)

    return run


def driven(peer: str, program: Path, folder: Path) -> Simulator:
    """Return a simulator that runs a driver with a plan and a trace, which are written once for each
    workload.
    """

    def run(workload: Mapping[str, Any]) -> Run:
        plan, trace = (folder / f"{peer}-{workload['name']}.{kind}" for kind in ("plan", "csv"))
        if not plan.exists():
            length = workload["beside"][peer]
            scenario = tomllib.loads((ROOT / workload["scenario"]).read_text(encoding="utf-8"))
            write_trace(trace, messages(scenario, length))
            plan.write_text("\n".join(planned(scenario, length, peer)) + "\n", encoding="utf-8")
        whole = ended([program, plan, trace])
        if whole.code:
            sys.exit(f"{peer} failed on {workload['name']}:\n{whole.told}")
        result = json.loads(whole.printed)
        return Run(result["delivered"], result["seconds"], whole.cpu_s)

    return run


def messages(scenario: Mapping[str, Any], length: str) -> pl.DataFrame:
    """Return the messages of a run of this length. An endless message gets as many bytes as its link can send
    in that time.
    """
    drawn = dt.run(dict(scenario), set={"run.duration": length}).flows
    most = quantity(dt.check(dict(scenario))[0]["network"]["rate"]) / 8 * quantity(length)
    mss = segment(scenario)[0]
    endless = pl.lit(mss * (int(most) // mss + 1), dtype=pl.UInt64)
    return drawn.with_columns(bytes=pl.col("bytes").fill_null(endless)).sort("start_us", maintain_order=True)


def planned(scenario: Mapping[str, Any], length: str, peer: str) -> Iterable[str]:
    """Yield the lines of a driver's plan for the scenario."""
    resolved, _ = dt.check(dict(scenario), set={"run.duration": length})
    network, transport = resolved["network"], resolved["transport"]
    mss, wire = segment(scenario)
    # The unit of htsim's queues is bytes, and that of ns-3's is packets.
    unit = wire if peer == "csg-htsim" else 1
    marks = network["mark"]
    at_hosts, between = (marks["host"], marks["uplink"]) if isinstance(marks, dict) else (marks, marks)
    assert at_hosts is not None, "the scenarios of the race mark packets"
    assert between is not None, "at all ports"
    yield f"end {quantity(length)!r}"
    yield f"mss {mss}"
    yield f"wire {wire}"
    yield f"initial_window {round(float(transport['initial_window']))}"
    yield f"ack_every {transport['ack_every']}"
    yield f"buffer {ns3.packets(of_all(network['buffer'])) * unit}"
    yield f"mark {ns3.packets(at_hosts) * unit}"
    yield f"mark_uplink {ns3.packets(between) * unit}"
    yield from ns3.wires(network)


def segment(scenario: Mapping[str, Any]) -> tuple[int, int]:
    """Return the payload of a full packet and the size of that packet, in bytes."""
    chosen = dt.check(dict(scenario))[0]["transport"]
    mss = round(quantity(chosen["mss"]))
    return mss, mss + round(quantity(chosen["header"]))


def measured(
    workloads: Iterable[Mapping[str, Any]], simulators: Mapping[str, Simulator], rounds: int
) -> dict[str, dict[str, list[Run]]]:
    """Run all workloads in all simulators. Rounds are interleaved, so that a slow phase affects all alike."""
    runs: dict[str, dict[str, list[Run]]] = {
        workload["name"]: {name: [] for name in simulators} for workload in workloads
    }
    for number in range(rounds):
        for workload in workloads:
            for name, simulate in simulators.items():
                watched(f"\rround {number + 1} of {rounds}: {workload['name']} in {name:12}")
                runs[workload["name"]][name].append(simulate(workload))
    watched("\r" + " " * 60 + "\r")
    return runs


def figures(runs: Mapping[str, list[Run]]) -> dict[str, dict[str, float]]:
    """Return each simulator's speed in one workload, and how many times faster duetime is, by round."""
    found = {}
    for name, of in runs.items():
        by_clock = ratios(runs["duetime"], of, lambda run: run.seconds)
        found[name] = {
            "delivered": of[0].delivered,
            "delivered_per_s": statistics.median(run.delivered / run.seconds for run in of),
            "times": statistics.median(by_clock),
            "times_low": min(by_clock),
            "times_high": max(by_clock),
            "times_whole_process": statistics.median(ratios(runs["duetime"], of, lambda run: run.cpu_s)),
        }
    return found


def ratios(ours: Iterable[Run], theirs: Iterable[Run], took: Callable[[Run], float]) -> list[float]:
    """Return the ratios of our speed to theirs, by round."""
    return [
        (our.delivered / took(our)) / (their.delivered / took(their))
        for our, their in zip(ours, theirs, strict=True)
    ]


def told(figure: Mapping[str, float]) -> str:
    """Return a line of the table."""
    ratios = "{times:6.2f} [{times_low:.2f}..{times_high:.2f}]".format_map(figure)
    return (
        f"{millions(figure['delivered_per_s']):>9} delivered/s   duetime {ratios} times, "
        f"whole process {figure['times_whole_process']:.2f}"
    )


def keep(results: Mapping[str, Mapping[str, Mapping[str, float]]], rounds: int, build: str) -> None:
    """Append one line to the record of the day."""
    line = {
        "measure": "delivered data packets per second beside other simulators",
        "build": build,
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[2], 2),
        "rounds": rounds,
        "results": {
            name: {peer: {k: round(v, 4) for k, v in of.items()} for peer, of in row.items()}
            for name, row in results.items()
        },
    }
    append(line, "peers")


if __name__ == "__main__":
    main()
