"""The xDCTCP study's measures of a grid: its rule for the optimum, averages, signals over time."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from duetime.experiments import experiment as reading
from duetime.experiments import figures
from duetime.experiments.fields import Options
from duetime.experiments.measures import optimum, signals
from duetime.experiments.reproduce import _with_columns, reproduce

ROOT = Path(__file__).resolve().parent.parent / "experiments"
#: (g, nl) -> delay and throughput: the fastest place loses 10 %, the next 0.5 %, the own place nothing.
GRID = {
    (0.1, 0.5): (70.0, 1000.0),
    (0.1, 1.0): (60.0, 995.0),
    (0.2, 0.5): (70.0, 1001.0),
    (0.2, 1.0): (50.0, 900.0),
}


@pytest.mark.parametrize(
    ("loss", "place", "kept", "lower", "lost"),
    [
        (0.0, "(0.1, 0.5)", 2, 0.0, 0.0),  # equal delays: the first place in order
        (0.5, "(0.1, 1)", 3, 100 / 7, 0.5),
        (9.9, "(0.1, 1)", 3, 100 / 7, 0.5),
        (10.0, "(0.2, 1)", 4, 200 / 7, 10.0),
    ],
)
def test_the_rule_takes_the_least_delay_that_costs_no_more_than_allowed(
    loss: float, place: str, kept: int, lower: float, lost: float
) -> None:
    found = optimum.pick(("g", "nl"), GRID, (0.1, 0.5), loss)
    assert (found["place"], found["kept"], found["places"]) == (place, kept, 4)
    assert found["lower_percent"] == pytest.approx(lower)
    assert found["lost_percent"] == pytest.approx(lost)


def test_an_average_is_over_all_other_columns_of_its_mix() -> None:
    rows = [
        {
            "mix": mix,
            "g": g,
            "nl": nl,
            "delay_us": delay + more,
            "query_us": 1.0,
            "short_us": 2.0,
            "mbps": rate,
        }
        for mix, more in (("a", 0.0), ("b", 100.0))
        for (g, nl), (delay, rate) in GRID.items()
    ]
    found = {
        (row["mix"], row["parameter"], row["value"]): (row["delay_us"], row["mbps"], row["places"])
        for row in optimum.averages(rows, ["mix"], ["g", "nl"])
    }
    assert len(found) == 8
    assert found["a", "g", 0.1] == (65.0, 997.5, 2)
    assert found["a", "nl", 1.0] == (55.0, 947.5, 2)
    assert found["b", "g", 0.2] == (160.0, 950.5, 2)


def test_delay_is_a_mean_over_flows_and_throughput_a_share_of_a_sum() -> None:
    classes = {
        "query": {"bottleneck_delay_us": 10.0, "bottleneck_mbps": 6.0},
        "short": {"bottleneck_delay_us": 20.0, "bottleneck_mbps": 300.0},
        "long": {"bottleneck_delay_us": 99.0, "bottleneck_mbps": 9000.0},
    }
    flows = {"delay": {"query": 1, "short": 3}, "throughput": {"short": 3, "long": 1}}
    run: Any = SimpleNamespace(labels={"mix": "m", "g": 0.1}, result={"classes": classes})
    options = optimum.Options([], {}, "", "", "mix", {"m": flows}, [])
    labels, metrics = optimum.sample(run, options)
    assert labels == {"mix": "m", "g": 0.1, "part": "place"}
    assert metrics == {"delay_us": 17.5, "mbps": 2325.0, "query_us": 10.0, "short_us": 20.0}


def test_a_signal_is_shown_in_one_window_and_counted_in_another() -> None:
    trace = pl.DataFrame(
        {
            "time_s": [0.001, 0.002, 0.003, 0.003, 0.004],
            "what": ["queue", "queue", "queue", "cwnd", "queue"],
            "link": ["a -> b", "a -> b", "a -> b", None, "c -> d"],
            "value": [1.0, 5.0, 3.0, 77.0, 99.0],
        }
    )
    run: Any = SimpleNamespace(labels={}, kept=SimpleNamespace(table=lambda _: trace))
    given = {"what": "queue", "shown_ms": [1, 2], "counted_ms": [1, 9], "links": {"port": "a -> b"}}

    class Study:
        experiment = SimpleNamespace(options=Options({"signals": given}, "[options"))

        def rows(self, sample: Any, tables: tuple[str, ...]) -> list[Any]:
            assert tables == ("trace",)
            return list(sample(run))

    study: Any = Study()
    spread, *shown = signals.rows(study)
    assert spread == (
        {"of": "port"},
        {"mean": 4.0, "least": 3.0, "most": 5.0, "p1": 3.02, "p50": 4.0, "p99": 4.98},
    )
    assert shown == [({"of": "port", "time_ms": 2.0}, {"value": 5.0})]


def test_a_column_is_put_together_only_where_its_parts_are() -> None:
    columns = {"curve": "ns = {ns}", "whole": "{ns}, {nl}"}
    experiment = replace(reading.read(ROOT / "xdctcp/fig02.toml"), columns=columns)
    assert _with_columns({"transport": "xdctcp", "ns": 0.4}, experiment)["curve"] == "ns = 0.4"
    assert "whole" not in _with_columns({"transport": "xdctcp", "ns": 0.4}, experiment)
    assert _with_columns({"transport": "bound"}, experiment)["whole"] == "bound"


def test_panels_with_their_axes_in_common_show_the_largest_value_of_all() -> None:
    x, y = reading.Coordinate("t", "time"), reading.Coordinate("v", "value")
    charts = [reading.Chart(name, "line", x, y, "series", {"of": name}) for name in ("low", "high")]
    rows = [
        {"of": name, "t": t, "v": t * scale, "series": "s"}
        for name, scale in (("low", 1.0), ("high", 50.0))
        for t in range(5)
    ]
    for axes in figures.draw(charts, rows, "title", "").axes:
        bottom, top = axes.get_ylim()
        assert bottom <= 0
        assert 200 < top < 250


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """The study with six triples and a tenth of the time."""
    shutil.copytree(ROOT, tmp_path / "experiments")
    shutil.copytree(ROOT.parent / "scenarios", tmp_path / "scenarios")
    return tmp_path / "experiments"


def test_the_study_runs_as_it_is_written(few: Path, tmp_path: Path) -> None:
    path = few / "xdctcp" / "optimum.toml"
    text = path.read_text(encoding="utf-8")
    (written,) = [line for line in text.splitlines() if line.startswith("axes = ")]
    small = "axes = { link_delay_us = [25, 24.8], g = [0.0625], ns = [0.4, 0.5], nl = [0.5, 1.0] }"
    text = text.replace(written, small + '\nset = ["run.duration=100 ms"]')
    path.write_text(text, encoding="utf-8")
    done = reproduce(reading.read(path), scale="quick", jobs=2, out=tmp_path / "out")
    rows = json.loads(json.dumps(done.data))["rows"]
    assert not done.failed
    places = [row for row in rows if row["part"] == "place"]
    assert len(places) == 2 * 2 * 2
    assert all(row["runs"] == 2 for row in places)
    picks = {(row["mix"], row["repetition"], row["loss_percent"]) for row in rows if row["part"] == "pick"}
    assert len(picks) == 2 * 3 * 8
    assert {row["repetition"] for row in rows if row["part"] == "pick"} == {
        "mean",
        "links of 25 us",
        "links of 24.8 us",
    }
    assert len([row for row in rows if row["part"] == "average"]) == 2 * (1 + 2 + 2)
