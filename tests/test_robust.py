"""Robustness of a conclusion: the variants, the verdict, and the files in the folder."""

import json
from pathlib import Path

import pytest

import duetime
from conftest import SCENARIOS, SMALL, Command
from duetime.robustness import DIMENSIONS, MEASURES, Choice, Outcome, Robustness, Variant, robust, variants

#: The incast with sixty workers and a buffer of 1 MB, whose answers are spread over a millisecond. It was
#: tried once without telling the rest: without jitter cubic misses 77.8 % and dctcp 99.3, with it 43.0 and
#: 13.9. Of sizes from 14 to 60 KB, deadlines from 10 to 40 ms, 1 and 10 Gbps, hosts with jitter and without,
#: this is nearest.
SIXTY = (
    (SCENARIOS / "incast.toml")
    .read_text()
    .replace("leaves = 40", "leaves = 60")
    .replace("hosts = 41", "hosts = 61")
    .replace('"4 MB"', '"1 MB"')
    .replace("14 KB", "32 KB")
    .replace('sharing = "dynamic"', 'host_jitter = "0 s"\nsharing = "dynamic"')
    .replace("uniform(0 us, 100 us)", "uniform(0 us, 1 ms)")
)


def made(*rows: tuple[str, str, float, float]) -> Robustness:
    """Outcomes of `a` and `b`, the first as written; a dimension's name and value for each of the others."""
    outcomes = [
        Outcome(Variant((Choice(name, value, ("x=1",)),) if name else ()), {"a": a, "b": b}, None)
        for name, value, a, b in rows
    ]
    return Robustness("By hand", ("a", "b"), MEASURES[0], tuple(outcomes))


def test_the_help_names_all_that_is_varied(duetime: Command) -> None:
    said = " ".join(duetime("robust", "--help").stdout.split())
    assert [one.name for one in DIMENSIONS if one.name not in said] == []


def test_a_reversal_is_found_and_named(tmp_path: Path) -> None:
    (tmp_path / "sixty.toml").write_text(SIXTY)
    found = robust(tmp_path / "sixty.toml", ["cubic", "dctcp"], out=tmp_path / "out", many=12)
    (verdict,) = found.verdicts
    assert (verdict.better, verdict.other) == ("dctcp", "cubic")
    values = {each.variant.words: each.values for each in found.outcomes}
    # Within two points of that trial, but for dctcp with jitter, which misses 34 % here.
    assert values["answer jitter 0 us"] == {
        "cubic": pytest.approx(77.8, abs=2),
        "dctcp": pytest.approx(99.3, abs=2),
    }
    assert values["as written"] == {"cubic": pytest.approx(43.0, abs=2), "dctcp": pytest.approx(33.8, abs=2)}
    assert verdict.reversed >= 4
    assert any(words.startswith("answer jitter is 200 us or less (") for words in verdict.where)


def test_the_verdict_counts_by_hand() -> None:
    found = made(
        ("", "", 10.0, 20.0),
        ("answer jitter", "0 us", 20.0, 10.0),
        ("answer jitter", "10 us", 11.0, 10.0),
        ("answer jitter", "50 us", 10.05, 10.0),
        ("initial window", "10", 20.0, 10.0),
        ("seed", "2", 10.0, 20.0),
    )
    verdict = found.against("b")
    assert (verdict.better, verdict.wins, verdict.equal, verdict.reversed) == ("a", 2, 1, 3)
    assert verdict.where == ("answer jitter is 10 us or less (2 of 2)", "initial window is 10 (1 of 1)")
    assert verdict.sentence == (
        "a beats b in 2 of 6 variants, indistinguishable (within 1 % or 0.1 points) in 1, reversed in 3: "
        "where answer jitter is 10 us or less (2 of 2); initial window is 10 (1 of 1)"
    )


def test_what_never_differs_is_no_victory() -> None:
    found = made(("", "", 10.0, 10.0), ("seed", "2", 20.0, 20.05))
    assert (
        found.against("b").sentence
        == "a and b are indistinguishable (within 1 % or 0.1 points) in all 2 variants"
    )


def test_who_wins_as_written_is_named_first_and_a_tie_goes_to_the_majority() -> None:
    assert made(("", "", 20.0, 10.0), ("seed", "2", 20.0, 10.0)).against("b").better == "b"
    tie = made(("", "", 10.0, 10.0), ("seed", "2", 20.0, 10.0), ("seed", "3", 20.0, 10.0))
    assert (tie.against("b").better, tie.against("b").wins) == ("b", 2)


def test_each_value_alone_then_pairs_always_the_same(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    resolved, _ = duetime.check(tmp_path / "small.toml")
    one, again = (variants(resolved, lambda _: True, 60) for _ in range(2))
    assert one == again
    assert one[0].choices == ()
    alone = [each for each in one if len(each.choices) == 1]
    # There is one parent, so there are no phases.
    expected = {d.name for d in DIMENSIONS} - {"phase"}
    assert {each.choices[0].dimension for each in alone} == expected
    pairs = [each for each in one if len(each.choices) == 2]
    assert len(one) == len(alone) + len(pairs) + 1 == 60
    assert all(a.dimension != b.dimension for a, b in (each.choices for each in pairs))
    assert len(set(one)) == 60


def test_the_command_keeps_runs_and_goes_on(duetime: Command, small: Path, tmp_path: Path) -> None:
    words = ("robust", small, "--transports", "tcp,dctcp", "--variants", 6, "--out", tmp_path / "out")
    done = duetime(*words, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert len(record["variants"]) == 6
    assert record["variants"][0]["choices"] == {}
    runs = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*.json")}
    assert runs
    assert json.loads(duetime(*words, "--json").stdout) == record
    assert runs == {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*.json")
    }
    assert (tmp_path / "out" / "robust.png").stat().st_size > 1000
    page = duetime("report", tmp_path / "out")
    assert page.returncode == 0, page.stderr
    assert record["verdicts"][0]["sentence"] in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("names", ["tcp", "tcp,tcp", ""])
def test_two_different_transports_are_needed(duetime: Command, small: Path, names: str) -> None:
    done = duetime("robust", small, "--transports", names)
    assert (done.returncode, done.stdout) == (2, "")
    assert "name two different transports or more" in done.stderr
