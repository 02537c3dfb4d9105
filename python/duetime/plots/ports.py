"""The fullest ports: how long their queues were, and how busy their links."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duetime.frames import pl
from duetime.plots import grid, settings, style
from duetime.plots.data import Arm, Results

MAX_PORTS = 8


def draw(results: Results) -> Figure:
    """A row per port, in the first seed: which ports are full may be drawn anew in each."""
    arms = {arm.name: ports(arm) for arm in results.arms}
    rows = fullest(list(arms.values()))
    what = "Busiest switch ports" + (" of the first seed" if results.seeds > 1 else "")
    height = 2.3 + max(2, len(rows)) * (0.28 + 0.2 * len(arms))
    height = grid.height_of(2, height)
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", 10.0, height)
    if not rows:
        style.sentence(figure.subplots(), "No packet was queued at a switch.")
        return figure
    left, right = grid.row(figure, 2, [2.2, 1], sharey=True)
    looks = style.looks(results.names)
    for i, (name, table) in enumerate(arms.items()):
        offset = (i + 0.5) / len(arms) * 0.7 - 0.35
        for y, port in enumerate(rows):
            for row in table.filter(pl.col("port") == port).iter_rows(named=True):
                at, colour = y + offset, looks[name].colour
                left.plot(
                    [row["queue_p5"], row["queue_p99"]], [at, at], color=colour, linewidth=style.points(4)
                )
                median = looks[name].marker if style.output().paper else "o"
                left.plot(
                    row["queue_p50"],
                    at,
                    median,
                    color="white",
                    markeredgecolor=colour,
                    markersize=style.points(7),
                )
                left.plot(
                    row["queue_max"], at, "|", color=colour, markersize=style.points(9), markeredgewidth=2
                )
                right.barh(at, 100 * row["utilisation"], 0.55 / len(arms), **looks[name].fill())
    settings.lines(left, results.arms[0].runs[0].about, rows, across="y")
    left.set_title(style.wrapped("Queue length: p5\N{EN DASH}p99 (bar), median (marker), maximum (tick)"))
    left.set_xlabel("queue length (packets)")
    left.set_xlim(left=0)
    right.set_title("Link utilisation")
    right.set_xlabel("utilisation")
    right.set_xlim(0, 101)
    right.xaxis.set_major_formatter(lambda share, _: f"{share:g} %")
    left.set_yticks(range(len(rows)), rows)
    left.set_ylim(len(rows) - 0.5, -0.5)
    for axes in (left, right):
        tidy(axes)
    grid.legend(figure, results, bars=True)
    return figure


def tidy(axes: Axes) -> None:
    """Rows need no lines of their own."""
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def ports(arm: Arm) -> pl.DataFrame:
    """The ports of switches."""
    at_switches = arm.runs[0].links.filter(~pl.col("src").str.starts_with("host "))
    return at_switches.with_columns(port=pl.format("{} to {}", "src", "dst"))


def fullest(tables: list[pl.DataFrame]) -> list[str]:
    """The ports with the longest mean queue under any transport."""
    longest = pl.concat(tables).group_by("port").agg(pl.col("queue_mean").max())
    longest = longest.filter(pl.col("queue_mean") > 0).sort("queue_mean", "port", descending=[True, False])
    return longest["port"].head(MAX_PORTS).to_list()
