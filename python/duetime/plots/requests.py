"""Requests of stages: the goals that they reach, and the stages that took their time."""

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from duetime.plots import grid, misses, style
from duetime.plots.data import Results
from duetime.plots.measures import Estimate, reported

#: The parts of a stage's time: key of the JSON object, name, and how it is drawn.
PARTS = {
    "network_percent": ("network", 0.95, ""),
    "work_percent": ("work", 0.95, "//"),
    "waiting_percent": ("waiting for a server", 0.35, ""),
}


def draw(results: Results) -> Figure | None:
    """Attainment of each goal, and the time of each stage; nothing for a folder without requests."""
    goals, stages = names(results, "goals"), names(results, "stages")
    if not stages:
        return None
    panels = 2 if goals else 1
    height = max(4.6, 2.2 + 0.34 * len(stages) * len(results.arms))
    what = "Requests" + (" (mean and 95 % interval over the seeds)" if results.seeds > 1 else "")
    height = grid.height_of(panels, height)
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", 6.4 * panels + 1, height)
    axes = grid.row(figure, panels)
    if goals:
        axes[0].set_title("Requests that reached the goal in time")
        attainment(axes[0], results, goals)
    axes[-1].set_title("Where their time went")
    shares(axes[-1], results, stages)
    looks = style.looks(results.names)
    handles = [Patch(**looks[name].fill(), label=name) for name in results.names]
    handles = handles if len(handles) > 1 else []
    for label, alpha, hatch in PARTS.values():
        handles.append(Patch(facecolor=style.GREY, alpha=alpha, hatch=hatch, edgecolor="white", label=label))
    style.legend(figure, handles)
    return figure


def names(results: Results, part: Literal["goals", "stages"]) -> list[str]:
    """Return the goals or the stages of all classes together, in the order of the run."""
    found: dict[str, None] = {}
    for arm in results.arms:
        for run in arm.runs:
            summary = run.about.get("summary")
            if summary is not None and "requests" in summary:
                found.update(dict.fromkeys(summary["requests"][part]))
    return list(found)


def attainment(axes: Axes, results: Results, goals: list[str]) -> None:
    """A group for each goal, a bar for each transport."""
    looks = style.looks(results.names)
    width = 0.8 / len(results.arms)
    font = 9 if len(goals) * len(results.arms) <= 9 else 7.5
    for i, arm in enumerate(results.arms):
        for x, goal in enumerate(goals):
            value = reported(arm, "summary", "requests", "goals", goal, "attainment_percent")
            at = x - 0.4 + (i + 0.5) * width
            misses.bar(axes, at, width * 0.88, looks[arm.name], value, font)
    misses.words(axes, goals)
    axes.set_xlim(-0.6, len(goals) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    style.percent(axes, "requests in time", 0, 109)
    axes.set_yticks(range(0, 101, 20))


def shares(axes: Axes, results: Results, stages: list[str]) -> None:
    """A bar for each stage and transport: its share of the requests' time, by what it waited for."""
    looks = style.looks(results.names)
    height = 0.8 / len(results.arms)
    for i, arm in enumerate(results.arms):
        for row, stage in enumerate(stages):
            left = 0.0
            for key, (_, alpha, hatch) in PARTS.items():
                found = reported(arm, "summary", "requests", "stages", stage, key) or Estimate(0.0)
                place = row - 0.4 + (i + 0.5) * height
                axes.barh(
                    place,
                    found.mean,
                    height * 0.88,
                    left=left,
                    color=looks[arm.name].colour,
                    alpha=alpha,
                    hatch=hatch,
                    edgecolor="white",
                    linewidth=0,
                )
                left += found.mean
    axes.set_yticks(range(len(stages)), stages)
    axes.set_ylim(len(stages) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(left=0)
    axes.set_xlabel("share of the requests' time, along the critical path")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
