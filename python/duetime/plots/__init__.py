"""Pictures of results: one file per picture, one line in `PICTURES`."""

import os
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from duetime import files, slowdown
from duetime.plots import deadlines, differences, fct, misses, overview, ports, sizes, style, trace
from duetime.plots.data import NoResults, Results, load
from duetime.plots.live import recorded

__all__ = ["PICTURES", "NoResults", "plot_dir", "plot_trace"]

# File name -> what draws it. It returns None where the folder holds nothing of that kind.
PICTURES: dict[str, Callable[[Results], Figure | None]] = {
    "overview": overview.draw,
    "misses": misses.draw,
    "differences": differences.draw,
    "fct": fct.draw,
    "deadlines": deadlines.draw,
    "slowdown": sizes.draw,
    "ports": ports.draw,
    "trace": trace.draw,
}


def plot_dir(directory: Path, out: Path | None = None) -> list[Path]:
    """Draw every picture that a result folder allows, as PNG and SVG, and its tables; return their paths.

    `directory` is what `duetime run --out` or `duetime compare --out` wrote; the pictures go to `out`,
    or to `plots` inside `directory`. Raises `NoResults` when there is nothing to draw from.
    """
    results = load(Path(directory))
    out = Path(out) if out is not None else Path(directory) / "plots"
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in PICTURES.items():
        with matplotlib.rc_context(style.RC):
            figure = draw(results)
            if figure is not None:
                style.settle(figure)
                written += [save(figure, out / f"{name}.{kind}") for kind in ("png", "svg")]
    if any("slowdown." in path.name for path in written):
        table = slowdown.table({arm.name: arm.counted for arm in results.arms})
        path = out / "slowdown.csv"
        files.write(path, table.write_csv().encode())
        written.append(path)
    return written


def plot_trace(path: Path) -> list[Path]:
    """Draw what `d2tcp trace` recorded in a Parquet file, beside it as PNG and SVG; return their paths.

    Raises `NoResults` when it is no such trace, or an empty one.
    """
    results = recorded(Path(path))
    with matplotlib.rc_context(style.RC):
        figure = trace.draw(results)
        assert figure is not None
        style.settle(figure)
        return [save(figure, path.with_suffix(f".{kind}")) for kind in ("png", "svg")]


def save(figure: Figure, path: Path) -> Path:
    """Write aside and rename: a killed run leaves no half picture."""
    kind = path.suffix[1:]
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    # No date in the SVG: the same results give the same file.
    metadata = {"Date": None} if kind == "svg" else None
    try:
        figure.savefig(aside, format=kind, metadata=metadata)
        aside.replace(path)
    except OSError as error:
        # The library that writes pictures does not say which one failed.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        aside.unlink(missing_ok=True)
    return path
