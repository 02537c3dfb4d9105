"""Compare duetime with Ultra Ethernet's htsim on workloads of its own validation: times and CPU time.

    python bench/uec.py TREE [--rounds N] [--duetime COMMAND]

measures, prints, and appends to bench/record/. TREE is a tree of it whose `sim/datacenter/htsim_uec` is
built, as its README says. Each round runs every workload in both, so that a slow phase affects both alike.
Both run NSCC over 128 paths that switches hash, and trim. The CPU time is that of the whole process: start,
reading, run and results.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from run import DUETIME, append, cpu, ended, how_built, spent, watched

#: What duetime sets for the same work.
SAME = {
    "network.trim": "true",
    "network.balance": "reps",
    "network.paths": "128",
    "network.path_choice": "hashed",
    "network.host_jitter": "0s",
    "run.cool_down": "100ms",
}

#: The line of the log that tells when a flow has ended.
FINISHED = re.compile(r"finished at ([0-9.]+)")


class Work(NamedTuple):
    """A workload of `validate_uec_sender.txt`."""

    name: str
    #: Files below `sim/datacenter`: the connection matrix, and the topology where it has one.
    matrix: str
    topology: str | None
    #: The end of htsim's run, in microseconds.
    end_us: int


WORKS = (
    Work("permutation 128", "connection_matrices/perm_128n_128c_2MB.cm", None, 1000),
    Work("permutation 1024", "connection_matrices/perm_1024n_1024c_0u_2000000b.cm", None, 400),
    Work(
        "permutation 1024, 4:1",
        "connection_matrices/perm_1024n_1024c_0u_2000000b.cm",
        "topologies/leaf_spine_1024_oversub.topo",
        2000,
    ),
    Work("incast 127", "connection_matrices/incast_128.cm", None, 30000),
)


class Run(NamedTuple):
    """One run of one simulator."""

    #: When the last flow had ended, in microseconds: the last acknowledgement in htsim, the last byte in
    #: duetime.
    last_us: float
    #: CPU time of the whole process, in seconds.
    cpu_s: float


def main() -> None:
    """Measure, print the figures, and append a record."""
    parser = argparse.ArgumentParser(description="Measure Ultra Ethernet's htsim beside duetime.")
    parser.add_argument("tree", type=Path, help="a tree of it with sim/datacenter/htsim_uec")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each workload in each (default 5)")
    parser.add_argument(
        "--duetime", type=Path, default=DUETIME, help="the command (default: this environment's)"
    )
    arguments = parser.parse_args()
    folder, rounds = arguments.tree / "sim" / "datacenter", max(1, arguments.rounds)
    if not (folder / "htsim_uec").exists():
        sys.exit(f"bench/uec.py: there is no {folder / 'htsim_uec'}; build it as its README says")
    runs: dict[str, list[tuple[Run, Run]]] = {work.name: [] for work in WORKS}
    with tempfile.TemporaryDirectory() as scratch:
        scenarios = {work.name: imported(arguments.duetime, folder, work, Path(scratch)) for work in WORKS}
        for number in range(rounds):
            for work in WORKS:
                watched(f"\rround {number + 1} of {rounds}: {work.name:24}")
                ours = simulated(arguments.duetime, scenarios[work.name])
                runs[work.name].append((ours, theirs(folder, work)))
    watched("\r" + " " * 60 + "\r")
    results = {name: figures(of) for name, of in runs.items()}
    for name, figure in results.items():
        print(
            f"{name:24}duetime {figure['last_us']:.1f} us, {figure['cpu_s']:.2f} s; htsim "
            f"{figure['htsim_last_us']:.1f} us, {figure['htsim_cpu_s']:.2f} s: "
            f"{figure['times']:.2f} [{figure['times_low']:.2f}..{figure['times_high']:.2f}] times"
        )
    append(
        {
            "measure": "CPU time beside UEC htsim",
            "build": how_built(arguments.duetime),
            "cpu": cpu(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[2], 2),
            "rounds": rounds,
            "results": {
                name: {k: round(v, 4) for k, v in figure.items()} for name, figure in results.items()
            },
        },
        "uec",
    )


def imported(program: Path, folder: Path, work: Work, scratch: Path) -> Path:
    """Return the scenario of a workload, written by `duetime import`."""
    scenario = scratch / f"{work.name.replace(' ', '-').replace(':', '-')}.toml"
    files = [str(folder / name) for name in (work.matrix, work.topology) if name is not None]
    subprocess.run([str(program), "import", *files, "-o", str(scenario)], check=True, capture_output=True)
    return scenario


def simulated(program: Path, scenario: Path) -> Run:
    """Return a run of duetime."""
    settings = [part for key, value in SAME.items() for part in ("--set", f"{key}={value}")]
    whole = spent(scenario, "--transport", "nscc", *settings, program=program)
    summary: dict[str, Any] = whole.result["summary"]
    return Run(float(summary["fct_us"]["max"]), whole.cpu_s)


def theirs(folder: Path, work: Work) -> Run:
    """Return a run of htsim."""
    command = [str(folder / "htsim_uec"), "-tm", work.matrix, "-sender_cc_only", "-paths", "128"]
    command += ["-end", str(work.end_us), *(["-topo", work.topology] if work.topology else [])]
    # Its log file would be written beside its program.
    with tempfile.NamedTemporaryFile() as log:
        whole = ended([*command, "-o", log.name], folder)
    ends = [float(end) for end in FINISHED.findall(whole.printed)]
    if whole.code or not ends:
        sys.exit(f"htsim_uec failed on {work.name}: {' '.join(command)}")
    return Run(max(ends), whole.cpu_s)


def figures(runs: list[tuple[Run, Run]]) -> dict[str, float]:
    """Return both simulators' medians in one workload, and how many times as much CPU time htsim takes."""
    times = [their.cpu_s / our.cpu_s for our, their in runs]
    return {
        "last_us": runs[0][0].last_us,
        "htsim_last_us": runs[0][1].last_us,
        "cpu_s": statistics.median(our.cpu_s for our, _ in runs),
        "htsim_cpu_s": statistics.median(their.cpu_s for _, their in runs),
        "times": statistics.median(times),
        "times_low": min(times),
        "times_high": max(times),
    }


if __name__ == "__main__":
    main()
