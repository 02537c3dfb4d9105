"""The results of each transport in every variant of a scenario, and where the ranking changes."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from duetime.contract.variants import Measure, Robustness
from duetime.plots import style

#: Inches for a variant.
ROW = 0.235


def draw(record: Robustness) -> Figure:
    """A row for each variant, a point for each transport; variants that reverse the verdict are shaded."""
    names = record["transports"]
    every = ((each["choices"], _known(each["values"])) for each in record["variants"])
    variants = [(choices, known) for choices, known in every if known is not None]
    measure = record["measure"]
    sentence = "; ".join(each["sentence"].split(":")[0] for each in record["verdicts"])
    height = 1.9 + ROW * len(variants)
    figure = style.figure(record["title"] or "Robustness", sentence, 8.6, height)
    axes = figure.subplots()
    looks = style.looks(names)
    first = variants[0][1] if variants else {}
    changes = [reversed_(known, first, names, measure) for _, known in variants]
    for row, (_, known) in enumerate(variants):
        values = [known[name] for name in names]
        axes.plot([min(values), max(values)], [row, row], color=style.FAINT, linewidth=2, zorder=1)
        if changes[row]:
            axes.axhspan(row - 0.5, row + 0.5, color=style.VERMILLION, alpha=0.13, linewidth=0)
        for name, value in zip(names, values, strict=True):
            look = looks[name]
            axes.plot(
                value,
                row,
                marker=look.marker,
                color=look.colour,
                markersize=style.points(6),
                linestyle="",
                zorder=3,
            )
    axes.set_yticks(
        range(len(variants)), [words(choices) for choices, _ in variants], fontsize=style.points(8.5)
    )
    axes.set_ylim(len(variants) - 0.5, -0.5)
    largest = max((value for _, known in variants for value in known.values()), default=1.0)
    axes.set_xlim(-0.012 * largest, largest * 1.04 or 1)
    if measure["unit"] == "%":
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        axes.set_xlabel(measure["name"])
    elif measure["unit"] == "us":
        axes.xaxis.set_major_formatter(lambda value, _: style.span(value) if value else "0")
        axes.set_xlabel(measure["name"])
    else:
        axes.set_xlabel(f"{measure['name']} [{measure['unit']}]")
    axes.grid(axis="y", visible=False)
    handles = [
        Line2D([], [], color=looks[name].colour, marker=looks[name].marker, linestyle="", label=name)
        for name in names
    ]
    if any(changes):
        handles.append(
            Line2D([], [], color=style.VERMILLION, alpha=0.25, linewidth=8, label="ranking changes")
        )
    style.legend(figure, handles, len(handles))
    return figure


def _known(values: Mapping[str, float | None]) -> dict[str, float] | None:
    """Return the values of a variant; none where that of any transport is not known."""
    found = {name: value for name, value in values.items() if value is not None}
    return found if len(found) == len(values) else None


def reversed_(
    values: Mapping[str, float], first: Mapping[str, float], names: list[str], measure: Measure
) -> bool:
    """Return whether the order of the first transport and any other is reversed."""

    def sign(pair: Mapping[str, float], other: str) -> int:
        a, b = pair[names[0]], pair[other]
        if abs(a - b) <= max(measure["least"], measure["least_share"] * max(abs(a), abs(b))):
            return 0
        return 1 if a < b else -1

    return any(sign(values, other) * sign(first, other) < 0 for other in names[1:])


def words(choices: Mapping[str, str]) -> str:
    """Format a variant for people."""
    return ", ".join(f"{name} {value}" for name, value in choices.items()) or "as written"
