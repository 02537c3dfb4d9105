"""Deadlines missed, by class and transport."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duetime.plots import grid, style
from duetime.plots.data import Results
from duetime.plots.measures import Estimate, min_missed_percent, missed_percent


def draw(results: Results) -> Figure | None:
    """Grouped bars; nothing for a folder without deadlines."""
    classes = with_deadlines(results)
    if not classes:
        return None
    bars = len(classes) * len(results.arms)
    what = "Deadlines missed" + (" (mean and 95 % interval over the seeds)" if results.seeds > 1 else "")
    width = min(16.0, max(7.0, 2.6 + 0.45 * bars))
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", width, 4.6)
    bars_by_class(figure.subplots(), results)
    if len(classes) > 1:
        grid.legend(figure, results, bars=True)
    return figure


def with_deadlines(results: Results) -> list[str]:
    """The classes of which at least one message met or missed a deadline."""
    return [name for name in results.classes if any(missed_percent(arm, name) for arm in results.arms)]


def bars_by_class(axes: Axes, results: Results) -> None:
    """One group per class, one bar per transport; a single class needs no groups."""
    classes = with_deadlines(results)
    looks = style.looks(results.names)
    bars = len(classes) * len(results.arms)
    font = 9 if bars <= 9 else 8 if bars <= 16 else 7 if bars <= 32 else None
    groups = {name: [missed_percent(arm, name) for arm in results.arms] for name in classes}
    if len(classes) == 1:
        values = groups[classes[0]]
        for x, (name, value) in enumerate(zip(results.names, values, strict=True)):
            bar(axes, x, 0.62, looks[name], value, font)
        words(axes, results.names)
        axes.set_xlim(-0.6, len(results.names) - 0.4)
        bound(axes, (-0.6, len(results.names) - 0.4), min_missed_percent(results.arms, classes[0]), font)
    else:
        width = 0.8 / len(results.arms)
        for x, name in enumerate(classes):
            for i, value in enumerate(groups[name]):
                bar(
                    axes,
                    x - 0.4 + (i + 0.5) * width,
                    width * 0.88,
                    looks[results.names[i]],
                    value,
                    font,
                )
            bound(axes, (x - 0.44, x + 0.44), min_missed_percent(results.arms, name), font)
        words(axes, classes)
        axes.set_xlim(-0.6, len(classes) - 0.4)
    highest = [value.top for values in groups.values() for value in values if value]
    highest += thresholds(axes, results, classes)
    style.percent(axes, "deadlines missed", 0, min(103, max(highest) * 1.15) or 1)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)


def thresholds(axes: Axes, results: Results, classes: Sequence[str]) -> list[float]:
    """Draw the thresholds of ``--fail-if``: over the bars of its class, or over all."""
    found = results.thresholds("missed_percent")
    for text, (of_class, at) in found.items():
        x = classes.index(of_class) if of_class in classes and len(classes) > 1 else None
        style.threshold(axes, at, text, None if x is None else (x - 0.5, x + 0.5))
    return [at for _, at in found.values()]


def words(axes: Axes, names: Sequence[str]) -> None:
    """Name the groups; slanted where they would touch."""
    axes.set_xticks(range(len(names)), list(names))
    if sum(len(name) + 1 for name in names) > 38:
        axes.tick_params(axis="x", labelsize=style.points(8.5), labelrotation=30)
        for label in axes.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def bound(axes: Axes, across: tuple[float, float], value: Estimate | None, font: float | None) -> None:
    """Draw a line that no bar can be below; where it is zero there is nothing to see."""
    if value is None or value.mean == 0:
        return
    axes.plot(across, [value.mean] * 2, color=style.INK, linestyle=style.DASHES, linewidth=1.2, zorder=3)
    if font is not None:
        style.label(axes, f"bound {style.number(value.mean)}", (across[1], value.mean), (0, 4), ha="right")


def bar(
    axes: Axes, x: float, width: float, look: style.Look, value: Estimate | None, font: float | None = 9
) -> None:
    """One bar with its interval, and its value on top unless there is no room."""
    if value is None:
        return
    axes.bar(x, value.mean, width, **look.fill())
    top = value.mean
    if value.low is not None and value.high is not None:
        reach = [[value.mean - value.low], [value.high - value.mean]]
        axes.errorbar(x, value.mean, reach, color=style.INK, capsize=3, linewidth=1.2)
        top = value.high
    if font is not None:
        text, above = style.number(value.mean), (0, 3)
        axes.annotate(
            text, (x, top), above, textcoords="offset points", ha="center", fontsize=style.points(font)
        )
