"""`--fail-if`: conditions under which a run fails."""

import json
from pathlib import Path
from typing import Any

import pytest

import duetime as dt
from conftest import Command
from duetime import conditions
from duetime.errors import MistakenCondition

SCENARIO: dict[str, Any] = {"traffic": [{"name": "queries"}, {"name": "web", "set": "B"}, {"name": "a.b"}]}


def result(missed: Any, p99: Any = 900.0) -> dict[str, Any]:
    part = {"missed_percent": missed, "fct_us": {"p99": p99}}
    return {"drops": 7, "summary": part, "classes": {"queries": part, "web": part, "a.b": part}}


def judged(text: str, missed: Any, *, certain: bool = False) -> bool:
    condition = conditions.read(text, SCENARIO, ["dctcp"], certain=certain)
    return bool(condition.hold_against("dctcp", result(missed))["failed"])


def over_seeds(low: float, mean: float, high: float) -> dict[str, Any]:
    return {"mean": mean, "ci95": [low, high], "values": [low, high]}


def test_a_value_is_held_against_the_threshold() -> None:
    assert judged("queries.missed_percent > 1", 1.5)
    assert not judged("queries.missed_percent > 1", 1.0)
    assert judged("missed_percent >= 1%", 1.0)
    assert judged("a.b.fct_us.p99 < 1 ms", 0.0)
    assert not judged("fct_us.p99 > 0.9 ms", 0.0)
    assert judged("dctcp: drops > 6", 0.0)


def test_the_end_of_the_interval_decides() -> None:
    unsure = over_seeds(0.5, 0.9, 1.4)
    assert judged("missed_percent > 1", unsure), "the seeds cannot rule it out"
    assert not judged("missed_percent > 1", unsure, certain=True)
    assert judged("missed_percent > 1", over_seeds(1.1, 1.4, 1.9), certain=True)
    assert judged("missed_percent < 1", unsure), "downwards it is the other end"
    assert not judged("missed_percent < 0.4", unsure)


def test_what_was_not_measured_is_not_assured() -> None:
    assert judged("missed_percent > 1", None)
    assert not judged("missed_percent > 1", None, certain=True)


@pytest.mark.parametrize(
    ("text", "caret", "said"),
    [
        ("queries.missed_percnt > 1", "        ^^^^^^^^^^^^^", "did you mean `missed_percent`?"),
        ("querys.missed_percent > 1", "^^^^^^", "did you mean `queries`?"),
        ("missed_percent 1", None, "a comparison is missing"),
        ("missed_percent == 1", "               ^^", "a comparison is missing"),
        ("missed_percent > ", "                 ^", "a number is missing"),
        ("missed_percent > 1 ms", "                   ^^", "its units are %"),
        ("drops > 1 %", "          ^", "it is a plain number"),
        ("dtcp: drops > 1", "^^^^", "did you mean `dctcp`?"),
        ("bottleneck_mbps > 1", "^^^^^^^^^^^^^^^", "the figures are"),
    ],
)
def test_mistakes_show_their_place(text: str, caret: str | None, said: str) -> None:
    with pytest.raises(MistakenCondition) as mistake:
        conditions.read(text, SCENARIO, ["dctcp"])
    assert said in str(mistake.value)
    _, shown, below, _ = str(mistake.value).splitlines()
    assert shown == f"  {text}"
    assert caret is None or below == f"  {caret}"


def test_every_figure_of_a_run_can_be_asked_for(small: Path) -> None:
    data = dt.run(small).data

    def names(part: dict[str, Any], prefix: str = "") -> set[str]:
        found = set()
        for key, value in part.items():
            found |= names(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
        return found

    assert names(data["classes"]["queries"]) == set(conditions.FIGURES)
    assert names(data["summary"]) == set(conditions.FIGURES) - set(conditions.OF_CLASSES)
    # A run in which no packet was trimmed has no `trims`.
    assert set(conditions.TOTALS) - {"trims"} <= set(data)


def test_run_and_compare_exit_with_three(duetime: Command, small: Path, tmp_path: Path) -> None:
    done = duetime("run", small, "--fail-if", "queries.messages > 1", "--json")
    assert done.returncode == 3
    (limit,) = json.loads(done.stdout)["limits"]
    assert (limit["class"], limit["figure"], limit["threshold"]) == ("queries", "messages", 1.0)
    assert done.stderr.startswith("failed: queries.messages > 1: d2tcp has queries.messages = ")
    assert duetime("run", small, "--fail-if", "queries.messages > 1000000").returncode == 0
    words = ("compare", small, "--transports", "tcp,dctcp", "--seeds", 2, "--out", "out")
    done = duetime(*words, "--fail-if", "tcp: messages > 1", "--fail-if-certain", "drops > 1e9")
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 2, "one condition holds, for one transport"
    limits = json.loads((tmp_path / "out/compare.json").read_text())["limits"]
    assert [each["failed"] for each in limits] == [True, False, False]


def test_a_mistake_ends_with_two_before_anything_runs(duetime: Command, small: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = duetime("compare", small, "--transports", "tcp", "--fail-if", "mised > 1", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before
