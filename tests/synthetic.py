"""Result folders with made-up numbers, as `duetime run --out` and `duetime compare --out` write them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

FLOWS = {
    "class": pl.String, "src": pl.UInt32, "dst": pl.UInt32, "query": pl.UInt64, "bytes": pl.UInt64,
    "start_us": pl.Float64, "end_us": pl.Float64, "fct_us": pl.Float64, "ideal_fct_us": pl.Float64,
    "slowdown": pl.Float64, "deadline_us": pl.Float64, "missed": pl.Boolean, "aborted": pl.Boolean,
    "counted": pl.Boolean, "timeouts": pl.UInt32, "retransmits": pl.UInt32, "marks": pl.UInt32,
}  # fmt: skip
TRACE = {
    "time_s": pl.Float64, "what": pl.String, "class": pl.String, "src": pl.UInt32, "dst": pl.UInt32,
    "message": pl.UInt32, "link": pl.String, "value": pl.Float64,
}  # fmt: skip
LINKS = {
    "src": pl.String, "dst": pl.String, "rate_bps": pl.UInt64, "packets": pl.UInt64, "bytes": pl.UInt64,
    "drops": pl.UInt64, "marks": pl.UInt64, "utilisation": pl.Float64, "queue_mean": pl.Float64,
    "queue_p5": pl.UInt64, "queue_p50": pl.UInt64, "queue_p99": pl.UInt64, "queue_max": pl.UInt64,
}  # fmt: skip
# How much longer than d2tcp each transport takes here.
SLOWER = {"tcp": 1.35, "cubic": 1.3, "dctcp": 1.12, "d2tcp": 1.0}


def run(
    folder: Path,
    transport: str = "d2tcp",
    *,
    classes: Sequence[str] = ("answers",),
    deadlines: bool = True,
    queries: int = 60,
    traced: int = 0,
    seed: int = 1,
    title: str = "Large answers, fan-in 20",
    sizes: Sequence[int] = (300_000,),
) -> Path:
    """One run: fan-in classes of 20 answers per query; a trace of `traced` connections."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng([seed, len(transport)])
    rows = []
    for number, name in enumerate(classes):
        for query in range(queries):
            for leaf in range(20):
                allowed = 45e3 * (1 + draw.uniform(0, 0.5)) / (number + 1)
                fct = draw.lognormal(np.log(40e3 / (number + 1)), 0.12) * SLOWER.get(transport, 1.2)
                start = 300e3 * query + draw.uniform(0, 40)
                rows.append(
                    (
                        name,
                        leaf,
                        20,
                        query,
                        sizes[leaf % len(sizes)],
                        start,
                        fct,
                        allowed if deadlines else None,
                        query > 0,
                    )
                )
    columns = ("class", "src", "dst", "query", "bytes", "start_us", "fct_us", "deadline_us", "counted")
    took, limit = pl.col("fct_us"), pl.col("deadline_us")
    flows = pl.DataFrame(rows, schema={name: FLOWS[name] for name in columns}, orient="row").with_columns(
        end_us=pl.col("start_us") + took,
        ideal_fct_us=pl.lit(2.5e3),
        slowdown=took / 2.5e3,
        missed=took > limit,
        aborted=pl.lit(False),
        timeouts=pl.lit(0),
        retransmits=pl.lit(0),
        marks=pl.lit(3),
    )
    flows.select(pl.col(name).cast(kind) for name, kind in FLOWS.items()).write_parquet(
        folder / "flows.parquet"
    )
    links(draw).write_parquet(folder / "links.parquet")
    if traced:
        trace(traced, draw).write_parquet(folder / "trace.parquet")
    about = {
        "title": title,
        "transport": transport,
        "seed": seed,
        "simulated_s": 30.0,
        "summary": report(flows),
        "classes": {name: report(flows.filter(pl.col("class") == name)) for name in classes},
        "bound": bound(deadlines, classes),
        "scenario": {"network": {"mark": "65 packets"}, "traffic": [{"name": name} for name in classes]},
    }
    (folder / "run.json").write_text(json.dumps(about))
    return folder


def links(draw: np.random.Generator) -> pl.DataFrame:
    """A star: one full port, some that are used a little, and the hosts' own."""
    rows = []
    for host, queue in enumerate([55.0, 4.0, 0.5, 0.0]):
        lengths = sorted(int(max(0.0, queue and draw.normal(queue, 5))) for _ in range(3))
        numbers = (10**9, 1000, 1_500_000, 0, 30, min(1.0, queue / 55), queue, *lengths, lengths[2] + 7)
        rows += [(f"host {host}", "switch", *numbers), ("switch", f"host {host}", *numbers)]
    return pl.DataFrame(rows, schema=LINKS, orient="row")


def report(flows: pl.DataFrame) -> dict[str, object]:
    """The part of the JSON contract that pictures read."""
    counted = flows.filter("counted")
    if counted["missed"].null_count() == len(counted):
        return {"missed_percent": None}
    in_time = 100 * (1 - pl.col("missed").cast(pl.Float64).mean())
    shares = counted.group_by("class", "query", maintain_order=True).agg(share=in_time)["share"].to_numpy()
    return {
        "missed_percent": 100 * float(counted["missed"].to_numpy().mean()),
        "answers_in_time_percent": {"mean": shares.mean(), "p1": np.quantile(shares, 0.01)},
        "complete_queries_percent": 100 * float((shares == 100).mean()),
    }


def bound(deadlines: bool, classes: Sequence[str]) -> dict[str, object] | None:
    """The least that can be missed, nothing in every third class."""
    if not deadlines:
        return None
    limits = {name: {"missed_percent": 4.0 * (i % 3)} for i, name in enumerate(classes, 1)}
    return {"missed_percent": 1.5, "classes": limits}


def trace(count: int, draw: np.random.Generator) -> pl.DataFrame:
    """Samples of `count` connections and three ports."""
    times = np.arange(0, 6, 0.01)
    rows: list[tuple[object, ...]] = []
    for i in range(count):
        until = 6 * (i + 1) / count
        for signal, level, swing in (
            ("throughput", 4200 / count, 200),
            ("cwnd", 60, 20),
            ("alpha", 0.4, 0.1),
            ("d", 1, 0.3),
        ):
            for time in times[times < until]:
                value = max(0.0, level * (1 + 0.3 * np.sin(time * (i + 1))) + draw.normal() * swing * 0.2)
                rows.append((time, signal, "answers", i, 20, i, None, value))
    for port, level in (("switch -> host 20", 64.0), ("switch -> host 0", 3.0), ("switch -> host 1", 0.0)):
        rows += [
            (t, "queue", None, None, None, None, port, max(0.0, level and level + draw.normal() * 4))
            for t in times
        ]
    return pl.DataFrame(rows, schema=TRACE, orient="row")


def compare(
    folder: Path, transports: Sequence[str] = ("tcp", "dctcp", "d2tcp"), seeds: int = 1, **kwargs: object
) -> Path:
    """A comparison; with several seeds a folder for each."""
    for transport in transports:
        for seed in range(1, seeds + 1):
            inside = folder / transport / f"seed-{seed}" if seeds > 1 else folder / transport
            run(inside, transport, seed=seed, **kwargs)  # type: ignore[arg-type]
    (folder / "compare.json").write_text(json.dumps({"runs": {transport: {} for transport in transports}}))
    return folder


def empty(folder: Path) -> Path:
    """A run in which nothing happened."""
    folder.mkdir(parents=True)
    pl.DataFrame(schema=FLOWS).write_parquet(folder / "flows.parquet")
    pl.DataFrame(schema=LINKS).write_parquet(folder / "links.parquet")
    pl.DataFrame(schema=TRACE).write_parquet(folder / "trace.parquet")
    (folder / "run.json").write_text(json.dumps({"title": "Nothing", "transport": "tcp", "seed": 1}))
    return folder
