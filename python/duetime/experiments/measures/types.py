"""Missed deadlines and goodput within deadlines of each class, and what omniscient admission would miss.

``[options.types]``: ``classes``; ``rate_gbps``, that of the hosts' links; and ``segment``, bytes of payload
and of a whole packet, from which the bytes of a message on a link are computed.

The rows of transport ``adm`` are computed, not simulated. Each message of a run, in the order of its start,
is admitted if its sender's and its receiver's link have the bandwidth that it needs until its deadline. That
is a constant rate, which it then keeps for all of this time. It is missed otherwise. Links between switches
are ignored.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from duetime.experiments.experiment import Labels
from duetime.experiments.measures.summary import with_bound
from duetime.experiments.study import Metrics, Row, Run, Study, over_seeds
from duetime.frames import pl

ADMISSION = "adm"


@dataclass(frozen=True)
class Options:
    """The keys of ``[options.types]``, which are described above."""

    classes: list[str]
    rate_gbps: float
    #: Bytes of payload, and of a whole packet.
    segment: list[int]


def rows(study: Study) -> list[Row]:
    """A row for each cell, transport and class; `ADMISSION` is of the first transport's arrivals."""
    options = study.experiment.options.of("types", Options)
    runs = study.runs(("flows",))
    first = runs[0].labels["transport"] if runs else None

    def samples() -> Iterator[tuple[Labels, Metrics]]:
        for run in runs:
            flows = decided(run)
            for name, metrics in by_class(flows, options.classes, run):
                yield {**run.labels, "type": name}, {**metrics, "bound_percent": bound(run, name)}
            if run.labels["transport"] == first:
                admitted = flows.with_columns(missed=pl.Series(refused(flows, options), dtype=pl.Boolean))
                for name, metrics in by_class(admitted, options.classes, run):
                    yield {**run.labels, "transport": ADMISSION, "type": name}, metrics

    return with_bound(study, over_seeds(samples()))


def decided(run: Run) -> pl.DataFrame:
    """The messages of which it is known whether they were late, in the order of their starts."""
    return run.kept.table("flows").filter(pl.col("missed").is_not_null()).sort("start_us", "src", "dst")


def by_class(flows: pl.DataFrame, names: list[str], run: Run) -> Iterable[tuple[str, Metrics]]:
    """Yield the results of the messages that count; rates are over the time from their first start."""
    counted = flows.filter(pl.col("counted"))
    begin_us = counted["start_us"].head(1).sum()
    time_us = 1e6 * run.result["simulated_s"] - float(begin_us)
    for name in names:
        own = counted.filter(pl.col("class") == name)
        in_time = own.filter(~pl.col("missed"))
        yield (
            name,
            {
                "missed_percent": 100 * (1 - in_time.height / own.height) if own.height else None,
                "in_time_mbps": 8 * float(in_time["bytes"].sum()) / time_us,
                "offered_mbps": 8 * float(own["bytes"].sum()) / time_us,
                "messages": own.height,
            },
        )


def refused(flows: pl.DataFrame, options: Options) -> list[bool]:
    """Return for each message whether an omniscient admission refuses it."""
    payload, packet = options.segment
    free: defaultdict[tuple[str, int], float] = defaultdict(lambda: 1e3 * options.rate_gbps)
    ends: list[tuple[float, float, int, int]] = []
    found = []
    for start, allowed, size, sender, receiver in flows.select(
        "start_us", "deadline_us", "bytes", "src", "dst"
    ).iter_rows():
        # Times are rounded microseconds: a message may start when the one before it ends.
        while ends and ends[0][0] <= start + 1e-6:
            _, given, source, target = heapq.heappop(ends)
            free["from", source] += given
            free["to", target] += given
        # Bits per microsecond are Mbit/s. Sums of floats return to their former value but for rounding.
        need = 8 * size * packet / payload / allowed
        admitted = min(free["from", sender], free["to", receiver]) >= need * (1 - 1e-9)
        if admitted:
            free["from", sender] -= need
            free["to", receiver] -= need
            heapq.heappush(ends, (start + allowed, need, sender, receiver))
        found.append(not admitted)
    return found


def bound(run: Run, name: str) -> float | None:
    """Return the share of a class that any schedule must miss, in percent."""
    found, own = run.result.get("bound"), run.result["classes"][name]
    each = found["classes"].get(name) if found else None
    known = own["with_deadline"] - own["undecided"]
    return 100 * each["missed"] / known if each and known else None
