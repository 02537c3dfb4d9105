"""A comparison at a glance: misses, completion times, and what the user of the service sees."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duetime.plots import deadlines, fct, grid, misses, style
from duetime.plots.data import Results
from duetime.plots.measures import min_missed_percent, missed_percent, reported
from duetime.quantities import short


def draw(results: Results) -> Figure | None:
    """Three panels; only for a comparison of several transports."""
    if len(results.arms) < 2:
        return None
    panels = {"Flow completion times": completion_times}
    if misses.with_deadlines(results):
        panels = {"Deadlines missed": misses.bars_by_class, **panels}
        if any(reported(arm, "summary", "answers_in_time_percent", "mean") for arm in results.arms):
            panels["Answers in time, per query"] = answers
        else:
            panels["How close to the deadline"] = deadline_ratios
    # The first panel grows with the number of its bars.
    bars = len(misses.with_deadlines(results)) * len(results.arms)
    width = 8.2 if len(panels) == 1 else 15.0 + 0.12 * max(0, min(bars, 48) - 12)
    said, height = headline(results) + results.conditions, grid.height_of(len(panels), 4.9)
    figure = style.figure(results.title or "Comparison", said, width, height)
    ratios = [min(2.0, 1 + 0.06 * max(0, bars - 6)), *[1.25] * (len(panels) - 1)] if len(panels) > 1 else [1]
    all_axes = grid.row(figure, len(panels), ratios)
    for axes, (title, panel) in zip(all_axes, panels.items(), strict=True):
        axes.set_title(title)
        panel(axes, results)
    grid.legend(figure, results)
    return figure


def completion_times(axes: Axes, results: Results) -> None:
    """Of all messages together."""
    fct.curves(axes, results, None)
    if axes.axison:
        style.log_time(axes, "flow completion time")


def deadline_ratios(axes: Axes, results: Results) -> None:
    """Of all messages with a deadline together."""
    drawn = deadlines.curves(axes, results, None)
    if drawn:
        deadlines.scale(axes, drawn)


def headline(results: Results) -> str:
    """Return the result in one line: each transport with its missed deadlines."""
    values = [(arm.name, missed_percent(arm, None)) for arm in results.arms]
    parts = [f"{name} {short(value.mean)} %" for name, value in values if value]
    least = min_missed_percent(results.arms, None)
    bound = f" (bound {short(least.mean)} %)" if least else ""
    return f"Deadlines missed: {', '.join(parts)}{bound}; " if parts else ""


# What the user of the service sees of a query: label, and where `run.json` has it.
ANSWERS = {
    "mean": ("answers_in_time_percent", "mean"),
    "worst 1 %\nof queries": ("answers_in_time_percent", "p1"),
    "queries with all\nanswers in time": ("complete_queries_percent",),
}


def answers(axes: Axes, results: Results) -> None:
    """Answers in time in the mean and in a bad query, and complete queries."""
    looks = style.looks(results.names)
    width = 0.8 / len(results.arms)
    # Numbers of more bars than these would run into each other.
    sizes = {1: 9, 2: 9, 3: 9} if style.output().paper else {1: 9, 2: 9, 3: 9, 4: 7.5}
    font = sizes.get(len(results.arms))
    for i, arm in enumerate(results.arms):
        for x, path in enumerate(ANSWERS.values()):
            value = reported(arm, "summary", *path)
            misses.bar(axes, x - 0.4 + (i + 0.5) * width, width * 0.88, looks[arm.name], value, font)
    axes.set_xticks(range(len(ANSWERS)), list(ANSWERS), fontsize=style.points(9))
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    style.percent(axes, "share of answers or queries", 0, 109)
    axes.set_yticks(range(0, 101, 20))
