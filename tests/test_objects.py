"""The objects that functions return, shown, copied, kept and read again; and their arguments."""

import copy
import json
import pickle
import tomllib
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import duetime as dt
from conftest import SMALL
from duetime.decide import Decision

SWEPT = {
    "title": "Sizes",
    "transports": ["tcp", "d2tcp"],
    "grid": {"traffic.queries.size": ["2 KB", "20 KB"]},
}


@pytest.fixture(scope="module")
def result() -> dt.Result:
    return dt.run(SMALL)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[dt.Swept, Path]:
    folder = tmp_path_factory.mktemp("swept") / "out"
    return dt.sweep({**SWEPT, "scenario": tomllib.loads(SMALL)}, out=folder), folder


def test_a_notebook_shows_the_tables_of_the_command(result: dt.Result) -> None:
    html = result._repr_html_()
    assert html.startswith('<div style="overflow-x: auto"><table><caption><b>Small: d2tcp, seed 5')
    assert f">{result.classes['queries']['messages']}</td>" in html
    assert "bound: no schedule of these messages can miss fewer" in html
    both = dt.compare(SMALL, ["tcp", "d2tcp"])
    assert ">d2tcp</th>" in both._repr_html_()
    assert repr(both).startswith("<Comparison of 'Small': tcp, d2tcp; 2 runs; missed deadlines: tcp ")
    bound = dt.bound(SMALL)
    assert bound is not None
    assert bound == result.bound
    assert "receivers" in bound._repr_html_() or "<td" in bound._repr_html_()


def test_titles_are_no_markup() -> None:
    html = dt.run(SMALL.replace('"Small"', '"<script>"'))._repr_html_()
    assert "&lt;script&gt;: d2tcp" in html
    assert "<script>" not in html


def test_a_sweep_is_told_in_a_line(swept: tuple[dt.Swept, Path]) -> None:
    told = repr(swept[0])
    assert told == ("<Swept 'Sizes': 2 points of traffic.queries.size; tcp, d2tcp; 1 seed; 4 runs, 0 failed>")
    assert swept[0]._repr_html_().count("<tr>") == 1 + 4
    assert len(repr(swept[0].kept[0])) < 1000


@pytest.mark.parametrize("way", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_results_are_copied_with_their_tables(way: object, result: dt.Result) -> None:
    assert callable(way)
    again = way(result)
    assert again.data == result.data
    assert again.scenario == result.scenario
    for table in ("flows", "queries", "links", "trace"):
        assert getattr(again, table).equals(getattr(result, table)), table
    compared = dt.compare(SMALL, ["tcp", "d2tcp"])
    assert way(compared).data == compared.data


def test_every_folder_is_read_as_what_was_written(
    result: dt.Result, swept: tuple[dt.Swept, Path], tmp_path: Path
) -> None:
    assert dt.load(result.save(tmp_path / "run")).data == result.data
    compared = dt.compare(SMALL, ["tcp", "d2tcp"], seeds=2, against="d2tcp")
    again = dt.load(compared.save(tmp_path / "compared"))
    assert again.data == compared.data
    read = dt.load(swept[1])
    assert read.runs().equals(swept[0].runs())
    assert read.differences().equals(swept[0].differences())
    decision = Decision(json.loads(json.dumps(DECISION)))
    assert dt.load(decision.save(tmp_path / "search")).data == decision.data
    assert (
        repr(decision)
        == "tcp carries fan_in <= 7 with at most 5 % misses; the scenario allows nothing larger."
    )


#: As `duetime capacity` writes it.
DECISION = {
    "version": "0",
    "title": "Small",
    "question": "capacity",
    "target_percent": 5.0,
    "over": "fan_in",
    "seeds": [1],
    "answers": [
        {
            "transport": "tcp",
            "largest": 7,
            "ci95": [None, None],
            "ends_with": "scenario",
            "uneven": False,
            "turned": False,
            "tried": [],
        }
    ],
}


def test_the_variants_of_a_scenario_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    found = dt.robust(tmp_path / "small.toml", ["tcp", "d2tcp"], out=tmp_path / "varied", many=3)
    again = dt.load(tmp_path / "varied")
    assert again.record() == found.record()
    assert dt.robust(tomllib.loads(SMALL), ["tcp", "d2tcp"], out=tmp_path / "varied", many=3) == found
    assert repr(found).startswith("<Robustness of 'Small': 3 variants. ")
    assert found._repr_html_().count("<tr>") == 1 + 3
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_a_folder_of_none_of_these_is_told_with_those_inside(result: dt.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "a" / "run")
    with pytest.raises(FileNotFoundError, match=r"holds no result; these do: .*a.run$"):
        dt.load(tmp_path)
    (tmp_path / "compare.json").write_text("{}")
    with pytest.raises(ValueError, match=r"compare\.json: is not what duetime writes: KeyError\('runs'\)"):
        dt.load(tmp_path)


def test_numbers_of_numpy_and_times_are_taken() -> None:
    scenario = tomllib.loads(SMALL)
    scenario["run"] |= {"duration": timedelta(milliseconds=10), "seed": np.int64(5)}
    scenario["network"]["hosts"] = np.array([6])[0]
    assert dt.check(scenario) == dt.check(SMALL)
    changes = {"network.hosts": np.int32(7), "run.duration": timedelta(seconds=1.5)}
    resolved, _ = dt.check(SMALL, set=changes)
    assert (resolved["network"]["hosts"], resolved["run"]["duration"]) == (7, "1.5 s")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"network": {"buffer": None}}, "scenario.network.buffer: None is no value of a scenario"),
        (
            {"traffic": [{"name": "a"}, {"size": object}]},
            "traffic[1].size: <class 'object'> is no",
        ),
        ({"run": {5: 1}}, "scenario.run: a key is a text, not 5"),
    ],
)
def test_a_value_that_no_file_can_hold_is_named_by_its_key(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=r"is no value|a key is a text") as caught:
        dt.check(wrong)
    assert told in str(caught.value)


def test_a_wrong_key_of_a_sweep_is_named(tmp_path: Path) -> None:
    scenario = tomllib.loads(SMALL)
    with pytest.raises(dt.ScenarioError, match="unknown key `gird` in a sweep"):
        dt.sweep({**SWEPT, "scenario": scenario, "gird": {}}, out=tmp_path / "out")
    with pytest.raises(ValueError, match=r"sweep\.grid\.network\.hosts\[1\]: None is no value"):
        dt.sweep({"scenario": scenario, "grid": {"network.hosts": [6, None]}}, out=tmp_path / "out")


def test_pictures_of_results(result: dt.Result, swept: tuple[dt.Swept, Path], tmp_path: Path) -> None:
    assert result.plot()._repr_png_().startswith(b"\x89PNG")
    assert swept[0].plot().save(tmp_path / "swept.svg").read_text().startswith("<?xml")
    with pytest.raises(KeyError, match="there is no picture 'overvew'; there are overview"):
        result.plot("overvew")
    names = {path.name for path in dt.plot(swept[1], tmp_path / "pictures")}
    assert names == {"sweep.png", "sweep.svg"}


def test_an_experiment_is_repeated_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no experiment is called `d2tcp/fig1`; did you mean d2tcp/fig"):
        dt.reproduce("d2tcp/fig1", out=tmp_path)
