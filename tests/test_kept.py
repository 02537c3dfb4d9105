"""Compact records: they read back as they were, and verdicts stay with the claims that were judged."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import reproduced
from duetime import rowtable
from duetime.experiments import experiment as reading
from duetime.experiments import kept, places

NAME = "d2tcp/fig10"
ROWS: list[dict[str, Any]] = [
    {"of": "one", "n": 1, "x": 1.0, "y": 24.5},
    {"of": "1", "n": None, "x": 1e-06, "y": None},
    {"of": "null", "n": -3, "x": math.inf, "z": True},
    {"of": 'a, "b"\nc', "n": 10**20, "x": 0.0, "z": "true"},
    {"of": " 1", "n": 0, "x": -0.5, "z": ""},
]


def test_a_table_has_a_line_for_each_row_and_no_types_but_those_of_json() -> None:
    assert rowtable.written(ROWS[:2]) == 'of,n,x,y\none,1,1.0,24.5\n"""1""",,1e-06,\n'
    assert rowtable.read("a,b\n1,1.0\ntcp,\n") == [{"a": 1, "b": 1.0}, {"a": "tcp", "b": None}]


def test_a_table_reads_back_as_it_was() -> None:
    read = rowtable.read(rowtable.written(ROWS))
    assert [{name: value for name, value in row.items() if value is not None} for row in read] == [
        {name: value for name, value in row.items() if value is not None} for row in ROWS
    ]
    assert [[type(value) for value in row.values()] for row in read[:1]] == [
        [str, int, float, float, type(None)]
    ]
    assert rowtable.read(rowtable.written([{"alone": None}, {"alone": 2}])) == [{"alone": None}, {"alone": 2}]
    assert rowtable.written(read) == rowtable.written(ROWS)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of experiments with the made-up one in it."""
    return reproduced.experiment_file(tmp_path / "experiments")


def record(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """The result of the made-up experiment, as the documentation keeps it."""
    whole = json.loads((reproduced.experiment(tmp_path / "out", **changes) / "result.json").read_text())
    found: dict[str, Any] = whole | {"engine": {"tcp": "01234567"}, "finding": "", "pictures": {}}
    return found


def test_a_record_is_the_result_less_what_the_experiments_file_says(root: Path, tmp_path: Path) -> None:
    whole = record(tmp_path, notes=["failed: one run"])
    whole["claims"][0] |= {"status": "late"}
    whole["claims"][1] |= {
        "beside": {"regime": "other", "measured": 5.0, "low": None, "high": 6, "holds": None}
    }
    whole["claims"][2] |= {"status": "few", "seeds": 12}
    kept.write(tmp_path / "kept", whole, root)
    (read,) = kept.read_all(tmp_path / "kept", root).values()
    same = (
        "id",
        "title",
        "source",
        "question",
        "scale",
        "seeds",
        "runs",
        "rows",
        "notes",
        "engine",
        "versions",
    )
    assert {name: read[name] for name in same} == {name: whole[name] for name in same}
    first, second, third = read["claims"]
    assert (first["holds"], first["status"], first["measured"], first["published"]) == (
        True,
        "late",
        24.5,
        25,
    )
    assert (second["holds"], second["low"], second["why"]) == (False, 22.1, reproduced.CLAIMS[1]["why"])
    assert second["beside"] == {"regime": "", "measured": 5.0, "low": None, "high": 6, "holds": None}
    assert (third["holds"], third["why"]) == (None, "too few misses to compare; 12 seeds would do")
    (chart,) = read["charts"]
    assert chart["published"] == reproduced.CHART["published"]
    kept.write(tmp_path / "again", read, root)
    for suffix in (".toml", ".csv"):
        first, again = (tmp_path / folder / f"{NAME}{suffix}" for folder in ("kept", "again"))
        assert again.read_text() == first.read_text()


def test_a_claim_that_is_written_otherwise_than_it_was_judged_is_open(root: Path, tmp_path: Path) -> None:
    kept.write(tmp_path / "kept", record(tmp_path), root)
    path = root / f"{NAME}.toml"

    def judged() -> tuple[bool, list[str]]:
        head, numbers = kept.header(tmp_path / "kept", NAME), reading.published(root)
        claims = kept.read_all(tmp_path / "kept", root)[NAME]["claims"]
        return kept.is_judged(head, reading.read(path), numbers), [each["status"] for each in claims]

    assert judged() == (True, ["holds", "fails", "open"])
    text = path.read_text()
    path.write_text(text.replace("stated as a bound", "stated as a limit"))
    assert judged() == (True, ["holds", "fails", "open"])
    path.write_text(text.replace('measured = "select 1"', 'measured = "select 2"', 1))
    assert judged() == (False, ["open", "fails", "open"])
    path.write_text(text)
    numbers = root / places.PUBLISHED
    numbers.write_text(numbers.read_text().replace("7", "8"))
    assert judged() == (False, ["holds", "open", "open"])


def test_a_record_that_does_not_fit_its_file_is_refused(root: Path, tmp_path: Path) -> None:
    whole = record(tmp_path)
    with pytest.raises(ValueError, match=r"fig10\.toml: the result has other claims"):
        kept.write(tmp_path / "kept", whole | {"claims": whole["claims"][:2]}, root)
    assert not (tmp_path / "kept").exists()
    kept.write(tmp_path / "kept", whole, root)
    path = root / f"{NAME}.toml"
    path.write_text(path.read_text().replace('column = "missed_percent"', 'column = "late_percent"'))
    with pytest.raises(ValueError, match="draws the column late_percent, which is not recorded"):
        kept.read_all(tmp_path / "kept", root)
