"""Every picture, for every kind of result folder, is drawn, has a sane size and shows something."""

import json
import runpy
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib import image
from matplotlib.figure import Figure

import synthetic
from conftest import SCENARIOS
from duetime import statistics
from duetime.plots import (
    PICTURES,
    NoResults,
    charts,
    fct,
    measures,
    misses,
    plot_dir,
    plot_trace,
    settings,
    style,
    trace,
)
from duetime.plots.data import load
from duetime.plots.live import recorded
from duetime.report.model import Axis, Chart, Experiment, Point, Series
from duetime.report.page import COLOURS

ALWAYS = {"misses", "fct", "deadlines", "ports"}
DEADLINES = {"misses", "deadlines"}
FOLDERS: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "one run": (synthetic.run, ALWAYS),
    "traced": (lambda at: synthetic.run(at, traced=4), ALWAYS | {"trace"}),
    "a crowd": (lambda at: synthetic.run(at, traced=120, queries=3), ALWAYS | {"trace"}),
    "five classes": (lambda at: synthetic.run(at, classes=list("abcde")), ALWAYS),
    "fourteen classes": (lambda at: synthetic.run(at, classes=list("abcdefghijklmn"), queries=3), ALWAYS),
    "no deadlines": (lambda at: synthetic.run(at, deadlines=False), ALWAYS - DEADLINES),
    "a comparison": (lambda at: synthetic.compare(at, traced=3), ALWAYS | {"overview", "trace"}),
    "several seeds": (
        lambda at: synthetic.compare(at, ("cubic", "dctcp", "d2tcp"), seeds=3, classes=("a", "b")),
        ALWAYS | {"overview", "differences"},
    ),
    "a comparison without deadlines": (
        lambda at: synthetic.compare(at, deadlines=False),
        ALWAYS - DEADLINES | {"overview"},
    ),
    "several sizes": (
        lambda at: synthetic.compare(at, seeds=3, sizes=(2_000, 20_000, 300_000, 5_000_000)),
        ALWAYS | {"overview", "differences", "slowdown"},
    ),
    "an unknown transport": (lambda at: synthetic.compare(at, ("d2tcp", "mine")), ALWAYS | {"overview"}),
    "nothing happened": (synthetic.empty, ALWAYS - DEADLINES | {"trace"}),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_every_picture_is_drawn(name: str, tmp_path: Path) -> None:
    make, expected = FOLDERS[name]
    folder = make(tmp_path / "out")
    written = plot_dir(folder)
    assert {path.stem for path in written} == expected
    assert sorted(path.name for path in (folder / "plots").iterdir()) == sorted(path.name for path in written)
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
            continue
        if path.suffix == ".csv":
            assert path.read_text().startswith("transport,class,bytes,up_to,messages,p50,p99\n")
            continue
        pixels = image.imread(path)[:, :, :3]
        height, width, _ = pixels.shape
        assert 600 <= width <= 2600
        assert 400 <= height <= 2600
        # The title alone is not a picture: the lower part is not empty either.
        assert np.ptp(pixels[height // 4 :]) > 0.5


def test_every_listed_picture_is_covered() -> None:
    # `test_requests.py` draws the pictures of requests.
    of_requests = {"requests", "timeline"}
    assert set().union(*(expected for _, expected in FOLDERS.values())) == set(PICTURES) - of_requests


def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out")
    first = {path.name: path.read_bytes() for path in plot_dir(folder, tmp_path / "first")}
    second = {path.name: path.read_bytes() for path in plot_dir(folder, tmp_path / "second")}
    assert first == second


@pytest.mark.parametrize("missing", ["run.json", "flows.parquet", "links.parquet"])
def test_what_is_not_a_result_is_said(missing: str, tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out")
    (folder / "tcp" / missing).unlink()
    with pytest.raises(NoResults, match=missing):
        plot_dir(folder)


def real_trace(path: Path, connections: int) -> Path:
    """Write a file as `d2tcp trace` does for these connections of one server."""
    rows = [
        {
            "time_s": 0.01 * step,
            "what": what,
            "class": "d2tcp",
            "src": 0,
            "dst": 1 + peer,
            "message": peer,
            "link": None,
            "value": value,
            "src_address": "10.0.0.1:80",
            "dst_address": f"10.0.1.{peer}:{4000 + peer}",
        }
        for peer in range(connections)
        for step in range(20)
        for what, value in [("cwnd", 10.0 + peer + step), ("alpha", 0.5), ("d", 1.0), ("srtt", 90.0)]
    ]
    schema = {"time_s": pl.Float64, "src": pl.UInt32, "dst": pl.UInt32, "link": pl.String}
    pl.DataFrame(rows, schema_overrides=schema).write_parquet(path)
    return path


@pytest.mark.parametrize("connections", [1, 3, 40])
def test_a_trace_of_real_connections_is_drawn_with_their_ends(connections: int, tmp_path: Path) -> None:
    path = real_trace(tmp_path / "web.parquet", connections)
    pictures = plot_trace(path)
    assert [picture.name for picture in pictures] == ["web.png", "web.svg"]
    text = (tmp_path / "web.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml")
    results = recorded(path)
    assert results.arms[0].runs[0].between(0, 1) == "10.0.0.1:80 to 10.0.1.0:4000"


def test_what_is_no_trace_is_said(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pl.DataFrame({"time_s": [1.0], "value": [2.0]}).write_parquet(other)
    with pytest.raises(NoResults, match=r"no trace of d2tcp: its columns .*src_address"):
        plot_trace(other)
    with pytest.raises(NoResults, match="cannot be read"):
        plot_trace(tmp_path / "missing.parquet")
    empty = real_trace(tmp_path / "empty.parquet", 1)
    pl.read_parquet(empty).clear().write_parquet(empty)
    with pytest.raises(NoResults, match="no samples"):
        plot_trace(empty)


def test_a_folder_without_results_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoResults, match="holds no results; run, compare, sweep"):
        plot_dir(tmp_path)
    (tmp_path / "run.json").write_text("{")
    for name in ("flows", "links"):
        (tmp_path / f"{name}.parquet").write_bytes(b"PAR1")
    with pytest.raises(NoResults, match="not JSON"):
        plot_dir(tmp_path)
    shutil.copy(synthetic.run(tmp_path / "good") / "run.json", tmp_path)
    with pytest.raises(NoResults, match="cannot be read"):
        plot_dir(tmp_path)


def test_numbers_are_those_of_the_report(tmp_path: Path) -> None:
    folder = synthetic.run(tmp_path / "out", classes=("a", "b"))
    about = json.loads((folder / "run.json").read_text())
    about["classes"]["a"]["missed_percent"] = 12.5
    about["classes"]["b"]["missed_percent"] = None
    (folder / "run.json").write_text(json.dumps(about))
    (arm,) = load(folder).arms
    assert measures.missed_percent(arm, "a") == measures.Estimate(12.5)
    assert measures.missed_percent(arm, "b") is None
    assert measures.missed_percent(arm, "no such class") is None


def test_the_bound_is_a_line_that_is_never_above_the_lowest_run(tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out", classes=("a", "b", "c"))
    about = json.loads((folder / "dctcp" / "run.json").read_text())
    about["bound"]["classes"]["a"]["missed_percent"] = 3.5
    (folder / "dctcp" / "run.json").write_text(json.dumps(about))
    results = load(folder)
    assert measures.min_missed_percent(results.arms, "a") == measures.Estimate(3.5)
    assert measures.min_missed_percent(results.arms, "c") == measures.Estimate(0.0)
    assert measures.min_missed_percent(results.arms, None) == measures.Estimate(1.5)
    assert measures.min_missed_percent(results.arms, "no such class") is None
    axes = Figure().subplots()
    misses.bars_by_class(axes, results)
    # Nothing is drawn of a bound of nothing.
    levels = [line.get_ydata()[0] for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert levels == [3.5, 8.0]
    assert [text.get_text() for text in axes.texts if "bound" in text.get_text()] == [
        "bound 3.5",
        "bound 8.0",
    ]


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what each run of a comparison of several seeds says of itself."""
    for path in sorted(folder.rglob("run.json")):
        about = json.loads(path.read_text())
        change(about)
        path.write_text(json.dumps(about))


def test_whiskers_are_the_intervals_of_the_tables(tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out", seeds=3)

    def small(about: dict[str, Any]) -> None:
        about["classes"]["answers"]["missed_percent"] = {1: 0.1, 2: 0.2, 3: 0.9}[about["seed"]]
        about["summary"]["goodput_mbps"] = float(about["seed"])

    rewrite(folder, small)
    arm = load(folder).arms[0]
    share = measures.missed_percent(arm, "answers")
    assert share is not None
    assert share == measures.Estimate(*[pytest.approx(each) for each in (0.4, *of_share([0.1, 0.2, 0.9]))])
    # It leans to the side with more room, and does not extend below zero.
    assert share.low is not None
    assert share.high is not None
    assert share.low >= 0
    assert share.high - share.mean > 2 * (share.mean - share.low)
    axes = Figure().subplots()
    misses.bar(axes, 0, 1, style.Look("black"), share)
    (whisker,) = axes.collections[0].get_segments()
    assert whisker[:, 1].tolist() == pytest.approx([share.low, share.high])
    # A figure that is no share has Student's interval.
    goodput = measures.reported(arm, "summary", "goodput_mbps")
    assert goodput is not None
    assert (goodput.mean, goodput.high) == (2.0, pytest.approx(2 + 4.30265 / 3**0.5))


def of_share(percents: list[float]) -> list[float]:
    found = statistics.share(percents)
    assert found is not None
    ends: list[float] = found["ci95"]
    return ends


def test_nothing_seen_is_not_nothing_to_be_seen(tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out", seeds=3)

    def none(about: dict[str, Any]) -> None:
        about["classes"]["answers"] |= {"missed_percent": 0.0, "with_deadline": 900, "queries": 100}

    rewrite(folder, none)
    arm = load(folder).arms[0]
    # Rule of three, of 300 queries; the seeds differ in other things.
    assert measures.missed_percent(arm, "answers") == measures.Estimate(
        0.0, 0.0, pytest.approx(0.9936, abs=1e-4)
    )
    # Where every seed gives the same there is no interval.
    rewrite(folder, lambda about: about.update(summary={}, classes={"answers": {"missed_percent": 7.0}}))
    rewrite(folder, lambda about: about.update(seed=about["seed"], scenario={"run": {"seed": about["seed"]}}))
    assert measures.missed_percent(load(folder).arms[0], "answers") == measures.Estimate(7.0)


def test_thresholds_that_were_asked_for_are_lines(tmp_path: Path) -> None:
    folder = synthetic.compare(tmp_path / "out", classes=("a", "b"))
    record = json.loads((folder / "compare.json").read_text())
    told = {"transport": "d2tcp", "value": 1.0, "ci95": [None, None], "failed": True}
    record["limits"] = [
        {
            "condition": "b.missed_percent > 30",
            "class": "b",
            "figure": "missed_percent",
            "threshold": 30.0,
            **told,
        },
        {
            "condition": "missed_percent > 40",
            "class": None,
            "figure": "missed_percent",
            "threshold": 40.0,
            **told,
        },
        {"condition": "a.fct_us.p99 > 50 ms", "class": "a", "figure": "fct_us.p99", "threshold": 5e4, **told},
    ]
    (folder / "compare.json").write_text(json.dumps(record))
    results = load(folder)
    axes = Figure().subplots()
    misses.bars_by_class(axes, results)
    lines = {
        line.get_ydata()[0]: list(line.get_xdata())
        for line in axes.get_lines()
        if line.get_linewidth() == style.THRESHOLD["linewidth"]
    }
    assert lines == {30.0: [0.5, 1.5], 40.0: [-0.6, 1.6]}, "over the second class, and over all"
    assert axes.get_ylim()[1] > 40
    for name, expected in (("a", [[5e4, 5e4]]), ("b", [])):
        axes = Figure().subplots()
        fct.curves(axes, results, name)
        drawn = [line for line in axes.get_lines() if line.get_linewidth() == style.THRESHOLD["linewidth"]]
        assert [list(line.get_xdata()) for line in drawn if len(line.get_xdata()) == 2] == expected
        assert all(list(line.get_ydata()) == [0, 99] for line in drawn if len(line.get_xdata()) == 2)


def test_unfinished_messages_keep_a_distribution_below_100_percent() -> None:
    x, y = measures.cdf(np.arange(1.0, 10_001.0), total=20_000)
    assert len(x) < 2000
    assert (x[-1], y[-1]) == (10_000.0, 50.0)
    assert np.all(np.diff(y) >= 0)


def test_what_is_unfinished_is_a_share_when_transports_differ() -> None:
    assert fct.unfinished_share(1200, [6.0]) == "1\N{THIN SPACE}200 messages"
    assert fct.unfinished_share(3, [4.0, 5.8, 4.0]) == "4.0 to 5.8 %"
    assert fct.unfinished_share(3, [4.0, 4.0]) == "4.0 %"


def test_small_percentages_have_ticks_that_differ() -> None:
    for high in (1, 2.5, 4, 12, 103):
        axes = Figure().subplots()
        style.percent(axes, "deadlines missed", 0, high)
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert len(labels) == len(set(labels)), labels


def test_panels_side_by_side_share_their_axis() -> None:
    def panels(*values: float) -> list[float]:
        row = list(Figure().subplots(1, len(values), squeeze=False)[0])
        frames = [pl.DataFrame({"what": ["cwnd"] * 2, "value": [0.0, value]}) for value in values]
        for axes, frame in zip(row, frames, strict=True):
            axes.plot(frame["value"])
        trace.finish_row(row, "cwnd", frames, crowded=False)
        return [round(axes.get_ylim()[1] / value, 2) for axes, value in zip(row, values, strict=True)]

    assert panels(500, 5) == [1.05, 105.0]
    assert panels(500, 250) == [1.05, 2.1]


@pytest.mark.parametrize(
    ("signed", "y", "low", "below"),
    [(False, 5.0, -3.0, False), (True, 5.0, -3.0, True), (False, -1.0, -3.0, True)],
)
def test_only_what_may_be_negative_is_drawn_below_zero(
    signed: bool, y: float, low: float, below: bool
) -> None:
    points = (Point(1.0, y, low, 9.0), Point(2.0, 4.0, 3.0, 9.0))
    axis = Axis("completion time", "ms", signed=signed)
    chart = Chart("", "line", Axis("K"), axis, (Series("dctcp", points),))
    figure = charts.draw(Experiment("sweep", "Sweep", charts=(chart,)))
    assert figure is not None
    bottom, top = figure.axes[0].get_ylim()
    assert (bottom < -3) == below
    assert below or bottom == 0
    assert top >= 9.4


@pytest.mark.parametrize(
    ("mark", "label"),
    [("65 packets", "K = 65"), ("1000 packets", "K = 1,000"), ("100 KB", "K = 66.7")],
)
def test_thresholds_are_written_out(mark: str, label: str) -> None:
    axes = Figure().subplots()
    axes.set_ylim(0, 2000)
    about: Any = {"scenario": {"network": {"mark": mark}}}
    settings.lines(axes, about, ["switch -> host 4"], across="x")
    assert [line.get_label() for line in axes.get_lines()] == [label]


def test_no_two_transports_look_alike() -> None:
    names = [*style.TRANSPORTS, *(f"new-{i}" for i in range(12))]
    looks = style.looks(names)
    assert len(set(looks.values())) == len(names)
    # A variant's bars have a colour of their own, also without dashes.
    variants = style.looks(["dctcp", "d2tcp", "d2tcp:d_cap=4", "mine"])
    assert len({look.colour for look in variants.values()}) == len(variants)
    # Those with a fixed look by colour alone, too.
    colours = [look.colour for look in style.TRANSPORTS.values()]
    assert len(set(colours)) == len(colours)


def test_figures_reports_and_the_playground_have_one_palette(monkeypatch: pytest.MonkeyPatch) -> None:
    """`palette.json` is what the playground is built with; a colour is changed there and in `style` alike."""
    palette = json.loads(Path(style.__file__).parents[1].joinpath("palette.json").read_text())
    drawn = {name: look.colour.lower() for name, look in style.TRANSPORTS.items()}
    assert {name: colours["day"] for name, colours in palette.items()} == drawn
    night = {name: COLOURS[look.colour].lower() for name, look in style.TRANSPORTS.items()}
    assert {name: colours["night"] for name, colours in palette.items()} == night
    playground = SCENARIOS.parent / "playground"
    monkeypatch.syspath_prepend(playground)
    light, dark = runpy.run_path(str(playground / "build.py"))["transports"]().splitlines()
    assert all(f"--of-{name}: {colour};" in light for name, colour in drawn.items())
    assert all(f"--of-{name}: {colour};" in dark for name, colour in night.items())


def test_no_two_transports_have_one_hatch_or_line() -> None:
    """In grey, bars differ by their hatch, lines by dashes and markers."""
    looks = [look for name, look in style.TRANSPORTS.items() if name != "bound"]
    assert len({look.hatch for look in looks}) == len(looks)
    assert len({(look.dash, look.marker) for look in style.TRANSPORTS.values()}) == len(style.TRANSPORTS)


@pytest.mark.parametrize(("low", "high"), [(90.0, 110.0), (1e3, 7e4), (30.0, 2e7), (1e-3, 1e9)])
def test_log_axes_have_a_readable_number_of_ticks(low: float, high: float) -> None:
    ticks = style.log_ticks(low, high)
    assert 3 <= len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)


def test_times_are_written_in_the_unit_that_reads_best() -> None:
    assert [style.span(us) for us in (0.5, 20, 1500, 999.9, 2.5e6)] == [
        "500 ns",
        "20 us",
        "1.5 ms",
        "1 ms",
        "2.5 s",
    ]
