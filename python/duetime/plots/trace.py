"""Samples over time: a row of panels per signal, a column per transport."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from duetime.frames import pl
from duetime.language import catalog
from duetime.plots import settings, style
from duetime.plots.data import Results, Run

MAX_NAMED = 8
MAX_FADED = 60
MAX_LINKS = 3
MAX_POINTS = 1200
# Of a query at least so many samples are shown, before and after it too.
MIN_SAMPLES = 12

Line = tuple[str, int, int]  # class, from, to


def draw(results: Results) -> Figure | None:
    """Small multiples; nothing for a folder without traces."""
    traced = [(arm.name, arm.runs[0]) for arm in results.arms]
    traced = [(name, run) for name, run in traced if run.trace is not None]
    if not traced:
        return None
    frames = [run.trace for _, run in traced if run.trace is not None]
    what = "Samples over time" + (" of the first seed" if results.seeds > 1 else "")
    query = None if len(connections(frames)) <= MAX_NAMED else one_query(traced[0][1], frames[0])
    if query is not None:
        frames = [frame.filter(pl.col("time_s").is_between(*query)) for frame in frames]
        what = "One query" + (" of the first seed" if results.seeds > 1 else "")
    frames = [thinned(frame) for frame in frames]
    labels_of = signals_with_labels()
    signals = [signal for signal in labels_of if any(signal in frame["what"] for frame in frames)]
    rows, columns = max(1, len(signals)), len(traced)
    width = min(16.0, 1.6 + (7.2 if columns == 1 else 4.2 * columns))
    figure = style.figure(results.title or what, f"{what}; {results.conditions}", width, 1.4 + 1.75 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=False)
    if not signals:
        style.sentence(panels[0][0], "The trace holds no samples.")
        return figure
    named = connections(frames)
    for column, ((name, run), frame) in enumerate(zip(traced, frames, strict=True)):
        for row, signal in enumerate(signals):
            axes: Axes = panels[row][column]
            samples = frame.filter(pl.col("what") == signal)
            if signal == "queue":
                queues(axes, samples, run)
            elif len(named) <= MAX_NAMED:
                one_by_one(axes, samples, named, run)
            else:
                crowd(axes, samples, sorted({key[0] for key in named}), mean=signal == "throughput")
            if column == 0:
                axes.set_ylabel(labels_of[signal])
            if not len(samples):
                axes.text(0.5, 0.5, "no samples", ha="center", color=style.FAINT, transform=axes.transAxes)
        if columns > 1:
            panels[0][column].set_title(name)
        panels[-1][column].set_xlabel("time [s]")
    panels[0][0].set_xlim(*busy(frames, [at for key in named for at in deadlines(traced[0][1], key)]))
    for row, signal in enumerate(signals):
        finish_row(list(panels[row]), signal, frames, crowded=len(named) > MAX_NAMED)
    labels = handles(named, traced[0][1])
    widest = max((len(str(label.get_label())) for label in labels), default=1)
    # Roughly 0.08 inches for a letter and 0.7 for a line.
    figure.legend(
        handles=labels, loc="outside lower center", ncols=max(1, int(width / (0.08 * widest + 0.7)))
    )
    figure.align_ylabels()
    return figure


def one_query(run: Run, frame: pl.DataFrame) -> tuple[float, float] | None:
    """Return the span of a query of typical length: many senders over all the time cannot be read."""
    answers = run.messages.filter(
        pl.col("query").is_not_null(), pl.col("fct_us").is_not_null(), pl.col("counted")
    )
    if not len(answers) or not len(frame):
        return None
    ends = pl.col("start_us") + pl.col("fct_us")
    queries = answers.group_by("class", "query").agg(start=pl.col("start_us").min(), end=ends.max())
    queries = queries.with_columns(took=pl.col("end") - pl.col("start")).sort("took", "start")
    start, end = queries.select("start", "end").row(len(queries) // 2)
    times = frame["time_s"].unique().sort()
    step = float(times.diff().median() or 0)  # type: ignore[arg-type]
    room = max(0.15 * (end - start) / 1e6, (MIN_SAMPLES * step - (end - start) / 1e6) / 2)
    return start / 1e6 - room, end / 1e6 + room


def signals_with_labels() -> dict[str, str]:
    """Every signal in the order of the rows, with the label of its axis."""
    known = catalog()["signals"]
    return {each["name"]: each["name"] + (f"\n[{each['unit']}]" if each["unit"] else "") for each in known}


def finish_row(row: Sequence[Axes], signal: str, frames: Sequence[pl.DataFrame], *, crowded: bool) -> None:
    """The vertical axis of a row of panels: one for all, so that they can be compared."""
    tops = [top(axes, frame, signal, crowded=crowded) for axes, frame in zip(row, frames, strict=True)]
    drawn = [each for each in tops if each is not None]
    shared = max(drawn, default=1.0)
    for axes in row:
        axes.set_ylim(0, shared)
        axes.tick_params(labelleft=axes is row[0])
    if signal == "throughput":
        unit = "Mbit/s"
        if shared > 2000:
            unit = "Gbit/s"
            for axes in row:
                axes.yaxis.set_major_formatter(lambda mbps, _: f"{mbps / 1000:g}")
        row[0].set_ylabel(f"{'mean ' if crowded else ''}throughput\n[{unit}]")


def top(axes: Axes, frame: pl.DataFrame, signal: str, *, crowded: bool) -> float | None:
    """The upper end that suits the samples of one panel; none where there are no samples."""
    values = frame.filter(pl.col("what") == signal)["value"]
    if not len(values):
        return None
    end = axes.get_ylim()[1]
    if signal == "queue":
        # Room for the legend.
        return max(end * 1.4, 4)
    if crowded:
        # A few extreme samples of single connections must not flatten all others.
        return min(end, 1.1 * float(np.quantile(values.to_numpy(), 0.995)) or 1.0)
    return end


def busy(frames: Sequence[pl.DataFrame], deadlines: Sequence[float]) -> tuple[float, float]:
    """Return the span from the first sample to the last non-zero one, or the last deadline, with a margin."""
    times = pl.concat([frame.filter(pl.col("value") != 0)["time_s"] for frame in frames])
    start = min(float(frame["time_s"].to_numpy().min()) for frame in frames if len(frame))
    end = max([start, *deadlines, *times.sort().tail(1)])
    room = 0.015 * (end - start) or 1.0
    return start - room, end + room


def thinned(trace: pl.DataFrame) -> pl.DataFrame:
    """At most `MAX_POINTS` moments: of more, neighbours are averaged."""
    moments = trace["time_s"].unique().sort()
    if len(moments) <= MAX_POINTS:
        return trace
    start, end = float(moments[0]), float(moments[-1])
    step = (end - start) / MAX_POINTS
    keys = [column for column in trace.columns if column != "value"]
    return (
        trace.with_columns(time_s=start + ((pl.col("time_s") - start) / step).floor() * step)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("value").mean())
    )


def connections(frames: Sequence[pl.DataFrame]) -> list[Line]:
    """Every pair of hosts of every class that has samples."""
    pairs = [frame.filter(pl.col("class").is_not_null()).select("class", "src", "dst") for frame in frames]
    return [(row[0], row[1], row[2]) for row in pl.concat(pairs).unique().sort("class", "src", "dst").rows()]


def one_by_one(axes: Axes, samples: pl.DataFrame, named: Sequence[Line], run: Run) -> None:
    """A line per connection, and a tick on the time axis where its message's deadline runs out."""
    for key, look in zip(named, style.CYCLE, strict=False):
        x, y = series(samples, key)
        axes.plot(x, y, color=look.colour, linestyle=look.dash, linewidth=1.5)
        for at in deadlines(run, key) if len(samples) else []:
            axes.axvline(at, color=look.colour, linewidth=1, linestyle=style.DOTS)


def crowd(axes: Axes, samples: pl.DataFrame, classes: Sequence[str], *, mean: bool) -> None:
    """Per class the median (or mean) of all connections, over some of the connections themselves, faded."""
    for name, look in zip(classes, style.CYCLE, strict=False):
        of_class = samples.filter(pl.col("class") == name)
        keys = of_class.select("class", "src", "dst").unique().sort("src", "dst").rows()
        # One packet of one connection at a time is no throughput: the mean says it.
        for key in [] if mean else keys[:: -(-len(keys) // MAX_FADED) or 1]:
            x, y = series(of_class, (key[0], key[1], key[2]))
            axes.plot(x, y, color=look.colour, linewidth=0.5, alpha=max(0.06, min(0.4, 4 / len(keys))))
        value = pl.col("value")
        x, y = gapped(of_class.group_by("time_s").agg(value.mean() if mean else value.median()))
        axes.plot(x, y, color=look.colour, linestyle=look.dash, linewidth=1.8)


def queues(axes: Axes, samples: pl.DataFrame, run: Run) -> None:
    """The ports that are fullest in the mean by name, the others faded."""
    mean = (
        samples.group_by("link").agg(pl.col("value").mean()).sort("value", "link", descending=[True, False])
    )
    ports = mean.filter(pl.col("value") > 0)["link"].to_list()
    for port in reversed(ports[: MAX_LINKS + MAX_FADED]):
        x, y = gapped(samples.filter(pl.col("link") == port))
        rank = ports.index(port)
        if rank < MAX_LINKS:
            colour, label = (style.INK, style.GREEN, style.PURPLE)[rank], str(port).replace(" -> ", " to ")
            axes.plot(x, y, color=colour, linewidth=1.2, label=label, zorder=3 - 0.1 * rank)
        else:
            axes.plot(x, y, color=style.FAINT, linewidth=0.5, alpha=0.4)
    settings.lines(axes, run.about, [str(port) for port in ports[:MAX_LINKS]], across="x")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="upper right", fontsize=style.points(8.5), ncols=2, handlelength=1.6, borderaxespad=0.1
        )


def series(samples: pl.DataFrame, key: Line) -> tuple[pl.Series, pl.Series]:
    """The samples of one connection."""
    name, source, target = key
    return gapped(samples.filter(pl.col("class") == name, pl.col("src") == source, pl.col("dst") == target))


def gapped(samples: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Times and values, with a hole where the sampled thing was not there for a while."""
    samples = samples.group_by("time_s").agg(pl.col("value").mean()).sort("time_s")
    steps = samples["time_s"].diff()
    usual = steps.median()
    if not isinstance(usual, float):
        return samples["time_s"], samples["value"]
    holes = samples.filter(steps > 2.5 * usual).select(pl.col("time_s") - usual / 2, value=pl.lit(np.nan))
    samples = pl.concat([samples, holes]).sort("time_s")
    return samples["time_s"], samples["value"]


def deadlines(run: Run, key: Line) -> list[float]:
    """Return the deadline of a connection's only message; nothing where it has several."""
    name, source, target = key
    own = run.messages.filter(pl.col("class") == name, pl.col("src") == source, pl.col("dst") == target)
    ends = own.select((pl.col("start_us") + pl.col("deadline_us")) / 1e6).drop_nulls().to_series().to_list()
    return ends if len(own) == 1 else []


def handles(named: Sequence[Line], run: Run) -> list[Line2D]:
    """The legend of all panels that show connections."""
    if len(named) > MAX_NAMED:
        classes = sorted({key[0] for key in named})
        return [
            Line2D([], [], color=look.colour, linestyle=look.dash, label=f"{name}: median of its connections")
            for name, look in zip(classes, style.CYCLE, strict=False)
        ]
    several = len({key[0] for key in named}) > 1
    entries = []
    for key, look in zip(named, style.CYCLE, strict=False):
        ends = deadlines(run, key)
        label = (
            (f"{key[0]}, " if several else "")
            + run.between(key[1], key[2])
            + (f", due at {style.span(ends[0] * 1e6)}" if ends else "")
        )
        entries.append(Line2D([], [], color=look.colour, linestyle=look.dash, label=label))
    return entries
