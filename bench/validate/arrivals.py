"""Messages that are drawn once by duetime and written as traces.

Simulators that read these differ in their transport, their queues and their events, not in the draws.
"""

import csv
import hashlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import duetime as dt

#: Where compiled drivers are kept.
PROGRAMS = Path(__file__).resolve().parents[2] / "target" / "validate"

UNITS = {
    **{"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12},
    **{"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9},
    **{"bps": 1.0, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12},
}


class Absent(Exception):
    """There is no such simulator here; the text says why."""


@dataclass(frozen=True)
class Outcome:
    """The result of one simulator for one set of arrivals."""

    #: class, deadline_us, fct_us (null where it did not complete).
    messages: pl.DataFrame
    drops: int
    marks: int
    timeouts: int
    #: Time-weighted, of the port where most waited on average; packets.
    queue_mean: float
    queue_p99: float


@dataclass(frozen=True)
class Arrivals:
    """Messages drawn once, as a scenario's traces."""

    scenario: dict[str, Any]
    #: class, src, dst, bytes, start_us, deadline_us; in the order of their starts.
    messages: pl.DataFrame
    duration: float
    end: float


def draw(scenario: Mapping[str, Any], seed: int, folder: Path) -> Arrivals:
    """The traffic of a scenario under a seed, written to `folder` as one trace for each class."""
    drawn = dt.run(dict(scenario), seed=seed).flows.filter(pl.col("counted"))
    columns = ["class", "src", "dst", "bytes", "start_us", "deadline_us"]
    messages = drawn.select(columns).sort("start_us", maintain_order=True)
    classes = []
    for entry in scenario["traffic"]:
        path = folder / f"{entry['name']}.csv"
        # Without deadlines, which none of these transports knows: a run then does not wait for messages that
        # have missed theirs.
        own = messages.filter(pl.col("class") == entry["name"])
        write_trace(path, own.with_columns(deadline_us=pl.lit(None, dtype=pl.Float64)))
        classes.append({"name": entry["name"], "pattern": "trace", "file": str(path)})
    write_trace(folder / "all.csv", messages)
    resolved, _ = dt.check(dict(scenario), seed=seed)
    duration = quantity(resolved["run"]["duration"])
    # Long enough for every message that does not starve; both stop there.
    end = duration + max(1.0, duration)
    run = dict(scenario["run"]) | {"seed": seed, "cool_down": f"{end - duration} s"}
    return Arrivals(dict(scenario) | {"traffic": classes, "run": run}, messages, duration, end)


def write_trace(path: Path, messages: pl.DataFrame) -> None:
    """Messages as a traffic trace, which scenarios and the driver read: plain seconds, hosts and bytes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["start", "src", "dst", "bytes", "deadline"])
        for row in messages.iter_rows(named=True):
            deadline = "" if row["deadline_us"] is None else f"{row['deadline_us'] / 1e6:.12f}"
            lines.writerow([f"{row['start_us'] / 1e6:.12f}", row["src"], row["dst"], row["bytes"], deadline])


def one_amount(mark: str | dict[str, str] | None) -> str | None:
    """Return the K of a network whose ports share it; None without marking."""
    if isinstance(mark, dict):
        raise ValueError(f"the drivers know one K for all ports, not {mark}")
    return mark


def of_all(buffer: str | dict[str, str]) -> str:
    """Return the buffer of all switches; `ValueError` where switches differ."""
    if isinstance(buffer, dict):
        raise ValueError("the other simulators' switches all have the same buffer")
    return buffer


def quantity(text: str) -> float:
    """A quantity of a resolved scenario: seconds, bytes or bits per second."""
    value, unit = text.split()
    return float(value) * UNITS[unit]


def ours(arrivals: Arrivals, transport: str, changes: Mapping[str, Any]) -> Outcome:
    """duetime on these arrivals."""
    run = dt.run(arrivals.scenario, transport=transport, set=dict(changes))
    completed = run.flows.select("class", "src", "dst", "start_us", "fct_us").sort("start_us", "src", "dst")
    messages = arrivals.messages.sort("start_us", "src", "dst")
    if not messages.select("class", "src", "dst").equals(completed.select("class", "src", "dst")):
        raise RuntimeError("duetime did not start the messages of the traces")
    busiest = run.data["busiest_queue"]
    if busiest is None:
        raise RuntimeError("the network of the traces has no switch")
    return Outcome(
        messages.with_columns(completed["fct_us"]),
        run.data["drops"],
        run.data["marks"],
        run.data["timeouts"],
        busiest["mean"],
        busiest["p99"],
    )


def ended(arrivals: Arrivals, file: Path) -> pl.DataFrame:
    """The messages, and what a driver wrote of them: a line each, seconds after its start, or none."""
    lines = file.read_text(encoding="utf-8").splitlines()
    times = [float(line) * 1e6 if line else None for line in lines]
    return arrivals.messages.with_columns(pl.Series("fct_us", times, dtype=pl.Float64))


def compiled(source: Path, flags: Sequence[str]) -> Path:
    """A driver in C++, compiled unless the same one was; `Absent` where that cannot be."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise Absent("no C++ compiler")
    shared = source.parents[1] / "duetime.h"
    headers = sorted(source.parent.glob("*.h"))
    texts = [file.read_text(encoding="utf-8") for file in (source, shared, *headers)]
    kind = hashlib.sha256("\n".join([compiler, *texts, *flags]).encode())
    program = PROGRAMS / f"{source.parent.name}-{kind.hexdigest()[:16]}"
    if not program.exists():
        PROGRAMS.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_suffix(".new")
        places = ["-I", str(shared.parent), str(source), "-o", str(unfinished)]
        command = [compiler, "-std=c++20", "-O2", *places, *flags]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise Absent(f"the driver does not compile: {made.stderr.strip().splitlines()[-1]}")
        unfinished.rename(program)
    return program
