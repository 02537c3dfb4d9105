"""Columns are called as places in the JSON object, and former names are still read."""

import json
from pathlib import Path

import polars as pl
import pytest

import duetime
from conftest import SCENARIOS
from duetime import manifest, names
from duetime.experiments import experiment, places
from duetime.plots.live import is_recorded
from duetime.tabular import flat

FORMER = {new: old for old, new in names.ENDS.items()}


@pytest.fixture(scope="module")
def run() -> duetime.Result:
    return duetime.run(SCENARIOS / "incast.toml", set=["run.duration=5 ms", "run.warm_up=0 s"])


def test_a_column_is_the_place_with_underscores_for_dots(run: duetime.Result) -> None:
    def places_of(value: object, path: str = "") -> dict[str, object]:
        if isinstance(value, dict):
            parts = (places_of(each, f"{path}.{key}" if path else key) for key, each in value.items())
            return {name: each for part in parts for name, each in part.items()}
        return {} if isinstance(value, list) else {path: value}

    figures = places_of(dict(run.summary) | {"busiest_queue": run.data["busiest_queue"]})
    assert {"fct_us.p99", "busiest_queue.src"} <= set(figures)
    found = flat(dict(run.summary) | {"busiest_queue": run.data["busiest_queue"]})
    assert found == {name.replace(".", "_"): value for name, value in figures.items()}


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("from", "src"),
        ("to_address", "dst_address"),
        ("fct_p99_us", "fct_us_p99"),
        ("fct_p99_us_low", "fct_us_p99_low"),
        ("fct_p99_at_least_us", "fct_us_p99_at_least"),
        ("answers_in_time_p1_percent", "answers_in_time_percent_p1"),
        ("requests_time_mean_us", "requests_time_us_mean"),
    ],
)
def test_a_former_name_has_one_present_name(former: str, now: str) -> None:
    assert names.present(former) == now
    assert names.present(now) == now


def test_present_columns_keep_their_names(run: duetime.Result) -> None:
    for table in (run.flows, run.links, run.queries, run.trace):
        assert names.renamed(table).columns == table.columns
    figures = flat(run.summary)
    assert {names.present(name) for name in figures} == set(figures)


def test_a_result_of_a_former_version_is_read(run: duetime.Result, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "result")
    (folder / manifest.NAME).unlink()
    for name in ("flows", "links"):
        path = folder / f"{name}.parquet"
        table = pl.read_parquet(path)
        table.rename({new: old for new, old in FORMER.items() if new in table.columns}).write_parquet(path)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    queue = record["busiest_queue"]
    record["busiest_queue"] = {FORMER.get(key, key): value for key, value in queue.items()}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    read = duetime.load(folder)
    assert isinstance(read, duetime.Result)
    assert "from" in pl.read_parquet(folder / "flows.parquet").columns
    assert read.flows.equals(run.flows)
    assert read.links.equals(run.links)
    assert read.data["busiest_queue"] == run.data["busiest_queue"]


def test_a_former_trace_of_real_connections_is_known(tmp_path: Path) -> None:
    columns = ("time_s", "what", "class", "from", "to", "value", "from_address", "to_address")
    path = tmp_path / "web.parquet"
    pl.DataFrame({name: [0] for name in columns}).write_parquet(path)
    assert is_recorded(path)
    pl.DataFrame({name: [0] for name in columns[1:]}).write_parquet(path)
    assert not is_recorded(path)


def test_an_experiment_with_former_columns_is_read_with_one_note(tmp_path: Path) -> None:
    root = places.folder()
    (tmp_path / "fluid").mkdir()
    for name in ("published.toml", "regimes.toml", "facts.toml"):
        (tmp_path / name).write_bytes((root / name).read_bytes())
    now = experiment.read(root / "fluid/packets.toml")
    text = (root / "fluid/packets.toml").read_text(encoding="utf-8")
    path = tmp_path / "fluid/packets.toml"
    path.write_text(text.replace("fct_us_p99", "fct_p99_us"), encoding="utf-8")
    former = experiment.read(path)
    assert former.notes == [*now.notes, "former names of columns: `fct_p99_us` is `fct_us_p99`"]
    assert (former.claims, former.charts, former.finding) == (now.claims, now.charts, now.finding)
    # A name of its own may look like a former one.
    path.write_text(text.replace("fct_us_mean", "fct_mean_us"), encoding="utf-8")
    own = experiment.read(path)
    assert own.notes == now.notes
    assert own.charts[0].y.column == "fct_mean_us"
