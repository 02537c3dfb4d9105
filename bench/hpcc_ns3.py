"""Compare duetime with the ns-3 simulator of HPCC's authors on identical flows: slowdowns and CPU time.

    python bench/hpcc_ns3.py TREE [--program FILE] [--rounds N] [--duetime COMMAND] [--only NAME]

measures, prints, and appends to bench/record/. TREE is a tree of it whose `simulation` is built, as its
README says. Each round runs a case under a law in both, so that a slow phase affects both alike.

The topology is its `fat.txt`. The flows are drawn here as its `traffic_gen.py` draws them, which takes no
seed and needs Python 2. `duetime import` reads the same three files: topology, flows, configuration.

A slowdown is a completion time over the ideal one. In both a completion time ends when the last byte reaches
the receiver. Its simulator reports the arrival of the last acknowledgement, so the other time is read from
its packet trace. The ideal is for both that of duetime: the time of the message alone in the empty network.
"""

import argparse
import heapq
import math
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from run import DUETIME, Ended, append, cpu, ended, how_built, spent, watched

#: fat.txt: hosts, and the rate of their links in Gbps.
HOSTS: Final = 320
GBPS: Final = 100
#: The simulator's flows start here, in ns: its buffer monitor and link failures count from there too.
BEGIN_NS: Final = 2_000_000_000
#: Ports tell incasts from other flows in its analysis.
BACKGROUND, INCAST = 100, 200
#: Ends of the groups of sizes, in bytes: the distribution's own knees, merged where they hold few messages.
ENDS: Final = (500, 1_000, 7_000, 50_000, 120_000, 300_000, 1_000_000, 10_000_000)
PERCENTILES: Final = (0.5, 0.95, 0.99)


class Case(NamedTuple):
    """A workload: background messages, and incasts beside them."""

    name: str
    #: The share of hosts' links that the sizes of the distribution take.
    load: float
    #: The share that incasts take of all hosts' links, 60 hosts with 500 KB each (HPCC 5.3).
    incasts: float
    #: The span of arrivals, and the end of the run after the first of them.
    arrivals_ms: float
    end_ms: float


CASES: Final = (
    Case("50 %", 0.5, 0.0, 0.5, 10.0),
    Case("30 % and incasts", 0.3, 0.02, 0.75, 10.0),
)
FAN_IN, INCAST_BYTES = 60, 500_000


class Law(NamedTuple):
    """A congestion control: what the configuration has, and what duetime is told beside it."""

    name: str
    #: Keys of config.txt that differ between laws (run.py).
    config: Mapping[str, str]
    #: Keys of duetime's scenario for which the configuration has no word.
    same: Mapping[str, str]


#: config.txt of run.py for hosts at 100 Gbps, but for the keys of a law. Kmin and Kmax are in KB.
COMMON: Final[Mapping[str, str]] = {
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "300",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "MIN_RATE": "1000Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0.0000",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "HAS_WIN": "0",
    "GLOBAL_T": "1",
    "VAR_WIN": "0",
    "FAST_REACT": "0",
    "U_TARGET": "0.95",
    "MI_THRESH": "0",
    "INT_MULTI": "1",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "LINK_DOWN": "0 0 0",
    "KMAX_MAP": "2 100000000000 1600 400000000000 6400",
    "KMIN_MAP": "2 100000000000 400 400000000000 1600",
    "PMAX_MAP": "2 100000000000 0.20 400000000000 0.20",
    "BUFFER_SIZE": "32",
}
DCQCN: Final = {"CC_MODE": "1", "RATE_AI": "20Mb/s", "RATE_HAI": "200Mb/s", "ACK_HIGH_PRIO": "1"}
WINDOW: Final = {"HAS_WIN": "1", "VAR_WIN": "1"}
OF_2015: Final = {"ALPHA_RESUME_INTERVAL": "50", "RATE_DECREASE_INTERVAL": "50", "RP_TIMER": "55"}
#: Headers of its packets: 14 B, IPv4, UDP, and 6 B; TIMELY's have a time of 8 B, HPCC's 42 B of records.
HEADER: Final = {"transport.header": "48 B"}
TIMELY_HEADER: Final = {"transport.header": "56 B"}
HPCC_HEADER: Final = {"transport.header": "90 B"}
#: Its maxRtt: twelve links of 1 us, and 1000 B over two links of 100 and four of 400 Gbps.
BASE: Final = {"transport.base_rtt": "12240 ns"}
#: What all runs of duetime have beside the imported files. Its hosts send exactly when they can, and pauses
#: act at once. Its links of 400 Gbps may hold half of the free buffer, and hosts' links an eighth. Here one
#: share is for all, and in its runs only the fast links are paused.
SAME: Final[Mapping[str, str]] = {
    "network.host_jitter": "0 s",
    "network.pause_response": "0 s",
    "network.dynamic_alpha": "0.5",
}
LAWS: Final = (
    Law(
        "hpcc",
        {
            "CC_MODE": "3",
            "RATE_AI": "40Mb/s",
            "RATE_HAI": "40Mb/s",
            "FAST_REACT": "1",
            "INT_MULTI": "4",
            **WINDOW,
        },
        {**HPCC_HEADER, **BASE},
    ),
    Law("dcqcn, vendor", DCQCN, {**HEADER, **BASE}),
    Law("dcqcn, 2015", {**DCQCN, **OF_2015}, {**HEADER, **BASE}),
    Law("dcqcn, vendor, window", {**DCQCN, **WINDOW, "ACK_HIGH_PRIO": "0"}, {**HEADER, **BASE}),
    Law(
        "dctcp",
        {
            "CC_MODE": "8",
            "RATE_AI": "10Mb/s",
            "RATE_HAI": "10Mb/s",
            "EWMA_GAIN": "0.0625",
            "DCTCP_RATE_AI": "615Mb/s",
            "KMAX_MAP": "2 100000000000 300 400000000000 1200",
            "KMIN_MAP": "2 100000000000 300 400000000000 1200",
            "PMAX_MAP": "2 100000000000 1.00 400000000000 1.00",
            **WINDOW,
        },
        # It starts at line rate, with the product of 12.24 us and 100 Gbps as its window, and paces.
        {
            **HEADER,
            "transport.initial_window": "153",
            "transport.window_limit": "153 packets",
            "transport.pacing": "window",
            "transport.pacing_gain": "1",
            "transport.ack_every": "1",
        },
    ),
    Law(
        "timely",
        {"CC_MODE": "7", "RATE_AI": "100Mb/s", "RATE_HAI": "500Mb/s", "ACK_HIGH_PRIO": "1"},
        TIMELY_HEADER,
    ),
)


Named = TypeVar("Named", Case, Law)


class Flow(NamedTuple):
    """A message of the list."""

    start_ns: int
    src: int
    dst: int
    port: int
    size: int


class Done(NamedTuple):
    """Completion times in ns, by the flow's index in the list, and the process."""

    times: dict[int, float]
    cpu_s: float
    #: Pause frames that ports heeded.
    pauses: int
    #: The same of the empty network, where the simulator says it.
    ideal: Mapping[int, float] = {}


def main() -> None:
    """Measure, print the tables, and append a record."""
    parser = argparse.ArgumentParser(description="Measure HPCC's ns-3 simulator beside duetime.")
    parser.add_argument("tree", type=Path, help="a tree of it with simulation/mix/fat.txt")
    parser.add_argument("--program", type=Path, help="its program (default: that of its waf)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of each in each, for CPU times (default 3)"
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of the flows (default 1)")
    parser.add_argument(
        "--only", action="append", default=[], help="a case or a law by name; several may be named"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the files of both simulators (default: none)")
    parser.add_argument(
        "--duetime", type=Path, default=DUETIME, help="the command (default: this environment's)"
    )
    arguments = parser.parse_args()
    tree: Path = arguments.tree.resolve()
    program = (arguments.program or tree / "simulation" / "build" / "scratch" / "third").resolve()
    topology = tree / "simulation" / "mix" / "fat.txt"
    for path in (program, topology):
        if not path.exists():
            sys.exit(f"bench/hpcc_ns3.py: there is no {path}; build the simulator as its README says")
    cdf = distribution((tree / "traffic_gen" / "FbHdp_distribution.txt").read_text(encoding="utf-8"))
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        for case in chosen(CASES, arguments.only):
            flows = drawn(case, cdf, arguments.seed)
            for law in chosen(LAWS, arguments.only):
                place = folder / f"{case.name} {law.name}".replace(" ", "-").replace("%", "percent").replace(
                    ",", ""
                )
                place.mkdir(parents=True, exist_ok=True)
                setup(place, case, law, topology, flows)
                found = compared(
                    place, case, law, flows, program, arguments.duetime, max(1, arguments.rounds)
                )
                results[f"{case.name}, {law.name}"] = found
                show(case, law, found)
    append(
        {
            "measure": "slowdowns and CPU time beside HPCC's ns-3",
            "build": how_built(arguments.duetime),
            "cpu": cpu(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[2], 2),
            "rounds": arguments.rounds,
            "seed": arguments.seed,
            "results": results,
        },
        "hpcc",
    )


def chosen(all_of_them: Sequence[Named], names: Sequence[str]) -> list[Named]:
    """Return the named ones, or all where none is named."""
    named = [each for each in all_of_them if each.name in names]
    return named or list(all_of_them)


def distribution(text: str) -> list[tuple[float, float]]:
    """Return the points of a distribution of sizes: bytes and percent."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return [(float(size), float(percent)) for size, percent in rows]


def size_at(cdf: Sequence[tuple[float, float]], percent: float) -> int:
    """Return the size at a percentile, linear between the points and at least 1 B, as traffic_gen.py does."""
    for (x0, y0), (x1, y1) in pairwise(cdf):
        if percent <= y1:
            return max(1, int(x0 + (x1 - x0) / (y1 - y0) * (percent - y0)))
    return int(cdf[-1][0])


def mean(cdf: Sequence[tuple[float, float]]) -> float:
    """Return the mean size of the distribution in bytes."""
    return sum((x0 + x1) / 2 * (y1 - y0) for (x0, y0), (x1, y1) in pairwise(cdf)) / 100


def drawn(case: Case, cdf: Sequence[tuple[float, float]], seed: int) -> list[Flow]:
    """Return the flows of a case in the order of their starts: Poisson arrivals at each host, and incasts."""
    random_ = random.Random(seed)
    span = case.arrivals_ms * 1e6
    gap = mean(cdf) * 8 / (GBPS * case.load)
    flows: list[Flow] = []
    ahead = [(BEGIN_NS + int(random_.expovariate(1 / gap)), host) for host in range(HOSTS)]
    heapq.heapify(ahead)
    while ahead[0][0] <= BEGIN_NS + span:
        start, src = ahead[0]
        flows.append(Flow(start, src, other(random_, src), BACKGROUND, size_at(cdf, 100 * random_.random())))
        heapq.heapreplace(ahead, (start + int(random_.expovariate(1 / gap)), src))
    if case.incasts:
        # They are evenly apart: with random times the number of these few would be a draw.
        apart = FAN_IN * INCAST_BYTES * 8 / (HOSTS * GBPS * case.incasts)
        for number in range(int(span / apart)):
            hosts = random_.sample(range(HOSTS), FAN_IN + 1)
            start = BEGIN_NS + int((number + 0.5) * apart)
            flows += [Flow(start, src, hosts[0], INCAST, INCAST_BYTES) for src in hosts[1:]]
    return sorted(flows)


def other(random_: random.Random, src: int) -> int:
    """Return a host that is not this one."""
    dst = random_.randrange(HOSTS - 1)
    return dst + (dst >= src)


def setup(place: Path, case: Case, law: Law, topology: Path, flows: Sequence[Flow]) -> None:
    """Write the files that both simulators read: flows and configuration."""
    lines = [str(len(flows))]
    lines += [
        f"{f.src} {f.dst} 3 {f.port} {f.size} {f.start_ns // 10**9}.{f.start_ns % 10**9:09d}" for f in flows
    ]
    (place / "flow.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    hosts = " ".join(map(str, range(HOSTS)))
    (place / "trace.txt").write_text(f"{HOSTS}\n{hosts}\n", encoding="utf-8")
    end_s = BEGIN_NS / 1e9 + case.end_ms / 1e3
    for name, traced in (("config.txt", 0), ("traced.txt", 1)):
        keys = {
            **COMMON,
            **law.config,
            "TOPOLOGY_FILE": str(topology),
            "FLOW_FILE": str(place / "flow.txt"),
            "TRACE_FILE": str(place / "trace.txt"),
            "TRACE_OUTPUT_FILE": str(place / "packets.bin"),
            "FCT_OUTPUT_FILE": str(place / "fct.txt"),
            "PFC_OUTPUT_FILE": str(place / "pfc.txt"),
            "QLEN_MON_FILE": str(place / "qlen.txt"),
            # The monitor of buffers looks at every port in every 100 ns: it begins when the run is over.
            "QLEN_MON_START": f"{round(end_s * 1e9) + 1}",
            "QLEN_MON_END": f"{round(end_s * 1e9) + 2}",
            "SIMULATOR_STOP_TIME": f"{end_s:.6f}",
            "ENABLE_TRACE": str(traced),
        }
        (place / name).write_text(
            "".join(f"{key} {value}\n" for key, value in keys.items()), encoding="utf-8"
        )


def compared(
    place: Path, case: Case, law: Law, flows: Sequence[Flow], program: Path, duetime: Path, rounds: int
) -> dict[str, Any]:
    """Return the percentiles of both by size, and their CPU times."""
    scenario = imported(duetime, place)
    ours, times = [], []
    theirs = traced(program, place, flows)
    settings = {**SAME, **law.same}
    for number in range(1, rounds + 1):
        watched(f"\r{case.name}, {law.name}: round {number} of {rounds}")
        ours.append(simulated(duetime, scenario, settings, flows, place / f"seed-{number}", number))
        times.append(run_there(program, place, "config.txt").cpu_s / ours[-1].cpu_s)
    watched("\r" + " " * 60 + "\r")
    return {
        "flows": len(flows),
        "groups": table(flows, ours[0].ideal, [run.times for run in ours], theirs.times),
        "pauses": [run.pauses for run in ours],
        "ns3_pauses": theirs.pauses,
        "cpu_s": round(statistics.median(run.cpu_s for run in ours), 3),
        "times": round(statistics.median(times), 2),
        "times_low": round(min(times), 2),
        "times_high": round(max(times), 2),
    }


def imported(duetime: Path, place: Path) -> Path:
    """Return the scenario that `duetime import` writes from the configuration and the files that it names."""
    scenario = place / "same.toml"
    whole = ended([duetime, "import", place / "config.txt", "-o", scenario])
    if whole.code:
        sys.exit(f"duetime import {place / 'config.txt'} failed:\n{whole.told}")
    return scenario


def simulated(
    duetime: Path, scenario: Path, changes: Mapping[str, str], flows: Sequence[Flow], out: Path, seed: int
) -> Done:
    """Return a run of duetime, with its seed of hashes and marks."""
    settings = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
    whole = spent(scenario, *settings, "--seed", str(seed), "--out", str(out), program=duetime)
    times, ideal = arrived(out, flows)
    pauses: Mapping[str, int] = whole.result.get("pauses") or {}
    return Done(times, whole.cpu_s, pauses.get("frames", 0), ideal)


def arrived(out: Path, flows: Sequence[Flow]) -> tuple[dict[int, float], dict[int, float]]:
    """Return completion times of a run of duetime, and ideal ones, in ns by the index in the list."""
    index = {(flow.start_ns, flow.src, flow.dst, flow.size): number for number, flow in enumerate(flows)}
    columns = ["start_us", "src", "dst", "bytes", "fct_us", "ideal_fct_us"]
    times, ideal = {}, {}
    for start, src, dst, size, fct, alone in pl.read_parquet(
        out / "flows.parquet", columns=columns
    ).iter_rows():
        number = index[round(start * 1e3), src, dst, size]
        ideal[number] = alone * 1e3
        if fct is not None:
            times[number] = fct * 1e3
    return times, ideal


def run_there(program: Path, place: Path, config: str) -> Ended:
    """Run its simulator, which finds its libraries two folders above a program of waf."""
    command: list[str | Path] = ["env", f"LD_LIBRARY_PATH={program.parents[1]}", program, place / config]
    whole = ended(command, place)
    if whole.code:
        sys.exit(f"{program} failed on {place / config}:\n{whole.told}")
    if " Drop: " in whole.printed:
        sys.exit(f"{program} dropped packets on {place / config}, which loses data in a lossless network")
    return whole


def traced(program: Path, place: Path, flows: Sequence[Flow]) -> Done:
    """Return a run of its simulator: completion times at the receiver, from the trace of hosts' packets."""
    whole = run_there(program, place, "traced.txt")
    trace = place / "packets.bin"
    try:
        last = last_bytes(trace)
    finally:
        trace.unlink(missing_ok=True)
    # Of flows whose last acknowledgement has not arrived the last data need not have either.
    ended_there = set(completed((place / "fct.txt").read_text(encoding="utf-8").splitlines()))
    times = {
        number: float(last[key] - flows[number].start_ns)
        for number, key in enumerate(ports(flows))
        if key in ended_there
    }
    pauses = sum(line.endswith(" 1") for line in (place / "pfc.txt").read_text(encoding="utf-8").splitlines())
    return Done(times, whole.cpu_s, pauses)


def ports(flows: Sequence[Flow]) -> Iterator[tuple[int, int, int]]:
    """Yield source, destination and source port of each flow: each pair counts its ports from 10000."""
    used: dict[tuple[int, int], int] = {}
    for flow in flows:
        pair = flow.src, flow.dst
        used[pair] = used.get(pair, 9_999) + 1
        yield *pair, used[pair]


def completed(lines: Iterable[str]) -> dict[tuple[int, int, int], int]:
    """Return the completion times of its output in ns, at the sender: by source, destination and port."""
    found = {}
    for line in lines:
        src, dst, port, _, _, _, fct, _ = line.split()
        found[node(int(src, 16)), node(int(dst, 16)), int(port)] = int(fct)
    return found


def node(address: int) -> int:
    """Return the node of an IPv4 address: 11.X.Y.1 is 256 X + Y."""
    return address >> 8 & 0xFFFF


#: A record of its trace, in the order and with the padding of the C++ structure.
RECORD: Final = np.dtype(
    {
        "names": ["time", "sip", "dip", "protocol", "event", "sport"],
        "formats": ["<u8", "<u4", "<u4", "u1", "u1", "<u2"],
        "offsets": [0, 16, 20, 26, 27, 32],
        "itemsize": 56,
    }
)
RECEIVED, UDP = 0, 0x11


def last_bytes(trace: Path) -> dict[tuple[int, int, int], int]:
    """Return when the last data packet of each flow was received, in ns; losslessness keeps the order."""
    with trace.open("rb") as file:
        # Ahead of the records there are the rates of ports, 11 B each, and the window.
        count = int.from_bytes(file.read(4), "little")
        file.seek(4 + 11 * count + 4)
        last: dict[tuple[int, int, int], int] = {}
        while len(part := np.fromfile(file, RECORD, 4_000_000)):
            data = part[(part["event"] == RECEIVED) & (part["protocol"] == UDP)]
            found = (
                pl.DataFrame({name: data[name] for name in ("time", "sip", "dip", "sport")})
                .group_by("sip", "dip", "sport")
                .agg(pl.col("time").max())
            )
            for sip, dip, port, time in found.iter_rows():
                last[node(sip), node(dip), port] = time
    return last


def table(
    flows: Sequence[Flow],
    ideal: Mapping[int, float],
    ours: Sequence[Mapping[int, float]],
    theirs: Mapping[int, float],
) -> list[dict[str, Any]]:
    """Return a row for each group of sizes, of flows that are not of incasts, and one for incasts.

    Each percentile is of its simulator, and that of duetime the median of its seeds with the least and the
    largest. A flow that has not ended is infinitely slow.
    """
    groups: dict[str, list[int]] = {}
    for number, flow in enumerate(flows):
        groups.setdefault(group_of(flow), []).append(number)
    result = []
    for name in sorted(groups, key=lambda name: max(order_of(flows[number]) for number in groups[name])):
        numbers = groups[name]
        row: dict[str, Any] = {"group": name, "flows": len(numbers)}
        for share in PERCENTILES:
            there = percentile([theirs.get(n, math.inf) / ideal[n] for n in numbers], share)
            here = [percentile([run.get(n, math.inf) / ideal[n] for n in numbers], share) for run in ours]
            row[f"p{100 * share:g}"] = {
                "ns3": round(there, 3),
                "duetime": round(statistics.median(here), 3),
                "low": round(min(here), 3),
                "high": round(max(here), 3),
            }
        result.append(row)
    return result


def order_of(flow: Flow) -> tuple[int, int]:
    """Return the place of a flow's group in the table."""
    return flow.port, flow.size


def group_of(flow: Flow) -> str:
    """Return the name of a flow's group."""
    if flow.port == INCAST:
        return "incasts"
    return f"to {next(end for end in ENDS if flow.size <= end)} B"


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value at a share, as the simulator's own analysis takes it."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def show(case: Case, law: Law, found: Mapping[str, Any]) -> None:
    """Print the table of a case under a law."""
    print(
        f"\n{case.name}, {law.name}: {found['flows']} flows; {found['ns3_pauses']} pauses in ns-3, "
        f"{found['pauses']} in duetime; ns-3 takes {found['times']} "
        f"[{found['times_low']}..{found['times_high']}] times the {found['cpu_s']} s of CPU time"
    )
    print(f"{'':14}{'flows':>6}" + "".join(f"{f'p{100 * share:g}':>34}" for share in PERCENTILES))
    for row in found["groups"]:
        cells = ""
        for share in PERCENTILES:
            of = row[f"p{100 * share:g}"]
            change = f"{of['duetime'] / of['ns3'] - 1:+.1%}"
            here = f"{of['duetime']:.2f} [{of['low']:.2f}..{of['high']:.2f}]"
            cells += f"{of['ns3']:8.2f} {here:>17} {change:>7}"
        print(f"{row['group']:14}{row['flows']:>6}{cells}")


if __name__ == "__main__":
    main()
