"""The report: what it says, and how it behaves in a browser (Chromium, where there is one)."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import duetime
import reproduced
import synthetic
from conftest import Command
from duetime.report import NoReport, experiments, page, report
from duetime.report.model import Axis, Chart, Point, Series
from duetime.report.reproduced import chart

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = (
    "</script><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">&amp;'\"--><!--"
)
# The highest number at the first chart's vertical axis.
HIGHEST = """Math.max(...[...document.querySelector('.plot').querySelectorAll(
    '[aria-label="y-axis tick label"] text')].map(text => Number(text.textContent)))"""
# The lowest; its sign is a minus, not a hyphen.
LOWEST = HIGHEST.replace("max", "min").replace("textContent", r"textContent.replace('\u2212', '-')")
# Of every chart, each mark: of which series, as what, of how many shapes.
MARKS = """[...document.querySelectorAll('figure.chart')].map(figure =>
    [...figure.querySelectorAll('.plot [data-series]')].map(({dataset, children}) =>
        [dataset.series, dataset.part, [...children].filter(one => one.tagName !== 'marker').length]))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        # A machine that must have one says so, lest these tests vanish unseen.
        assert not os.environ.get("DUETIME_NEEDS_CHROMIUM"), "no Chromium was found"
        pytest.skip("no Chromium on this machine: the report is not tested in a browser")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()


class Opened:
    """A report in the browser, with what it asked for and what it complained of."""

    def __init__(self, browser: Browser, file: Path, width: int = 1280, scheme: str = "light") -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri())
        # Drawing is done by an observer, after the first layout.
        expect(self.page.locator(".plot > svg")).to_have_count(self.page.locator(".plot").count())


@pytest.fixture
def several(tmp_path: Path) -> Path:
    return report(reproduced.several(tmp_path / "out"))


def test_it_opens_from_disk_alone_and_draws_every_chart(browser: Browser, several: Path) -> None:
    opened = Opened(browser, several)
    assert opened.requests == [several.as_uri()]
    assert opened.complaints == []
    drawn = opened.page.evaluate(MARKS)
    lines, bars, points = [[tuple(mark) for mark in marks] for marks in drawn]
    assert {name for name, *_ in lines} == set(reproduced.AT_MOST)
    assert ("tcp", "line", 1) in lines
    assert ("tcp", "dot", len(reproduced.FAN_INS)) in lines
    assert ("dctcp", "published", 1) in lines
    # An interval of no width is not drawn: the bound is sure.
    assert "bound" not in {name for name, part, _ in lines if part == "interval"}
    assert {name for name, part, _ in bars if part == "bar"} == {"dctcp", "d3", "d2tcp"}
    assert {name for name, part, _ in points if part == "dot"} == {"1 Gbps", "10 Gbps"}
    path = opened.page.locator("[data-series=tcp][data-part=line] path").first.get_attribute("d")
    assert path is not None
    assert len(re.findall(r"L", path)) == len(reproduced.FAN_INS) - 1


def test_a_transport_can_be_hidden_and_shown_again(browser: Browser, several: Path) -> None:
    page = Opened(browser, several).page
    figure = page.locator("figure.chart").first
    button = figure.get_by_role("button", name="tcp", exact=True)
    before = page.evaluate(HIGHEST)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.locator(".plot [data-series=tcp]").count() == 0
    assert figure.locator(".plot [data-series=dctcp]").count() > 0
    assert page.evaluate(HIGHEST) < before
    button.click()
    assert figure.locator(".plot [data-series=tcp]").count() > 0
    for name in reproduced.AT_MOST:
        figure.get_by_role("button", name=name, exact=True).click()
    assert figure.locator(".plot [data-series]").count() == 0


def test_the_pointer_and_the_keys_read_values_with_their_intervals(browser: Browser, several: Path) -> None:
    page = Opened(browser, several).page
    figure = page.locator("figure.chart").first
    plot, tip = figure.locator(".plot"), figure.locator(".tip")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 100)
    text = tip.inner_text()
    assert "fan-in: 40" in text
    assert re.search(r"dctcp\s+24\.5 % 22\.54 to 26\.46; published around 25 %", text)
    page.mouse.move(5, 5)
    assert tip.is_hidden()
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "fan-in: 10" in tip.inner_text()
    page.keyboard.press("End")
    assert "fan-in: 40" in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    bars = page.locator("figure.chart").nth(1)
    bars.locator(".plot").focus()
    page.keyboard.press("End")
    assert re.search(r"99th\s+dctcp\s+108 % 105 to 111", bars.locator(".tip").inner_text())


def test_many_bars_lie_on_their_side(browser: Browser, tmp_path: Path) -> None:
    rows = [
        {"percentile": f"change {n}", "transport": transport, "latency": n, "low": n - 9, "high": n + 1}
        for n in range(1, 27)
        for transport in ("dctcp", "d3", "d2tcp")
    ]
    folder = tmp_path / "out"
    reproduced.experiment(folder, charts=[reproduced.bars()], rows=rows, claims=[])
    page = Opened(browser, report(folder)).page
    words = page.locator(".plot text")
    boxes = [
        words.nth(n).bounding_box() for n in range(words.count()) if "change" in words.nth(n).inner_html()
    ]
    assert len(boxes) == 26
    assert len({round(box["y"]) for box in boxes if box is not None}) == 26
    bars = page.locator(".plot [data-series=d3][data-part=bar] rect")
    first, last = (bars.nth(n).bounding_box() for n in (0, 25))
    assert first is not None
    assert last is not None
    assert last["width"] == pytest.approx(26 * first["width"], rel=0.05)
    page.locator(".plot").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    # The interval is told as it is, also where the axis cuts it.
    assert re.search(r"change 2\s.*d3\s+2 % -7 to 3", page.locator(".tip").inner_text(), re.DOTALL)
    bars.nth(25).scroll_into_view_if_needed()
    bars.nth(25).hover()
    assert "change 26" in page.locator(".tip").inner_text()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_fits(browser: Browser, tmp_path: Path, width: int) -> None:
    folder = reproduced.several(tmp_path / "out")
    long = "x" * 150
    places = [
        {"size": "a very long word " * 3 + str(n), "kind": f"{long}{n % 2}", "gain": n} for n in range(20)
    ]
    reproduced.experiment(
        folder,
        f"long/{long}",
        title=long,
        charts=[{**reproduced.POINTS, "kind": "bar"}],
        rows=places,
        claims=[],
    )
    page = Opened(browser, report(folder), width).page
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(browser: Browser, several: Path, scheme: str) -> None:
    page = Opened(browser, several, scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    page.locator("figure.chart .plot").first.focus()
    page.keyboard.press("ArrowRight")
    found = page.evaluate((Path(__file__).with_name("contrast.js")).read_text())
    assert found["faint"] == []
    assert found["seen"] > 100
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark is (scheme == "dark")


def test_it_prints_on_white_without_controls(browser: Browser, several: Path) -> None:
    page = Opened(browser, several, scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav.side").is_hidden()


def test_no_text_can_act(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    rows = [{**row, "transport": HOSTILE} for row in reproduced.rows()]
    drawn = {
        **reproduced.CHART,
        "title": HOSTILE,
        "x": {"column": "fan_in", "label": HOSTILE},
        "published": [],
    }
    reproduced.experiment(
        folder,
        title=HOSTILE,
        source=HOSTILE,
        question=HOSTILE,
        scenario=HOSTILE,
        notes=[HOSTILE],
        parameters={HOSTILE: HOSTILE},
        versions={HOSTILE: HOSTILE},
        seeds=[HOSTILE],
        charts=[drawn],
        rows=rows,
        claims=[
            {"claim": HOSTILE, "published": HOSTILE, "measured": [HOSTILE], "holds": False, "why": HOSTILE}
        ],
    )
    opened = Opened(browser, report(folder))
    page = opened.page
    page.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    assert page.title() == "Reproduced experiments · duetime"
    assert opened.complaints == []
    assert page.locator("img").count() == 0
    assert page.locator("h2", has_text="onerror").inner_text().endswith(HOSTILE)
    assert HOSTILE in page.locator(".legend button").inner_text()
    assert HOSTILE in page.locator(".tip").inner_text()
    page.locator("details.how summary").click()
    assert page.locator("pre").inner_text() == HOSTILE


def test_it_says_which_claims_hold(several: Path) -> None:
    text = several.read_text(encoding="utf-8")
    assert "Results of 4 experiments: 6 distinct claims judged; set-up checks" in text
    assert text.count("Every miss is a loss with a timeout") == 4
    assert "published 7 %, measured 23.8 % (22.1 to 25.5)." in text
    assert "real: 15.2, sim: 13" in text
    assert "<dt>traffic.answers.leaves</dt><dd>40</dd>" in text
    # By number: figure 10 before figure 12.
    assert (
        text.index('id="1-d2tcp-fig10"')
        < text.index('id="2-d2tcp-fig12"')
        < text.index('id="4-d2tcp-table1"')
    )


def test_every_value_is_in_a_table_too(several: Path) -> None:
    text = several.read_text(encoding="utf-8")
    assert "<td>24.5 (22.54 to 26.46); published around 25 %</td>" in text
    assert '<th scope="row">16000</th><td>1.4</td><td>1.7</td>' in text


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = [report(reproduced.several(tmp_path / name)).read_bytes() for name in ("one", "two")]
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


def test_a_whole_evaluation_stays_small(tmp_path: Path) -> None:
    for number in range(30):
        reproduced.experiment(tmp_path / "out", f"d2tcp/fig{number}", charts=[reproduced.CHART] * 3)
    assert report(tmp_path / "out").stat().st_size < 2_000_000


def test_gaps_are_gaps() -> None:
    rows = [
        {"fan_in": 20, "variance": "medium", "transport": "tcp", "missed_percent": None},
        {"fan_in": 10, "variance": "medium", "transport": "tcp", "missed_percent": 3.0},
        {"fan_in": 10, "variance": "high", "transport": "tcp", "missed_percent": 9.0},
        {"fan_in": 5, "variance": "medium", "transport": "tcp", "missed_percent": float("nan")},
    ]
    drawn = chart({**reproduced.CHART, "published": []}, rows)
    assert [(one.name, [(point.x, point.y, point.low) for point in one.points]) for one in drawn.series] == [
        ("tcp", [(10.0, 3.0, None)])
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("{", "cannot be read"),
        ('{"id": "d2tcp/fig10"}', "the key 'rows' is missing"),
        ("[]", "is not what `duetime reproduce` writes"),
        ('{"id": 1, "title": "", "rows": [], "claims": [{"claim": "", "holds": "maybe"}]}', "not 'maybe'"),
    ],
)
def test_a_broken_folder_is_refused(duetime: Command, tmp_path: Path, change: str, complaint: str) -> None:
    inside = reproduced.experiment(tmp_path / "out")
    (inside / "result.json").write_text(change)
    said = duetime("report", "out")
    assert said.returncode == 2
    assert complaint in said.stderr
    assert "result.json" in said.stderr
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoReport, match="holds nothing to report"):
        report(tmp_path)
    with pytest.raises(NoReport, match="is not a directory"):
        report(tmp_path / "missing")


def test_a_place_that_cannot_be_written(duetime: Command, tmp_path: Path) -> None:
    reproduced.experiment(tmp_path / "out")
    said = duetime("report", "out", "--out", "no/such/place.html")
    assert said.returncode == 2
    assert said.stderr == "error: no/such/place.html: cannot be written (No such file or directory)\n"


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_comparison(browser: Browser, tmp_path: Path, small: Path, duetime: Command, seeds: int) -> None:
    limit = ("--fail-if", "missed_percent > 99")
    said = duetime("compare", small, "--transports", "dctcp,d2tcp", "--out", "out", "--seeds", seeds, *limit)
    assert said.returncode == 0, said.stderr
    assert duetime("report", "out", "--out", "page.html").stdout == "page.html\n"
    opened = Opened(browser, tmp_path / "page.html")
    assert opened.complaints == []
    titles = opened.page.locator("figcaption").all_inner_texts()
    assert titles == [
        "Deadlines missed",
        # One seed tells nothing of a difference.
        *(["Miss rate: difference from dctcp, paired by seed"] if seeds > 1 else []),
        "Answers in time",
        "Completion times of queries",
        "Completion times of web",
        "Distribution of completion times of queries",
        "Distribution of completion times of web",
        "Completion time over allowed time",
        *(
            f"Slowdown of {name} by message size, {what}"
            for name in ("queries", "web")
            for what in ("median", "99th percentile")
        ),
        *(
            f"Queues of the busiest ports, {what}{' (first seed)' if seeds > 1 else ''}"
            for what in ("mean", "99th percentile", "maximum")
        ),
        "Goodput",
    ]
    whole = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert [each.inner_text() for each in opened.page.locator("p.finding").all()] == [
        verdict["sentence"] for verdict in whole["verdicts"]
    ]
    record = whole["runs"]["d2tcp"]["classes"]["queries"]
    missed = record["missed_percent"]["mean"]
    # The line of the threshold that was asked for, with its words once, though there are several classes.
    assert opened.page.locator("svg text", has_text="missed_percent > 99").count() == 1
    assert re.search(
        rf'<th scope="row">queries</th>.*<td>{missed:.4g}[ <]', (tmp_path / "page.html").read_text()
    )
    intervals = opened.page.locator("[data-part=interval]").count()
    assert (intervals > 0) is (seeds > 1)
    # The page is part of the result: a second comparison replaces both.
    assert duetime("report", "out").returncode == 0
    assert duetime("compare", small, "--transports", "dctcp", "--out", "out").returncode == 0


def test_a_page_that_is_not_shown_yet_complains_of_nothing(
    browser: Browser, several: Path, tmp_path: Path
) -> None:
    """A chart in a box without a width, as before the first layout, is drawn later."""
    hidden = tmp_path / "hidden.html"
    hidden.write_text(several.read_text().replace("</style>", ".charts { display: none }</style>", 1))
    opened, complaints = browser.new_page(), list[str]()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(hidden.as_uri())
    opened.wait_for_timeout(200)
    assert opened.locator(".plot > svg").count() == 0
    opened.evaluate("document.querySelectorAll('.charts').forEach(each => { each.style.display = 'grid' })")
    expect(opened.locator(".plot > svg")).to_have_count(opened.locator(".plot").count())
    assert complaints == []


def test_the_distribution_of_completion_times_is_that_of_the_messages(small: Path, tmp_path: Path) -> None:
    run = duetime.run(small)
    (found,) = experiments(run.save(tmp_path / "out"))
    charts = {chart.title: chart for chart in found.charts}
    messages = run.flows.filter("counted", pl.col("class") == "web")
    (series,) = charts["Distribution of completion times of web"].series
    assert series.points[0].y == 0
    for point in (series.points[1], series.points[len(series.points) // 2], series.points[-1]):
        share = (
            100 * messages.filter(pl.col("fct_us") <= 1000 * point.x * (1 + 1e-12)).height / messages.height
        )
        assert point.y == pytest.approx(share)


@pytest.mark.parametrize("seeds", [1, 2])
def test_figures_among_messages_under_way_are_at_least_something(seeds: int, tmp_path: Path) -> None:
    """Two of ten messages are short; the others would take 640 ms, and the run ends after 20."""
    sizes = ["10 KB"] * 2 + ["10 MB"] * 8
    flows = [{"from": source, "to": 10, "size": size} for source, size in enumerate(sizes)]
    scenario = {
        "run": {"duration": "1 ms", "cool_down": "19 ms"},
        "network": {"topology": "star", "hosts": 11, "rate": "1 Gbps", "delay": "5 us"},
        "transport": {"name": "tcp"},
        "traffic": [{"name": "list", "pattern": "flows", "flows": flows}],
    }
    result = duetime.compare(scenario, ["tcp"], seeds=seeds)
    (found,) = experiments(result.save(tmp_path / "out"))
    assert found.table is not None
    cells = dict(found.table.rows)
    assert cells["messages under way at the end"] == 8
    # They have taken 20 ms so far, and are all but the first fifth.
    for word in ("p50", "p90", "p99", "p99.9"):
        assert cells[f"completion time, {word} (us)"] == ">= 20,000"


def test_a_class_that_another_dwarfs_has_a_scale_of_its_own() -> None:
    def chart(title: str, y: float) -> Chart:
        return Chart(
            title, "bar", Axis("percentile"), Axis("time", "ms"), (Series("tcp", (Point("p50", y),)),)
        )

    tops = [each["top"] for each in page._all_drawn([chart("a", 1.0), chart("b", 4.0), chart("c", 40.0)])]
    assert tops == [None, None, 40.0]
    tops = [each["top"] for each in page._all_drawn([chart("a", 10.0), chart("b", 40.0)])]
    assert tops == [40.0, 40.0]


SWEEP = """
title = "How large"
scenario = "small.toml"
transports = ["dctcp", "d2tcp"]
seeds = 3

[grid]
traffic.queries.leaves = [2, 3, 4]

[list]
network.rate = ["1 Gbps", "2 Gbps"]
network.buffer = ["500 KB", "1 MB"]
"""
SAMPLE = """
scenario = "small.toml"

[sample]
count = 14
traffic.queries.leaves = [2, 3, 4, 5]
traffic.web.load = "uniform(5%, 20%)"
transport.g = "uniform(0.01, 0.2)"
"""


@pytest.mark.usefixtures("small")
def test_a_sweep(browser: Browser, tmp_path: Path, duetime: Command) -> None:
    (tmp_path / "s.toml").write_text(SWEEP)
    assert duetime("sweep", "s.toml", "--out", "out").returncode == 0
    assert duetime("report", "out").stdout == "out/report.html\n"
    opened = Opened(browser, tmp_path / "out" / "report.html")
    assert opened.complaints == []
    titles = opened.page.locator("figcaption").all_inner_texts()
    assert titles[:2] == [
        "Deadlines missed: network.rate = 1 Gbps, network.buffer = 500 KB",
        "Deadlines missed: network.rate = 2 Gbps, network.buffer = 1 MB",
    ]
    assert len(titles) == 6
    assert opened.page.locator(".plot").first.locator("[data-part=dot][data-series=d2tcp] > *").count() == 3
    runs = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert opened.page.locator(".plot").first.locator("[data-part=dot][data-series=bound] > *").count() == 3
    some = runs.filter(
        (pl.col("transport") == "dctcp")
        & (pl.col("traffic.queries.leaves") == 4)
        & (pl.col("network.rate") == "1 Gbps")
    )
    assert some.height == 3
    mean = some["goodput_mbps"].to_numpy().mean()
    assert f"<td>{mean:.4g} (" in (tmp_path / "out" / "report.html").read_text()
    # The page does not keep the sweep from going on.
    assert duetime("sweep", "s.toml", "--out", "out").returncode == 0


@pytest.mark.usefixtures("small")
def test_a_random_sample(tmp_path: Path, duetime: Command) -> None:
    (tmp_path / "s.toml").write_text(SAMPLE)
    said = duetime("sweep", "s.toml", "--out", "out")
    assert said.returncode == 0, said.stderr
    (found,) = experiments(tmp_path / "out")
    assert [chart.title for chart in found.charts[:3]] == [
        f"Deadlines missed: all points, by {axis}"
        for axis in ("traffic.queries.leaves", "traffic.web.load", "transport.g")
    ]
    assert [len(chart.series[0].points) for chart in found.charts[:3]] == [14, 14, 14]


@pytest.mark.parametrize(
    ("words", "answer", "axis"),
    [
        (("tighten", "--target", "30%"), "tighter_percent", "deadlines tighter by (%)"),
        (
            ("capacity", "--target", "30%", "--over", "traffic.queries.leaves"),
            "largest",
            "traffic.queries.leaves",
        ),
        (
            ("capacity", "--target", "30%", "--over", "network.delay", "--to", "9 us"),
            "largest",
            "network.delay (us)",
        ),
    ],
)
def test_a_search(
    browser: Browser,
    tmp_path: Path,
    small: Path,
    duetime: Command,
    words: tuple[str, ...],
    answer: str,
    axis: str,
) -> None:
    question, *options = words
    asked = (question, small, *options, "--transports", "dctcp,d2tcp", "--seeds", 3, "--out", "out")
    assert duetime(*asked).returncode == 0
    assert duetime("report", "out").stdout == "out/report.html\n"
    opened = Opened(browser, tmp_path / "out" / "report.html")
    assert opened.complaints == []
    record = json.loads((tmp_path / "out" / f"{question}.json").read_text())
    (found,) = experiments(tmp_path / "out")
    bars, tried = found.charts
    assert tried.x.text == axis
    for number, each in enumerate(record["answers"]):
        (bar,) = bars.series[number].points
        assert bar.y == float(str(each[answer]).split()[0])
        assert [point.y for point in tried.series[number].points] == [
            level["missed_percent"]["mean"] for level in each["tried"] if level["missed_percent"]
        ]
        assert len(tried.series[number].points) > 1
        assert opened.page.get_by_text(found.verdicts[number]).count() == 1
    # The page does not keep the search from being asked again.
    assert duetime(*asked).returncode == 0


def test_the_interval_of_a_negative_answer_is_drawn_whole(browser: Browser, tmp_path: Path) -> None:
    missed = {"mean": 4.0, "ci95": [3.0, 5.0], "values": [3.5, 4.5]}
    answer = {
        "transport": "dctcp",
        "tighter_percent": -63.0,
        "ci95": [-150.0, 2.0],
        "missed_percent": missed,
        "bound_percent": None,
        "as_written_missed_percent": missed,
        "ends_with": None,
        "uneven": False,
        "tried": [{"value": value, "missed_percent": missed} for value in (-150.0, -63.0, 0.0)],
    }
    record = {"version": "0", "title": "Looser", "question": "tighten", "against": None, "target_percent": 5}
    (tmp_path / "tighten.json").write_text(json.dumps({**record, "seeds": [1, 2], "answers": [answer]}))
    page = Opened(browser, report(tmp_path)).page
    assert page.evaluate(LOWEST) <= -150


def test_a_broken_search_is_refused(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "tighten.json").write_text('{"question": "tighten"}')
    said = duetime("report", tmp_path)
    assert (said.returncode, said.stdout) == (2, "")
    assert "tighten.json: is not what `duetime tighten` writes" in said.stderr


def test_a_run(browser: Browser, tmp_path: Path) -> None:
    opened = Opened(browser, report(synthetic.run(tmp_path / "out"), tmp_path / "page.html"))
    assert opened.complaints == []
    assert opened.page.locator(".plot [data-series=d2tcp]").count() > 0


def test_the_libraries_are_those_that_were_published() -> None:
    assets = Path(str(report.__globals__["__file__"])).with_name("assets")
    digests = {
        name: hashlib.sha256((assets / name).read_bytes()).hexdigest()
        for name in ("d3.min.js", "plot.umd.min.js")
    }
    assert digests == {
        "d3.min.js": "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
        "plot.umd.min.js": "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
    }
    licences = (assets / "LICENSES.txt").read_text()
    for name in ("d3 7.9.2", "@observablehq/plot 0.6.17"):
        assert name in licences
        assert f"{name.split(' ')[0]} v{name.split(' ')[1]}".replace("d3 v", "d3js.org v") in "".join(
            (assets / each).read_text()[:120] for each in digests
        )
