"""Figures as papers take them: their width, their fonts, and the differences of transports in grey."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from matplotlib.figure import Figure
from PIL import Image

import synthetic
from conftest import Command
from duetime import errors
from duetime.experiments import experiment, figures
from duetime.experiments.experiment import Coordinate
from duetime.output import Output
from duetime.plots import charts, plot_dir, style
from duetime.report.model import Axis, Chart, Experiment, Point, Series

PAPER = Output(formats=("pdf", "png", "svg"), width=3.3, title=False, paper=True)
#: Points of an inch in PDF.
INCH = 72


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of several transports, seeds, classes and sizes."""
    at = tmp_path_factory.mktemp("paper") / "out"
    sizes = (2_000, 20_000, 300_000, 5_000_000)
    return synthetic.compare(at, ("tcp", "dctcp", "d2tcp"), seeds=3, classes=("short", "long"), sizes=sizes)


def widths(pdf: bytes) -> list[float]:
    boxes = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) [\d.]+ ?\]", pdf)
    return [float(width) / INCH for width in boxes]


@pytest.mark.parametrize("font", ["sans", "serif"])
def test_paper_is_one_column_with_embedded_fonts(folder: Path, tmp_path: Path, font: str) -> None:
    output = Output(("pdf", "png"), 3.3, title=False, paper=True, serif=font == "serif")
    written = plot_dir(folder, tmp_path, output=output)
    pdfs = [path for path in written if path.suffix == ".pdf"]
    assert {path.stem for path in pdfs} >= {"overview", "misses", "fct", "slowdown", "ports", "differences"}
    for path in pdfs:
        content = path.read_bytes()
        assert widths(content) == [pytest.approx(3.3, abs=0.01)], path.name
        # TrueType outlines in the file, and no Type 3 that publishers refuse.
        assert b"/FontFile2" in content, path.name
        assert b"/Type3" not in content, path.name
        assert (b"STIXGeneral" in content) == (font == "serif"), path.name
        assert b"CreationDate" not in content
    for path in written:
        if path.suffix == ".png":
            assert image.imread(path).shape[1] == pytest.approx(3.3 * 300, abs=1)
    assert not [path for path in written if path.suffix == ".svg"]


def test_svg_on_paper_brings_its_letters(folder: Path, tmp_path: Path) -> None:
    (path, *_) = plot_dir(folder, tmp_path, output=Output(("svg",), 3.3, title=False, paper=True))
    root = ElementTree.parse(path).getroot()
    assert float(root.attrib["width"].removesuffix("pt")) / INCH == pytest.approx(3.3, abs=0.01)
    assert not [element for element in root.iter() if element.tag.endswith("}text")]


def test_the_command_takes_the_form(duetime: Command, folder: Path, tmp_path: Path) -> None:
    form = ("--format", "pdf", "--style", "paper", "--font", "serif", "--width", "8.4cm", "--no-title")
    done = duetime("plot", folder, "-o", "figures", *form)
    assert done.returncode == 0, done.stderr
    pdfs = sorted((tmp_path / "figures").glob("*.pdf"))
    assert [f"figures/{path.name}" for path in pdfs] == sorted(
        line for line in done.stdout.splitlines() if line.endswith(".pdf")
    )
    assert {round(width, 2) for path in pdfs for width in widths(path.read_bytes())} == {3.31}
    assert not list((tmp_path / "figures").glob("*.png"))


def test_two_columns_have_panels_side_by_side(folder: Path, tmp_path: Path) -> None:
    def shape(width: float) -> tuple[int, ...]:
        output = Output(("png",), width, title=False, paper=True)
        plot_dir(folder, tmp_path / str(width), output=output)
        found: tuple[int, ...] = image.imread(tmp_path / str(width) / "slowdown.png").shape
        return found

    one, two = shape(3.3), shape(7.0)
    assert two[1] / one[1] == pytest.approx(7.0 / 3.3, abs=0.01)
    # The panels are the same, in two rows instead of four.
    assert two[0] < 0.7 * one[0]


def test_a_headline_is_there_only_where_it_is_wanted() -> None:
    def texts(output: Output) -> list[str]:
        with style.context(output):
            figure = style.figure("A title", "and more", 8.0, 4.0)
        return [text.get_text() for text in figure.texts]

    assert texts(Output()) == ["A title", "and more"]
    assert texts(PAPER) == []
    long = Output(width=3.3, paper=True)
    assert texts(long)[0] == "A title"
    with style.context(long):
        figure = style.figure("A title " * 20, "", 8.0, 4.0)
    assert figure.texts[0].get_text().endswith("\u2026")


def test_transports_can_be_told_apart_in_grey(folder: Path, tmp_path: Path) -> None:
    """The bars of a picture in grey: two plain ones of like brightness would look the same."""
    plot_dir(folder, tmp_path, output=Output(("png",), 3.3, title=False, paper=True))
    grey = np.asarray(Image.open(tmp_path / "misses.png").convert("L"), dtype=float)
    # Look along a line through the middle of the bars.
    columns = grey[int(0.55 * grey.shape[0]) :, :]
    dark = np.where((columns < 200).mean(axis=0) > 0.2)[0]
    groups = [group for group in np.split(dark, np.where(np.diff(dark) > 6)[0] + 1) if len(group) > 20]
    assert len(groups) >= 3
    looks = {round(float(columns[:, group].std())) for group in groups[:3]}
    with style.context(PAPER):
        hatches = [look.fill().get("hatch", "") for look in style.looks(["tcp", "dctcp", "d2tcp"]).values()]
        marks = [look.along(0)["marker"] for look in style.looks(["tcp", "dctcp", "d2tcp"]).values()]
    assert len(looks) > 1, "hatches show"
    assert len(set(hatches)) == len(set(marks)) == 3
    # On a screen colours do.
    assert "hatch" not in style.TRANSPORTS["dctcp"].fill()


@pytest.mark.parametrize("order", [("d2tcp", "tcp"), ("dctcp",), ()])
def test_transports_are_in_the_order_that_was_asked_for(order: tuple[str, ...]) -> None:
    series = tuple(Series(name, (Point("a", 1.0),)) for name in ("tcp", "dctcp", "d2tcp"))
    chart = Chart("", "bar", Axis("class"), Axis("missed", "%"), series)
    with style.context(Output(order=order)):
        figure = charts.draw(Experiment("sweep", "Sweep", charts=(chart,)))
    assert figure is not None
    (legend,) = figure.legends
    rest = [name for name in ("tcp", "dctcp", "d2tcp") if name not in order]
    assert [text.get_text() for text in legend.get_texts()] == [*order, *rest]
    lefts = [bars.patches[0].get_x() for bars in figure.axes[0].containers]
    assert lefts == sorted(lefts)


def test_numbers_are_places_on_an_axis_and_far_ones_on_a_logarithmic_axis() -> None:
    def scale(*places: float) -> tuple[str, list[float]]:
        points = tuple(Point(place, 1.0) for place in places)
        chart = Chart("", "line", Axis("network.buffer", "KB"), Axis("y"), (Series("tcp", points),))
        figure = charts.draw(Experiment("sweep", "Sweep", charts=(chart,)))
        assert figure is not None
        (line,) = figure.axes[0].get_lines()
        return figure.axes[0].get_xscale(), [float(each) for each in line.get_xdata()]

    assert scale(10, 20, 50, 90) == ("linear", [10, 20, 50, 90])
    assert scale(1, 10, 100, 1000) == ("log", [1, 10, 100, 1000])


def inside(figure: Figure) -> bool:
    """Return whether every marker of a published value is within its panel."""
    style.settle(figure)
    for axes in figure.axes:
        low, high = axes.get_ylim()
        left, right = axes.get_xlim()
        for line in axes.get_lines():
            if line.get_markerfacecolor() != "white":
                continue
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
                if not (left <= float(x) <= right and low <= float(y) <= high):
                    return False
    return True


@pytest.mark.parametrize("kind", ["bar", "line"])
@pytest.mark.parametrize("stated", [0.5, 12.0, 39.0])
def test_published_values_are_inside_their_panel(kind: str, stated: float) -> None:
    published = (Point("b" if kind == "bar" else 2.0, stated),)
    places: tuple[str | float, ...] = ("a", "b") if kind == "bar" else (1.0, 2.0)
    series = Series("tcp", tuple(Point(place, 10.0) for place in places), published)
    chart = Chart("", kind, Axis("x"), Axis("y"), (series,))  # type: ignore[arg-type]
    figure = charts.draw(Experiment("sweep", "Sweep", charts=(chart,)))
    assert figure is not None
    assert inside(figure)


def test_an_order_names_transports_of_the_results(tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out", ("d2tcp", "dctcp"))
    with pytest.raises(errors.Unreadable, match=r"--order d2tp: .*did you mean d2tcp"):
        plot_dir(folder, output=Output(order=("dctcp", "d2tp")))
    assert not (folder / "plots").exists()
    assert plot_dir(folder, output=Output(order=("dctcp",)))


@pytest.mark.parametrize("form", [Output(), PAPER])
@pytest.mark.parametrize("kind", ["bar", "line"])
def test_published_values_of_experiments_are_inside_their_panel(form: Output, kind: str) -> None:
    """As in the second figure of d2tcp/fig06: deadlines far above the bars, of the last group the highest."""
    rows = [
        {"flow": flow, "rate": rate, "transport": name, "ms": 1000.0 + 400 * number}
        for rate in (4.2, 10.0)
        for number, flow in enumerate(("flow 0", "flow 1", "flow 2"))
        for name in ("dctcp", "d2tcp")
    ]
    points = [
        experiment.Point(flow, 1000.0 + 1500 * number, name)
        for number, flow in enumerate(("flow 0", "flow 1", "flow 2"))
        for name in ("dctcp", "d2tcp")
    ]
    drawn = [
        experiment.Chart(
            title=f"{rate} Gbps",
            x=Coordinate("flow", "flow"),
            y=Coordinate("ms", "completion time", "ms"),
            series="transport",
            kind=kind,  # type: ignore[arg-type]
            where={"rate": rate},
            published=points,
        )
        for rate in (4.2, 10.0)
    ]
    with style.context(form):
        figure = figures.draw(drawn, rows, "Four flows", "")
        assert len(figure.axes) == 2
        for axes in figure.axes:
            style_of = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
            assert len(style_of) == len(points)
            low, high = axes.get_ylim()
            assert all(low <= float(y) <= high for line in style_of for y in line.get_ydata())
