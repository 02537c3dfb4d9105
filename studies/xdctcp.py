"""xDCTCP: query, short and long flows share one 10 Gbps port; the whole grid of (g, ns, nl)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

import duetime
from common import DELAYS, SCENARIOS, draw, each, mean, span, table, write
from duetime.plots import style

SCENARIO = SCENARIOS / "xdctcp.toml"
G = (0.05, 0.055, 0.06, 0.0625, 0.065, 0.07, 0.075, 0.08, 0.085, 0.09, 0.095, 0.1, 0.105, 0.11)
NS = (0.1, 0.2, 0.3, 0.4, 0.5)
NL = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
DCTCP, BEST = (0.0625, 0.5, 0.5), (0.095, 0.4, 1.0)
#: (mean delay of flows 0 to 4 in us, mean throughput of flows 5 to 7 in Mbps), checkpoint 2 report.
PUBLISHED = {DCTCP: (73.80, 2690.26), BEST: (69.03, 2689.97)}
#: What one change makes of the two points.
VARIANTS: Mapping[str, Mapping[str, object]] = {
    "as it is": {},
    '`grow_on_echo = "never"`, the default of dctcp': {"transport.grow_on_echo": "never"},
    '`growth_steps = "per-ack"`, the default of dctcp': {"transport.growth_steps": "per-ack"},
    "both, as dctcp": {"transport.grow_on_echo": "never", "transport.growth_steps": "per-ack"},
    "queue without the arriving packet (`mark` 96 400 B)": {"network.mark": "96400 B"},
    "initial window 2": {"transport.initial_window": 2},
    "floor of the window 1": {"transport.cwnd_floor": 1},
    "window grows only where it limits": {"transport.cwnd_validation": True},
    "NewReno instead of SACK": {"transport.recovery": "newreno"},
    "initial alpha 1": {"transport.initial_alpha": 1},
    "cut at the window's end": {"transport.cut_at": "window-end"},
    "only the first 990 ms": {"run.duration": "990 ms"},
    "ns-2's marking, initial window 2 and floor 1": {
        "network.mark": "96400 B",
        "transport.initial_window": 2,
        "transport.cwnd_floor": 1,
    },
}

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Figures:
    """What the study reports of a point, and its parts."""

    delay_us: float
    long_mbps: float
    query_us: float
    short_us: float


def simulate(point: Point, changes: Mapping[str, object] | None = None) -> Figures:
    """One point of the grid."""
    keys: dict[str, object] = dict(
        zip(("transport.g", "transport.ns", "transport.nl"), point, strict=True)
    ) | dict(changes or {})
    classes = duetime.run(SCENARIO, set=keys).classes
    query, short = (classes[name]["bottleneck_delay_us"] for name in ("query", "short"))
    # A class's delay is the mean over its flows: two query flows and three short ones.
    return Figures((2 * query + 3 * short) / 5, classes["long"]["bottleneck_mbps"] / 3, query, short)


def study(raw: Path | None) -> None:
    """Run everything; write tables and picture."""
    bound = 1.386 / math.sqrt(2 * (10e9 * 100e-6 / (8 * 1460) + 65))
    write(
        "xdctcp-bound",
        f"1.386 / sqrt(2 (C RTT + K)) = {bound:.3f}; without the 2: {bound * math.sqrt(2):.3f}.",
    )
    write("xdctcp-points", points_table())
    write("xdctcp-variants", variants_table())
    grid = dict(zip(every_point(), each(simulate, every_point()), strict=True))
    write("xdctcp-grid", grid_summary(grid))
    picture(grid)
    if raw:
        write("xdctcp-raw", raw_table(grid, read_raw(raw)))


def every_point() -> list[Point]:
    """The 420 points."""
    return [(g, ns, nl) for g in G for ns in NS for nl in NL]


def points_table() -> str:
    """The two published points, with their spread over the delays and without the last 10 ms."""
    rows, delays = [], {}
    for name, point in (("DCTCP", DCTCP), ("xDCTCP", BEST)):
        here = simulate(point)
        near = [simulate(point, {"network.delay": f"{delay} us"}) for delay in DELAYS]
        counted = 0.99 * simulate(point, {"run.duration": "990 ms"}).long_mbps
        delay, throughput = PUBLISHED[point]
        delays[point] = [here, *near]
        rows.append(
            [
                f"{name} {point}",
                f"{delay:.2f}",
                f"{here.delay_us:.2f} ({100 * (here.delay_us / delay - 1):+.1f} %)",
                span((figures.delay_us for figures in near), 2),
                f"{throughput:.2f}",
                f"{here.long_mbps:.2f} ({100 * (here.long_mbps / throughput - 1):+.2f} %)",
                f"{counted:.2f} ({100 * (counted / throughput - 1):+.2f} %)",
            ]
        )
    falls = [100 * (1 - b.delay_us / a.delay_us) for a, b in zip(delays[DCTCP], delays[BEST], strict=True)]
    head = ["point", "delay, published (us)", "ours", "over 24.6 to 25.4 us", "long flow, published (Mbps)"]
    head += ["ours", "ours as the study counted"]
    return (
        table(head, rows)
        + f"\n\nReduction of the delay: published 6.46 %, ours {falls[0]:.2f} % ({span(falls[1:], 2)} %)."
    )


def variants_table() -> str:
    """What single changes make of the two points."""
    rows = []
    for name, changes in VARIANTS.items():
        first, second = (simulate(point, changes) for point in (DCTCP, BEST))
        rows.append(
            [
                name,
                f"{first.delay_us:.2f}",
                f"{first.query_us:.1f} / {first.short_us:.1f}",
                f"{second.delay_us:.2f}",
                f"{second.query_us:.1f} / {second.short_us:.1f}",
                f"{100 * (1 - second.delay_us / first.delay_us):.1f} %",
                f"{first.long_mbps:.1f}, {second.long_mbps:.1f}",
            ]
        )
    head = ["change", "DCTCP delay (us)", "query / short", "xDCTCP delay (us)", "query / short"]
    return table([*head, "reduction", "long flow (Mbps)"], rows)


def grid_summary(grid: Mapping[Point, Figures]) -> str:
    """Where the optimum lies."""
    order = sorted(grid, key=lambda point: grid[point].delay_us)
    rows = [
        [
            f"{rank + 1}",
            str(order[rank]),
            f"{grid[order[rank]].delay_us:.2f}",
            f"{grid[order[rank]].long_mbps:.1f}",
        ]
        for rank in (0, 1, 2, 3, 4, order.index(BEST), order.index(DCTCP))
    ]
    throughputs = [figures.long_mbps for figures in grid.values()]
    return (
        table(["rank", "(g, ns, nl)", "delay (us)", "long flow (Mbps)"], rows)
        + f"\n\nOver all 420 points the long flows get {span(throughputs, 1)} Mbps, "
        + f"the delay is {span((figures.delay_us for figures in grid.values()), 1)} us."
    )


def read_raw(folder: Path) -> dict[Point, Figures]:
    """The study's own results: first line the point, then flow, mean delay in s, Mbit."""
    found: dict[Point, Figures] = {}
    for path in sorted(folder.glob("avgfile_*.tr")):
        head, *lines = [line.split() for line in path.read_text(encoding="ascii").split("\n") if line.strip()]
        g, ns, nl = (round(float(word), 6) for word in head)
        delays = [1e6 * float(line[1]) for line in lines]
        found[g, ns, nl] = Figures(
            mean(delays[:5]), mean(float(line[2]) for line in lines[5:]), mean(delays[:2]), mean(delays[2:5])
        )
    return found


def raw_table(grid: Mapping[Point, Figures], raw: Mapping[Point, Figures]) -> str:
    """Our grid beside the study's."""
    rows = []
    for name, field in (
        ("delay, flows 0 to 4", "delay_us"),
        ("of these the query flows", "query_us"),
        ("of these the short flows", "short_us"),
        ("throughput of a long flow", "long_mbps"),
    ):
        ours = np.array([getattr(grid[point], field) for point in grid])
        theirs = np.array([getattr(raw[point], field) for point in grid])
        error = 100 * (ours / theirs - 1)
        rows.append(
            [
                name,
                f"{error.mean():+.2f} %",
                f"{error.std():.2f}",
                f"{error.min():+.2f} to {error.max():+.2f} %",
                f"{int((abs(error) > 3).sum())}",
                f"{np.corrcoef(ours, theirs)[0, 1]:.3f}",
            ]
        )
    return table(
        [
            "420 points",
            "ours against theirs, mean",
            "standard deviation",
            "range",
            "beyond 3 %",
            "correlation",
        ],
        rows,
    )


def picture(grid: Mapping[Point, Figures]) -> None:
    """All points, and the two heat maps of the study for g = 0.095."""
    with mpl.rc_context(style.RC):
        figure = style.figure(
            "xDCTCP's grid: 420 triples (g, ns, nl)",
            "Throughput of the long flows against the delay of the others; on the right g = 0.095",
            12,
            4.4,
        )
        scatter, *maps = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
        dots = scatter.scatter(
            [figures.delay_us for figures in grid.values()],
            [figures.long_mbps for figures in grid.values()],
            c=[point[2] for point in grid],
            cmap="cividis",
            s=14,
        )
        figure.colorbar(dots, ax=scatter, label="nl")
        for point, marker, name in ((DCTCP, "s", "DCTCP"), (BEST, "D", "xDCTCP's choice")):
            own, (delay, throughput) = grid[point], PUBLISHED[point]
            scatter.plot(own.delay_us, own.long_mbps, marker, color=style.VERMILLION, label=f"{name}, ours")
            scatter.plot(
                delay, throughput, marker, color=style.BLUE, label=f"{name}, published", fillstyle="none"
            )
        scatter.set_ylim(bottom=2652)  # room for the legend below all points
        scatter.legend(loc="lower center", fontsize=8, ncols=2)
        scatter.set(xlabel="delay of flows 0 to 4 (us)", ylabel="long flow (Mbit/s)", title="All points")
        for axes, title, field, text in (
            (maps[0], "Delay (us)", "delay_us", "{:.1f}"),
            (maps[1], "Long flow (Mbit/s)", "long_mbps", "{:.0f}"),
        ):
            values = np.array([[getattr(grid[0.095, ns, nl], field) for ns in NS] for nl in NL])
            axes.imshow(values, origin="lower", cmap="cividis", aspect="auto")
            middle = (values.min() + values.max()) / 2
            for (row, column), value in np.ndenumerate(values):
                colour = "white" if value < middle else "black"
                axes.text(column, row, text.format(value), ha="center", va="center", color=colour, fontsize=8)
            axes.set_xticks(range(len(NS)), [str(ns) for ns in NS])
            axes.set_yticks(range(len(NL)), [str(nl) for nl in NL])
            axes.set(xlabel="ns", ylabel="nl", title=title)
            axes.grid(visible=False)
        draw(figure, "study-xdctcp")
