"""Pictures of results: one file per picture, one line in `PICTURES`."""

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from duetime import files, manifest
from duetime.errors import Missing, NoReport, NoResults, Refused

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    raise Missing("pictures need matplotlib, which is not installed: pip install 'duetime[all]'") from None
from matplotlib.figure import Figure

from duetime import scenario, slowdown
from duetime import transports as selection
from duetime.display.decisions import ANSWERS
from duetime.output import SCREEN, Output
from duetime.plots import (
    charts,
    deadlines,
    differences,
    fct,
    misses,
    overview,
    ports,
    requests,
    robust,
    sizes,
    style,
    timeline,
    trace,
)
from duetime.plots.data import Results, load, variants
from duetime.plots.live import is_recorded, recorded
from duetime.report import READERS
from duetime.report.model import Experiment

__all__ = ["PICTURES", "NoResults", "Picture", "picture", "plot_dir", "plot_trace", "save", "write"]

# File name -> the function that draws it. It returns None where the folder holds nothing of that kind.
PICTURES: dict[str, Callable[[Results], Figure | None]] = {
    "overview": overview.draw,
    "misses": misses.draw,
    "differences": differences.draw,
    "fct": fct.draw,
    "deadlines": deadlines.draw,
    "slowdown": sizes.draw,
    "ports": ports.draw,
    "trace": trace.draw,
    "requests": requests.draw,
    "timeline": timeline.draw,
}


def plot_dir(
    directory: Path, out: Path | None = None, request: str | None = None, output: Output = SCREEN
) -> list[Path]:
    """Draw every picture that a folder allows, as `output` says, and its tables; return their paths.

    `directory` is what a command wrote with ``--out``, or holds traces of ``d2tcp trace``. The pictures are
    written to `out`, or to `plots` inside `directory`. `request`, as CLASS:NUMBER, is the one whose timeline
    is drawn. Raises `NoResults` when there is nothing to draw from.
    """
    directory = Path(directory)
    out = Path(out) if out is not None else directory / "plots"
    if not directory.is_dir():
        raise NoResults(f"{directory}: {_is_not(directory)}")
    with manifest.understood(directory), style.context(output):
        manifest.check_result(directory)
        if (directory / "run.json").exists() or (directory / "compare.json").exists():
            results = _ordered(replace(load(directory), request=request))
            if request is not None and not any(run.pieces is not None for run in results.arms[0].runs):
                raise NoResults(f"{directory}: holds no pieces of requests (`pieces = true` of their class)")
            return _of_runs(results, out)
        found = _of_charts(directory, out) or _of_traces(directory, out)
    if not found:
        raise NoResults(f"{directory}: {_holds_nothing(directory)}")
    return found


def _make(out: Path) -> None:
    """Make the folder of the pictures; `errors.Refused` if its place is wrong."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in files.FULL:
            raise
        raise Refused(f"{out}: cannot be written ({error.strerror})") from error


def _of_runs(results: Results, out: Path) -> list[Path]:
    _make(out)
    written = []
    for name, draw in PICTURES.items():
        figure = draw(results)
        if figure is not None:
            written += write(figure, out / name)
    if any("slowdown." in path.name for path in written):
        table = slowdown.table({arm.name: arm.counted for arm in results.arms}, results.classes)
        path = out / "slowdown.csv"
        files.write(path, table.write_csv().encode())
        written.append(path)
    return written


def _of_charts(directory: Path, out: Path) -> list[Path]:
    """Draw what a report would show: sweeps, searches, variants, estimates, reproduced figures."""
    written = []
    for name, figure in _figures(directory):
        if figure is not None:
            _make(out)
            written += write(figure, out / name)
    return written


def _ordered(results: Results) -> Results:
    """Return results with their transports in the order that was asked for."""
    for name in style.output().order:
        selection.chosen(name, results.names, "the results' transports", "--order")
    arms = {arm.name: arm for arm in results.arms}
    return replace(results, arms=tuple(arms[name] for name in style.in_order(results.names)))


def _figures(directory: Path) -> Iterator[tuple[str, Figure | None]]:
    """Draw each experiment of a folder that has charts; give its name too."""
    for kind in ("swept", "decided", "varied", "estimated", "reproduced"):
        try:
            found = READERS[kind](directory)
        except NoReport as error:
            raise NoResults(str(error)) from None
        for experiment in found:
            name = "sweep" if kind == "swept" else experiment.id.replace("/", "-")
            yield name, _picture(directory, kind, experiment)


def _picture(directory: Path, kind: str, experiment: Experiment) -> Figure | None:
    """Variants have a picture of their own; everything else is charts."""
    return robust.draw(variants(directory)) if kind == "varied" else charts.draw(experiment)


def _of_traces(directory: Path, out: Path) -> list[Path]:
    """Draw each trace of real connections in a folder."""
    traces = [path for path in sorted(directory.glob("*.parquet")) if is_recorded(path)]
    if traces:
        _make(out)
    return [picture for path in traces for picture in plot_trace(path, out, style.output())]


class Picture:
    """A picture that a notebook shows."""

    def __init__(self, figure: Figure) -> None:
        """Create a picture; only `picture` does."""
        #: For changes of one's own.
        self.figure = figure

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it; the format is the ending: png, svg or pdf."""
        return save(self.figure, Path(path))

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.figure.savefig(written, format="png", dpi=100)
        return written.getvalue()


def picture(write: Callable[[Path], object], kind: str | None = None) -> Picture:
    """Draw what `write` puts into a folder; of runs one of `PICTURES`, or the first that is not empty."""
    if kind is not None and kind not in PICTURES:
        raise KeyError(f"there is no picture {kind!r}; there are {', '.join(PICTURES)}")
    with tempfile.TemporaryDirectory(prefix="duetime-") as aside, style.context():
        folder = Path(aside) / "result"
        write(folder)
        if (folder / "run.json").exists() or (folder / "compare.json").exists():
            results = load(folder)
            drawn = (draw(results) for name, draw in PICTURES.items() if kind in (None, name))
        else:
            drawn = (figure for _, figure in _figures(folder))
        figure = next((each for each in drawn if each is not None), None)
        if figure is None:
            raise NoResults(f"the result holds nothing for {'a picture' if kind is None else repr(kind)}")
        style.settle(figure)
        return Picture(figure)


def _is_not(path: Path) -> str:
    """Say what kind of path it is that is no folder, and which command would draw it."""
    if not path.exists():
        return "there is no such folder"
    if path.suffix == ".json":
        return f"is a record; the folder that it lies in can be drawn: duetime plot {path.parent}"
    kind = (
        scenario.kind_of(path.read_text(encoding="utf-8", errors="replace"))
        if path.suffix == ".toml"
        else None
    )
    if kind is not None:
        return f"is {KINDS[kind][0]}, which must be run first: {KINDS[kind][1].format(path)}"
    return "is neither a folder of results nor a Parquet file that `d2tcp trace` wrote"


#: The kind of a file, and the command that runs it into a folder that can be drawn.
KINDS = {
    "scenario": ("a scenario", "duetime run {} --out DIR"),
    "sweep": ("a sweep", "duetime sweep {}"),
    "experiment": ("an experiment", "duetime reproduce ID"),
}


def _holds_nothing(directory: Path) -> str:
    """Say what a folder is that cannot be drawn, and which verb fits."""
    if (directory / "runs").is_dir():
        return "was stopped before its result was written; the command that made it goes on from there"
    kinds = ("run", "compare", "sweep", "robust", "estimate", *ANSWERS)
    marks = [f"{each}.json" for each in kinds]
    inside = sorted({str(path.parent) for mark in marks for path in directory.glob(f"*/**/{mark}")})
    if inside:
        more = f" and {len(inside) - 5} more" if len(inside) > 5 else ""
        return f"holds no result itself, but these do: {', '.join(inside[:5])}{more}"
    return (
        "holds no results; run, compare, sweep, tighten, capacity, need, robust, estimate and reproduce "
        "write them with --out, and `d2tcp trace --out FILE` writes traces"
    )


def write(figure: Figure, path: Path) -> list[Path]:
    """Save a picture in every format that was asked for; return their paths."""
    style.settle(figure)
    return [save(figure, path.with_name(f"{path.name}.{kind}")) for kind in style.output().formats]


def plot_trace(path: Path, out: Path | None = None, output: Output = SCREEN) -> list[Path]:
    """Draw what `d2tcp trace` recorded in a Parquet file, in `out` or beside it; return the pictures' paths.

    Raises `NoResults` when it is no such trace, or an empty one.
    """
    path = Path(path)
    results = recorded(path)
    with style.context(output):
        figure = trace.draw(results)
        assert figure is not None
        if out is not None:
            _make(out)
        return write(figure, (out or path.parent) / path.stem)


def save(figure: Figure, path: Path) -> Path:
    """Write aside and rename: a killed run leaves no half picture."""
    kind = path.suffix[1:]
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    # No date: the same results give the same file.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}}.get(kind)
    try:
        figure.savefig(aside, format=kind, metadata=metadata)
        aside.replace(path)
    except OSError as error:
        # The library that writes pictures does not say which one failed.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        aside.unlink(missing_ok=True)
    return path
