"""Figures 6 and 7 of D2TCP over the kernel's TCP, each run beside a simulation of the same messages.

    python -m validate.kernel [--repeats N] [--fan-in NUMBERS] [--record DIR]

Needs root and the programs of `make linux`. Wall-clock time counts here: what else the machine does disturbs
the hosts, so that the table says how late they were.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path

from duetime.comparison import Comparison
from duetime.results import Result
from duetime.statistics import half_width
from duetime.testbed import fig07
from duetime.testbed.experiments import EXPERIMENTS, carry_out
from validate.__main__ import write
from validate.check import known

#: Figure 7's points: the smallest of the paper, a middle one, and the largest.
FAN_INS = "20,30,40"


@dataclass(frozen=True)
class Line:
    """One figure, real and simulated: means over repeats, their difference, half of its 95 % interval."""

    experiment: str
    transport: str
    figure: str
    repeats: int
    real: float
    simulated: float
    difference: float
    #: None of a single repeat, or of several that do not differ.
    half: float | None
    #: How late hosts began to send: the 99th percentile of the median repeat, and the worst of all.
    late_us_p99: float
    late_us_max: float


def main() -> None:
    """Run the figures that the arguments select."""
    arguments = argparse.ArgumentParser(prog="validate.kernel", description="Figures 6 and 7 on real TCP.")
    arguments.add_argument("--repeats", type=int, default=10, metavar="N", help="of each (default: 10)")
    arguments.add_argument("--fan-in", default=FAN_INS, metavar="NUMBERS", help="of figure 7; empty: none")
    arguments.add_argument("--record", type=Path, metavar="DIR", help="keep what was found for the page")
    chosen = arguments.parse_args()
    load = os.getloadavg()[0]
    found = []
    for line in compare(chosen.repeats, [int(each) for each in chosen.fan_in.split(",") if each]):
        found.append(asdict(line) | {"load": round(load, 1), "cores": os.cpu_count()})
        print(f"{line.experiment}, {line.transport}: {line.figure}: {line.real:.4g} real and ", end="")
        print(f"{line.simulated:.4g} simulated, {line.difference:+.3g}", end="")
        print("" if line.half is None else f" +- {line.half:.2g}", end="")
        print(f" ({line.repeats} repeats; hosts late by {line.late_us_p99:.0f} us", end="")
        print(f", {line.late_us_max:.0f} at most)", flush=True)
    write(chosen.record, "kernel", found)


def compare(repeats: int, fan_ins: Sequence[int]) -> Iterable[Line]:
    """Figure 6's completion times flow by flow, figure 7's missed deadlines by fan-in."""
    experiment = EXPERIMENTS["fig06"]
    yield from four_flows(carry_out(experiment.scenario, experiment.arms, seeds=repeats, advanced=tell))
    for fan_in, comparison in fig07.run(fan_ins, seeds=repeats, advanced=tell).items():
        for transport in ("dctcp", "d2tcp"):
            runs = both(comparison, transport)
            pairs = [(fig07.missed(real), fig07.missed(simulated)) for real, simulated in runs]
            yield line("figure 7", transport, f"missed at fan-in {fan_in}, %", pairs, runs)


def four_flows(comparison: Comparison[Result]) -> Iterable[Line]:
    """Compare the completion times of figure 6's flows."""
    for transport in ("dctcp", "d2tcp"):
        runs = both(comparison, transport)
        times = [tuple(each.flows.sort("src")["fct_us"].to_list() for each in pair) for pair in runs]
        for flow, name in enumerate(("150 MB", "220 MB", "350 MB", "500 MB")):
            pairs = [
                (real[flow] / 1e3, simulated[flow] / 1e3)
                for real, simulated in times
                if real[flow] is not None and simulated[flow] is not None
            ]
            if pairs:
                yield line("figure 6", transport, f"FCT of the flow for {name}, ms", pairs, runs)


def both(comparison: Comparison[Result], transport: str) -> list[tuple[Result, Result]]:
    """Real and simulated, repeat by repeat."""
    by_seed = comparison.by_seed
    return list(zip(by_seed[f"{transport} real"], by_seed[f"{transport} simulated"], strict=True))


def line(
    experiment: str,
    transport: str,
    figure: str,
    pairs: Sequence[tuple[float, float]],
    runs: Sequence[tuple[Result, Result]],
) -> Line:
    """Means over repeats, and how late hosts were."""
    differences = [real - simulated for real, simulated in pairs]
    on_kernel, simulated = (fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    told = [real.data["testbed"] for real, _ in runs]
    return Line(
        experiment,
        transport,
        figure,
        len(pairs),
        on_kernel,
        simulated,
        fsum(differences) / len(differences),
        half_width(differences),
        sorted(known(each["start_late_us"])["p99"] for each in told)[len(told) // 2],
        max(known(each["start_late_us"])["max"] for each in told),
    )


def tell(what: str) -> None:
    """Print the name of the next run."""
    print(f"running {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
