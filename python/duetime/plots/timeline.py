"""A request over time: its messages and works by host, and the critical paths of the slowest requests."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from duetime.errors import NoResults
from duetime.frames import pl
from duetime.plots import style
from duetime.plots.data import Results, Run

#: At most so many hosts of a request, and so many slow requests, have a row.
MAX_ROWS = 32
#: The slowest per cent is drawn, and at least so many requests.
MIN_SLOW = 10
#: At most so many transports have a column.
MAX_COLUMNS = 4
#: The height of a bar in its row.
BAR = 0.62


class Request(NamedTuple):
    """A request by its class and number."""

    of_class: str
    number: int

    @classmethod
    def read(cls, text: str, classes: Sequence[str]) -> "Request":
        """Return the request that is written as CLASS:NUMBER, or as NUMBER where one class keeps pieces."""
        of_class, _, number = text.rpartition(":")
        if not number.isdecimal():
            raise NoResults(
                f"--request {text}: a request is written as CLASS:NUMBER, for example {classes[0]}:0"
            )
        if of_class and of_class not in classes:
            raise NoResults(f"--request {text}: only {', '.join(classes)} has pieces of requests")
        return cls(of_class or classes[0], int(number))


def draw(results: Results) -> Figure | None:
    """One request above, the slowest below, a column for each transport; nothing without pieces."""
    kept = [(arm.name, arm.runs[0]) for arm in results.arms[:MAX_COLUMNS]]
    kept = [(name, run) for name, run in kept if run.pieces is not None and run.pieces.height]
    if not kept:
        return None
    request = chosen(results.request, kept[0][1])
    stages = _order(run for _, run in kept)
    colours = dict(zip(stages, (look.colour for look in style.CYCLE * 8), strict=False))
    panels = [(one(run, request), slowest(run, request.of_class)) for _, run in kept]
    heights = [
        max(4, *(len(_hosts(pieces)) for pieces, _ in panels)),
        max(4, *(many.height for _, many in panels)),
    ]
    columns = len(kept)
    width = min(16.0, 1.6 + (9.0 if columns == 1 else 5.0 * columns))
    what = f"Request {request.number} of {request.of_class}, and the slowest"
    what += " of the first seed" if results.seeds > 1 else ""
    figure = style.figure(
        results.title or what, f"{what}; {results.conditions}", width, 3.0 + 0.17 * (sum(heights) + 8)
    )
    all_axes = figure.subplots(2, columns, squeeze=False, sharex="row", height_ratios=heights)
    for column, ((name, run), (pieces, many)) in enumerate(zip(kept, panels, strict=True)):
        prefix = f"{name}: " if columns > 1 else ""
        gantt(all_axes[0][column], run, request, pieces, colours, prefix)
        paths(all_axes[1][column], run, many, colours, prefix)
    handles: list[Artist] = [Patch(color=colours[stage], label=stage) for stage in stages]
    handles += [
        Patch(facecolor="white", edgecolor=style.FAINT, label="waits for a server"),
        Patch(facecolor="white", edgecolor=style.INK, linewidth=1.4, label="critical"),
        Line2D([], [], color=style.FAINT, linewidth=1, marker="|", label="slack left"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=max(2, int(width / 1.7)))
    return figure


def chosen(text: str | None, run: Run) -> Request:
    """Return the request that was asked for, or one of median time."""
    assert run.pieces is not None
    classes = run.pieces["class"].unique(maintain_order=True).to_list()
    if text is not None:
        request = Request.read(text, classes)
        if not one(run, request).height:
            raise NoResults(f"--request {text}: {run.directory} has no such request")
        return request
    ended = run.requests.filter(pl.col("time_us").is_not_null(), pl.col("class") == classes[0])
    ended = ended.filter("counted") if ended["counted"].any() else ended
    if not ended.height:
        return Request(classes[0], int(run.pieces["request"][0]))
    by_time = ended.sort("time_us", "request")
    return Request(classes[0], int(by_time["request"][by_time.height // 2]))


def one(run: Run, request: Request) -> pl.DataFrame:
    """Return the pieces of a request that could start, with their times from its arrival in ms."""
    assert run.pieces is not None
    own = run.pieces.filter(pl.col("class") == request.of_class, pl.col("request") == request.number)
    arrival = float(_row(run, request)["arrival_us"][0]) if own.height else 0.0
    times = [
        ((pl.col(name) - arrival) / 1000).alias(name) for name in ("ready_us", "began_us", "end_us", "due_us")
    ]
    return own.with_columns(times).filter(pl.col("ready_us").is_not_null()).sort("piece")


def slowest(run: Run, of_class: str) -> pl.DataFrame:
    """Return the slowest per cent of the requests of a class that count and ended, the slowest first."""
    ended = run.requests.filter(
        pl.col("class") == of_class, pl.col("time_us").is_not_null(), pl.col("counted")
    )
    rows = min(max(-(-ended.height // 100), MIN_SLOW), MAX_ROWS)
    return ended.sort(["time_us", "request"], descending=[True, False]).head(rows)


def gantt(
    axes: Axes, run: Run, request: Request, pieces: pl.DataFrame, colours: dict[str, str], prefix: str
) -> None:
    """Draw each message and work in the row of its host, and the slack that was left at its end."""
    axes.set_title(f"{prefix}request {request.number}")
    axes.set_xlabel("time from its arrival [ms]")
    if not pieces.height:
        style.sentence(axes, "This request did not arrive here.")
        return
    rows = _hosts(pieces)
    shown = rows[:MAX_ROWS]
    last = max(each for name in ("ready_us", "began_us", "end_us") for each in pieces[name].drop_nulls())
    for piece in pieces.with_columns(row=_row_of(pieces)).iter_rows(named=True):
        if piece["row"] not in shown:
            continue
        y = shown.index(piece["row"])
        ready, began, end = piece["ready_us"], piece["began_us"], piece["end_us"]
        _span(axes, y, ready, last if began is None else began, style.FAINT, hollow=True)
        if began is not None:
            colour = colours[piece["stage"]]
            _span(axes, y, began, last if end is None else end, colour, critical=piece["critical"])
        if end is not None and piece["due_us"] is not None:
            _due(axes, y, end, piece["due_us"])
    for goal, within in _goals(run, request).items():
        axes.axvline(within, color=style.INK, linewidth=1, linestyle=style.DASHES)
        style.label(axes, goal, (within, -0.6), (2, 0), ha="left", va="center")
    more = f", and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    axes.set_yticks(range(len(shown)), [f"host {host}" for host in shown], fontsize=style.points(8))
    axes.set_ylim(len(shown) - 0.4, -1)
    axes.set_ylabel(f"hosts{more}" if more else "")
    axes.grid(axis="y", visible=False)


def paths(axes: Axes, run: Run, many: pl.DataFrame, colours: dict[str, str], prefix: str) -> None:
    """Draw the critical path of each request in a row, with the allowed time of the whole request."""
    assert run.pieces is not None
    axes.set_title(f"{prefix}critical paths of the slowest {many.height}")
    axes.set_xlabel("time from the arrival [ms]")
    if not many.height:
        style.sentence(axes, "No request that counts ended.")
        return
    critical = run.pieces.filter(pl.col("critical"))
    for y, row in enumerate(many.iter_rows(named=True)):
        own = critical.filter(pl.col("class") == row["class"], pl.col("request") == row["request"])
        for piece in own.iter_rows(named=True):
            ready, began, end = (
                (piece[name] - row["arrival_us"]) / 1000 for name in ("ready_us", "began_us", "end_us")
            )
            _span(axes, y, ready, began, style.FAINT, hollow=True)
            _span(axes, y, began, end, colours[piece["stage"]])
        if row["deadline_us"] is not None:
            axes.plot(
                [row["deadline_us"] / 1000],
                [y],
                color=style.INK,
                marker="|",
                markersize=style.points(9),
                zorder=4,
            )
        host = f"{row['longest_stage']} at host {row['longest_host']}"
        axes.annotate(
            host,
            (row["time_us"] / 1000, y),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.points(7),
        )
    axes.set_yticks(range(many.height), [str(number) for number in many["request"]], fontsize=style.points(8))
    axes.set_ylim(many.height - 0.4, -0.6)
    # Room for the words behind the bars.
    axes.set_xlim(0, 1.25 * max(float(took) for took in many["time_us"]) / 1000)
    axes.set_ylabel("request")
    axes.grid(axis="y", visible=False)


def _due(axes: Axes, y: int, end: float, due: float) -> None:
    """Draw the slack from an end to the time when it is due, or where it should have ended."""
    if end <= due:
        axes.plot([end, due], [y, y], color=style.FAINT, linewidth=0.8, zorder=1)
    colour, order = (style.FAINT, 1) if end <= due else (style.INK, 5)
    axes.plot([due], [y], color=colour, marker="|", markersize=style.points(7), zorder=order)


def _span(
    axes: Axes, y: int, start: float, end: float, colour: str, *, hollow: bool = False, critical: bool = False
) -> None:
    if end <= start:
        return
    edge = style.INK if critical else colour
    face = "white" if hollow else colour
    width = 1.2 if critical else 0.5
    axes.barh(
        y,
        end - start,
        BAR,
        left=start,
        color=face,
        edgecolor=edge,
        linewidth=width,
        zorder=2 + critical,
    )


def _row_of(pieces: pl.DataFrame) -> pl.Series:
    """Return the host in whose row each piece is drawn: of a message the end that has fewer of its stage."""
    sent = pl.len().over("stage", "src")
    received = pl.len().over("stage", "dst")
    row = pl.when(sent <= received).then(pl.col("src")).otherwise(pl.col("dst"))
    return pieces.select(row.alias("row")).to_series()


def _hosts(pieces: pl.DataFrame) -> list[int]:
    """Return the hosts that have a row, those on the critical path first where there are too many."""
    rows = pieces.with_columns(row=_row_of(pieces)) if pieces.height else pieces
    if not rows.height:
        return []
    hosts: list[int] = rows["row"].unique(maintain_order=True).to_list()
    if len(hosts) <= MAX_ROWS:
        return hosts
    critical = set(rows.filter("critical")["row"].to_list())
    return sorted(hosts, key=lambda host: (host not in critical, hosts.index(host)))


def _order(runs: Iterable[Run]) -> list[str]:
    """Return the stages in the order of their first pieces."""
    found: dict[str, None] = {}
    for run in runs:
        assert run.pieces is not None
        first = run.pieces.group_by("class", "stage", maintain_order=True).agg(pl.col("piece").min())
        found.update(dict.fromkeys(first.sort("class", "piece")["stage"].to_list()))
    return list(found)


def _row(run: Run, request: Request) -> pl.DataFrame:
    """Return the row of a request."""
    return run.requests.filter(pl.col("class") == request.of_class, pl.col("request") == request.number)


def _goals(run: Run, request: Request) -> dict[str, float]:
    """Return the allowed time for each goal of a request in ms."""
    row, start = _row(run, request), "within_us:"
    within = {name.removeprefix(start): row[name][0] for name in row.columns if name.startswith(start)}
    return {goal: float(each) / 1000 for goal, each in within.items() if each is not None}
