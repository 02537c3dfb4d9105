"""Measure what deadlines do for replies of unchanged programs: ``make linux-deadlines``, as root.

Each way is tried with deadlines and without, in turn, beside three plain flows; see `bottleneck.py`. Writes
``deploy/linux/record/deadlines.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bottleneck import CLIENT, SERVICE, Trial, hear, trial
from ways import ROOT, WAYS, Unavailable, Way

RECORD = ROOT / "deploy" / "linux" / "record" / "deadlines.json"
#: The deadline is between the times of a reply at half of the link, 0.8 s, and at a quarter, 1.6 s. It is
#: nearer to the latter, since a reply is sent only as fast as its deadline needs, and completes shortly
#: before it.
DEADLINE_MS = 1300


@dataclass(frozen=True)
class Reply:
    """A client's report of one reply: its time until it was complete or aborted."""

    ms: int
    complete: bool

    @property
    def in_time(self) -> bool:
        """Return true if it was complete before its deadline."""
        return self.complete and self.ms <= DEADLINE_MS


def begin(bed: Trial, way: Way, announced: bool) -> int:
    """Start a way's service and return its port."""
    command, environment = way.service(announced)
    service = bed.start(SERVICE, command, environment, errors=subprocess.DEVNULL)
    return way.port or int(hear(service).split()[1])


def ask(bed: Trial, way: Way, port: int, replies: int, more: Sequence[str] = ()) -> list[Reply]:
    """Request replies one after another, and return them."""
    client = bed.start(CLIENT, way.client(port, DEADLINE_MS, replies, list(more)), errors=subprocess.PIPE)
    assert hear(client) == "ready"
    told = [hear(client).split(" ", 1) for _ in range(replies)]
    return [Reply(int(ms), how == "complete" or how.isdecimal()) for ms, how in told]


def replies(way: Way, announced: bool, count: int, options: Sequence[str] = ()) -> list[Reply]:
    """Run a way once, with additional options of `d2tcp attach`."""
    with trial([*way.options(announced), *options]) as bed:
        return ask(bed, way, begin(bed, way, announced), count)


def main() -> None:
    """Measure each way, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", help="some of " + ", ".join(way.name for way in WAYS))
    parser.add_argument("--replies", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    rows = {row["way"]: row for row in json.loads(RECORD.read_text())} if RECORD.exists() else {}
    for way in WAYS:
        if options.ways and way.name not in options.ways:
            continue
        try:
            tried = {announced: _tried(way, announced, options) for announced in (False, True)}
        except Unavailable as why:
            print(f"{way.name}: not to be had here: {why}", file=sys.stderr)
            continue
        rows[way.name] = {"way": way.name, "deadline_ms": DEADLINE_MS}
        for announced, got in tried.items():
            rows[way.name]["with" if announced else "without"] = {
                "in_time": sum(reply.in_time for reply in got),
                "of": len(got),
                "median_ms": statistics.median(reply.ms for reply in got),
                "replies": [asdict(reply) for reply in got],
            }
        print(json.dumps(rows[way.name]), flush=True)
        text = ",\n ".join(json.dumps(rows[each.name]) for each in WAYS if each.name in rows)
        RECORD.write_text(f"[{text}]\n", encoding="utf-8")


def _tried(way: Way, announced: bool, options: argparse.Namespace) -> list[Reply]:
    return [reply for _ in range(options.repeats) for reply in replies(way, announced, options.replies)]


if __name__ == "__main__":
    main()
