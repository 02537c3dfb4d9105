"""Measure `d2tcp receive` in pairs: the same queries with the daemon and without it.

python deploy/linux/receive/measure.py [--seeds 3] [--only NAME] [--out FILE]

It needs root, and takes some minutes. Each run has namespaces of its own, and is recorded with the machine's
load.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import bed

#: The bytes on the wire for a byte of payload: headers of Ethernet, IP and TCP with timestamps.
_OVERHEAD = 1.0456


@dataclass(frozen=True)
class SetUp:
    """A set-up: the aggregator's queries, and the traffic beside them."""

    name: str
    #: Its name in tables.
    what: str
    query: dict[str, float]
    #: Options of the daemon beside rate and credit.
    options: list[str] = field(default_factory=list)
    announce: bool = True
    control: str = "cubic"
    bulk: bool = False
    rate_mbps: float = 100
    buffer: int = 400_000
    credit: str = "32kB"


def _burst(ratio: float, rate_mbps: float = 100, size: int = 300_000) -> dict[str, float]:
    """Return 20 answers at once that fill the link `ratio` times as long as the least deadline."""
    base = 20 * size * 8 * _OVERHEAD / (rate_mbps * 1e6) / ratio
    return {"senders": 20, "size": size, "queries": 36, "base": round(base, 6)}


_MANY = {"senders": 20, "size": 100_000, "queries": 40, "base": 0.3, "every": 0.24, "pools": 16}
_SMALL = {"senders": 40, "size": 20_000, "queries": 60, "base": 0.12, "every": 0.12, "pools": 16}
_BESIDE = {"senders": 20, "size": 100_000, "queries": 30, "base": 0.3, "every": 0.4, "pools": 16}
_RULE = "port=7000,deadline=386ms,size=300kB"

SET_UPS = [
    SetUp("burst-1.1", "burst of 1.1", _burst(1.1)),
    SetUp("burst-1.3", "burst of 1.3", _burst(1.3)),
    SetUp("burst-1.5", "burst of 1.5", _burst(1.5)),
    SetUp("burst-1.3-bbr", "burst of 1.3, senders with BBR", _burst(1.3), control="bbr"),
    SetUp(
        "burst-1.3-rule",
        "burst of 1.3, an unchanged program and a rule",
        _burst(1.3),
        options=["--rule", _RULE],
        announce=False,
    ),
    SetUp("overlapping-100kB", "overlapping queries, 20 x 100 KB", _MANY),
    SetUp("overlapping-20kB", "overlapping queries, 40 x 20 KB", _SMALL),
    SetUp("beside-bulk", "queries of 20 x 100 KB beside a bulk flow", _BESIDE, bulk=True),
    SetUp(
        "burst-1.3-1Gbps",
        "burst of 1.3 at 1 Gbps, 20 x 3 MB",
        _burst(1.3, 1000, 3_000_000),
        rate_mbps=1000,
        buffer=4_000_000,
        credit="128kB",
    ),
]


class Bulk:
    """A bulk flow beside the queries."""

    def __init__(self, made: bed.Bed) -> None:
        """Start it, and let it fill the link for a second."""
        script = bed.HERE / "bulk.py"
        self._process = made.start("a", ["python3", script, bed.SENDERS, bed.PORT])
        self._read: list[tuple[float, int]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        time.sleep(1)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            at, received = line.split()
            self._read.append((float(at), int(received)))

    def mbps(self, begin: float, end: float) -> float:
        """Return its rate between two times."""
        inside = [(at, received) for at, received in self._read if begin <= at <= end]
        (first, before), (last, after) = inside[0], inside[-1]
        return round((after - before) * 8 / (last - first) / 1e6, 2)


def measure(set_up: SetUp, seed: int, receive: bool) -> dict[str, object]:
    """Run a set-up once."""
    options = [word for key, value in set_up.query.items() for word in (f"--{key}", value)]
    with bed.bed(set_up.rate_mbps, set_up.buffer) as made:
        made.serve(set_up.control)
        if receive:
            made.receive("--rate", f"{set_up.rate_mbps}Mbps", "--credit", set_up.credit, *set_up.options)
        bulk = Bulk(made) if set_up.bulk else None
        before = made.status() if receive else None
        announce = ["--announce"] if receive and set_up.announce else []
        figures: dict[str, object] = dict(made.aggregate(*options, "--seed", seed, *announce))
        begun = float(str(figures.pop("begun_s")))
        if bulk is not None:
            figures["bulk_mbps"] = bulk.mbps(begun, begun + float(str(figures["took_s"])))
        if before is not None:
            state = made.status()
            figures["daemon"] = {
                key: state[key]
                for key in ("met", "missed", "set_back", "announced", "requested", "plans", "updates")
            }
            spent = float(str(state["cpu_s"])) - float(str(before["cpu_s"]))
            figures["cpu_us_per_answer"] = round(spent * 1e6 / float(str(figures["answers"])), 1)
    figures["load"] = round(os.getloadavg()[0], 1)
    return figures


def main() -> None:
    """Measure every set-up in pairs, and keep a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    record: dict[str, object] = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "version": subprocess.run([bed.tool(), "--version"], capture_output=True, text=True).stdout.split()[
            -1
        ],
    }
    measured: list[dict[str, object]] = []
    for set_up in SET_UPS:
        if chosen.only and set_up.name not in chosen.only:
            continue
        runs = []
        for seed in range(1, chosen.seeds + 1):
            for receive in (False, True):
                figures = measure(set_up, seed, receive)
                print(set_up.name, seed, "receive" if receive else "plain", json.dumps(figures), flush=True)
                runs.append({"seed": seed, "receive": receive, **figures})
        measured.append({**set_up.__dict__, "runs": runs})
    record["set_ups"] = measured
    if chosen.out:
        chosen.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
