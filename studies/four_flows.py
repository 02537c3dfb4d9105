"""D2TCP's figure 6: four flows with different deadlines share one link."""

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes

import duetime
from common import DELAYS, SCENARIOS, draw, each, mean, span, table, write
from duetime.plots import style

SCENARIO = SCENARIOS / "four-flows.toml"
#: The bottleneck in Gbps, and the senders' links where they are not 10 Gbps as in the paper's testbed.
RATES = ("10", "10, senders 11", "4.5", "4.2", "4.0")
TRANSPORTS = ("dctcp", "d2tcp")
#: What the paper leaves open, each choice alone.
CHOICES: dict[str, dict[str, object]] = {
    "as it is": {},
    '`t_c = "precise"`': {"t_c": "precise"},
    '`rtt = "minimum"`': {"rtt": "minimum"},
    '`expired = "cap"`': {"expired": "cap"},
    "`initial_alpha = 0`": {"initial_alpha": 0},
    '`cut_at = "window-end"`': {"cut_at": "window-end"},
    "`d_cap = 4`": {"d_cap": 4},
}
SIZES_MB = (150, 220, 350, 500)
DEADLINES_MS = (1000, 1500, 2500, 4000)
#: The paper: "the difference lies in 0..2200 ms".
LIMIT_S = 2.2

Case = tuple[str, str, float]


def simulate(case: Case) -> duetime.Result:
    """One run: bottleneck in Gbps, transport, delay in us."""
    rate, transport, delay = case
    bottleneck, _, senders = rate.partition(", senders ")
    changes = {
        "network.bottleneck": f"{bottleneck} Gbps",
        "network.rate": f"{senders or 10} Gbps",
        "network.delay": f"{delay} us",
    }
    return duetime.run(SCENARIO, transport=transport, set=changes)


def times_ms(result: duetime.Result) -> list[float]:
    """Completion times, in the order of the flows."""
    return [us / 1e3 for us in result.flows.sort("from")["fct_us"]]


def samples(result: duetime.Result, what: str, until_s: float) -> dict[int, pl.DataFrame]:
    """What was observed of each flow."""
    trace = result.trace.filter((pl.col("what") == what) & (pl.col("time_s") <= until_s + 1e-9))
    return {flow: trace.filter(pl.col("from") == flow).sort("time_s") for flow in range(4)}


def average(result: duetime.Result, what: str, until_s: float) -> list[float]:
    """The mean of an observation over time, for each flow."""
    return [mean(rows["value"]) for rows in samples(result, what, until_s).values()]


def difference_before_limit(one: duetime.Result, other: duetime.Result) -> float:
    """Of all difference in throughput, the percentage before 2200 ms."""
    early = total = 0.0
    for flow in range(4):
        pair = [
            result.trace.filter((pl.col("what") == "throughput") & (pl.col("from") == flow)).select(
                pl.col("time_s").round(6), "value"
            )
            for result in (one, other)
        ]
        joined = pair[0].join(pair[1], on="time_s", how="full", coalesce=True).fill_null(0)
        gaps = joined.with_columns(gap=(pl.col("value") - pl.col("value_right")).abs())
        total += float(gaps["gap"].sum())
        early += float(gaps.filter(pl.col("time_s") <= LIMIT_S)["gap"].sum())
    return 100 * early / total


def study() -> None:
    """Run everything; write tables and picture."""
    cases = [(rate, transport, delay) for rate in RATES for transport in TRANSPORTS for delay in DELAYS]
    runs = dict(zip(cases, each(simulate, cases), strict=True))
    times = {case: times_ms(result) for case, result in runs.items()}
    write("four-flows-times", completion_table(times))
    write("four-flows-statements", statement_table(runs, times))
    urgency = [
        [f"{low} to {high} ms", *(f"{d:.2f}" for d in window_of_d(runs["4.2", "d2tcp", 25.0], low, high))]
        for low, high in ((0, 300), (300, 600), (600, 1000), (1000, 1500))
    ]
    write("four-flows-d", table(["mean d at 4.2 Gbps", *(f"flow {flow}" for flow in range(4))], urgency))
    write("four-flows-choices", choices_table())
    picture(runs)


def choices_table() -> str:
    """Completion times at 4.2 Gbps under each reading of what the paper leaves open."""
    cases = [(name, delay) for name in CHOICES for delay in DELAYS]

    def run(case: tuple[str, float]) -> list[float]:
        name, delay = case
        changes = {f"transport.{key}": value for key, value in CHOICES[name].items()}
        return times_ms(duetime.run(SCENARIO, set={"network.delay": f"{delay} us", **changes}))

    times = dict(zip(cases, each(run, cases), strict=True))
    rows = [
        [
            name,
            *(
                f"{times[name, 25.0][flow]:.0f} ({span((times[name, delay][flow] for delay in DELAYS), 0)})"
                for flow in range(4)
            ),
        ]
        for name in CHOICES
    ]
    return table(["d2tcp at 4.2 Gbps (ms)", *(f"flow {flow}" for flow in range(4))], rows)


def window_of_d(result: duetime.Result, low_ms: float, high_ms: float) -> list[float]:
    """The mean d of each flow in a window of time (1 for those that have finished)."""
    means = []
    for rows in samples(result, "d", high_ms / 1e3).values():
        inside = rows.filter(pl.col("time_s") > low_ms / 1e3)["value"]
        means.append(mean(inside) if inside.len() else float("nan"))
    return means


def completion_table(times: dict[Case, list[float]]) -> str:
    """Completion times beside deadlines, with their spread over the delays."""
    head = ["bottleneck", "transport"]
    head += [
        f"flow {flow}: {size} MB, {deadline} ms"
        for flow, (size, deadline) in enumerate(zip(SIZES_MB, DEADLINES_MS, strict=True))
    ]
    rows = []
    for rate in RATES:
        for transport in TRANSPORTS:
            row = [f"{rate} Gbps", transport]
            for flow, deadline in enumerate(DEADLINES_MS):
                here = times[rate, transport, 25.0][flow]
                spread = span((times[rate, transport, delay][flow] for delay in DELAYS), 0)
                row.append(f"{here:.0f} ({spread})" + (" **late**" if here > deadline else ""))
            rows.append(row)
    return table(head, rows)


def statement_table(runs: dict[Case, duetime.Result], times: dict[Case, list[float]]) -> str:
    """What the paper says of its figure, beside what came out."""

    def change(rate: str, flow: int) -> str:
        percents = [
            100 * (times[rate, "d2tcp", delay][flow] / times[rate, "dctcp", delay][flow] - 1)
            for delay in DELAYS
        ]
        return f"{mean(percents):+.1f} % ({span(percents, 1)})"

    def shares(rate: str) -> str:
        result = runs[rate, "dctcp", 25.0]
        rates = average(result, "throughput", min(times[rate, "dctcp", 25.0]) / 1e3)
        return span((100 * value / sum(rates) for value in rates), 1) + " %"

    def late(rate: str, transport: str) -> str:
        here = times[rate, transport, 25.0]
        names = [str(flow) for flow in range(4) if here[flow] > DEADLINES_MS[flow]]
        return ", ".join(names) or "none"

    def early(rate: str) -> str:
        return f"{difference_before_limit(*(runs[rate, name, 25.0] for name in TRANSPORTS)):.0f} %"

    lines = [
        ("DCTCP: equal shares (until the first has finished)", shares),
        ("DCTCP: flows that miss; the paper: the near-deadline ones", lambda rate: late(rate, "dctcp")),
        ("D2TCP: flows that miss", lambda rate: late(rate, "d2tcp")),
        ("flow 0 under D2TCP; the paper: significantly shorter", lambda rate: change(rate, 0)),
        ("flow 1; the paper: significantly shorter", lambda rate: change(rate, 1)),
        ("flow 2; the paper: about the same", lambda rate: change(rate, 2)),
        ("flow 3; the paper: about the same", lambda rate: change(rate, 3)),
        ("share of the difference before 2200 ms; the paper: most", early),
    ]
    rows = [[what, *(told(rate) for rate in RATES)] for what, told in lines]
    return table(["statement", *(f"{rate} Gbps" for rate in RATES)], rows)


def picture(runs: dict[Case, duetime.Result]) -> None:
    """Throughput over time."""
    with mpl.rc_context(style.RC):
        figure = style.figure(
            "Four flows, four deadlines (D2TCP, figure 6)",
            "Throughput of each flow; a triangle marks its deadline, a cross where it finished after it",
            11,
            6.4,
        )
        grid = figure.subplots(2, 2, sharex="row", sharey="row", squeeze=False)
        for row, rate in zip(grid, ("4.2", "10"), strict=True):
            for axes, transport in zip(row, TRANSPORTS, strict=True):
                panel(axes, runs[rate, transport, 25.0], rate, last=1.6 if rate == "10" else 2.6)
            row[0].set_ylabel("Gbit/s")
        for axes in grid[1]:
            axes.set_xlabel("time (s)")
        grid[0][1].legend(loc="upper left", ncols=2)
        draw(figure, "study-four-flows")


def panel(axes: Axes, result: duetime.Result, rate: str, last: float) -> None:
    """One run."""
    axes.set_title(f"{result.transport} at {rate} Gbps")
    finish = times_ms(result)
    for flow, rows in samples(result, "throughput", 6).items():
        look = style.CYCLE[flow]
        axes.plot(rows["time_s"], rows["value"] / 1e3, color=look.colour, label=f"flow {flow}", linewidth=1.4)
    axes.set_xlim(0, last)
    axes.set_ylim(bottom=0)
    top = axes.get_ylim()[1]
    for flow, deadline in enumerate(DEADLINES_MS):
        colour = style.CYCLE[flow].colour
        axes.plot(deadline / 1e3, 0.03 * top, "^", color=colour, markersize=9, clip_on=True, zorder=4)
        if finish[flow] > deadline:
            axes.plot(finish[flow] / 1e3, 0.03 * top, "X", color=colour, markersize=9, zorder=4)
