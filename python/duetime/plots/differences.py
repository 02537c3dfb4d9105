"""Differences between transports in missed deadlines, seed by seed."""

from matplotlib.figure import Figure

from duetime.contract.figures import at
from duetime.plots import style
from duetime.plots.data import Arm, Results
from duetime.statistics import difference


def draw(results: Results) -> Figure | None:
    """One point per transport and class with its interval; nothing without several transports and seeds."""
    reference = next((arm for arm in results.arms if arm.name == results.against), results.arms[0])
    others = [arm for arm in results.arms if arm is not reference]
    found = [
        (name, arm, ends)
        for name in results.classes
        for arm in others
        if (ends := _difference(arm, reference, name)) is not None
    ]
    if not found:
        return None
    what = f"Missed deadlines against {reference.name}, seed by seed (mean and 95 % interval)"
    height = min(16.0, 2.0 + 0.42 * len(found))
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", 8.0, height)
    axes = figure.subplots()
    looks = style.looks(results.names)
    several = len(results.classes) > 1
    labels = []
    for y, (name, arm, (mean, low, high)) in enumerate(found):
        colour = looks[arm.name].colour
        axes.errorbar(
            mean,
            y,
            xerr=[[mean - low], [high - mean]],
            fmt="o",
            color=colour,
            capsize=3,
            linewidth=1.4,
            markersize=style.points(5),
        )
        labels.append(f"{arm.name}, {name}" if several else arm.name)
    axes.axvline(0, color=style.INK, linewidth=1.2, linestyle=style.DASHES)
    axes.set_yticks(range(len(found)), labels)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlabel(f"missed deadlines, points more (right) or fewer (left) than {reference.name}")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    return figure


def _difference(arm: Arm, reference: Arm, name: str) -> tuple[float, float, float] | None:
    """Mean and ends of the interval over the seeds that both have; none without an interval."""
    others = _missed(reference, name)
    pairs = [(value, others[seed]) for seed, value in _missed(arm, name).items() if seed in others]
    found = difference([one - other for one, other in pairs])
    low, high = found["ci95"] if found is not None else (None, None)
    return None if found is None or low is None or high is None else (found["mean"], low, high)


def _missed(arm: Arm, name: str) -> dict[int, float]:
    """Percent missed of a class, by seed, where any deadline was decided."""
    path = ("classes", name, "missed_percent")
    found = {int(run.about["seed"]): at(run.about, path) for run in arm.runs}
    return {seed: float(value) for seed, value in found.items() if isinstance(value, int | float)}
