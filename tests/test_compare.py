"""Several transports, several seeds."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import duetime as dt
from conftest import SCENARIOS, SMALL, Command
from duetime.comparison import _least
from duetime.statistics import estimate, over_seeds, with_trims


def test_each_transport_has_its_object(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp,dctcp,d2tcp", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    runs = json.loads(done.stdout)["runs"]
    assert list(runs) == ["tcp", "dctcp", "d2tcp"]
    for transport, run in runs.items():
        alone = dt.run(small, transport=transport).data
        assert run["transport"] == transport
        assert {**run, "wall_s": 0} == {**alone, "wall_s": 0}


def test_the_table_shows_transports_side_by_side(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp,d2tcp", "--seeds", 2)
    assert done.returncode == 0
    header = next(line for line in done.stdout.splitlines() if "class" in line)
    assert header.split() == ["class", "tcp", "d2tcp", "bound", *["d2tcp", "-", "tcp"]]
    words = (
        "mean ± 95 % interval over 2 seeds",
        "missed %",
        "queries",
        "web",
        "all",
        "drops",
        "2 seeds are few",
    )
    for word in words:
        assert word in done.stdout


def test_seeds_give_means_intervals_and_values(small: Path) -> None:
    compared = dt.compare(small, transports=["dctcp", "d2tcp"], seeds=3, jobs=2)
    run = compared.data["runs"]["d2tcp"]
    assert run["seeds"] == [5, 6, 7]
    alone = [dt.run(small, seed=seed) for seed in (5, 6, 7)]
    delivered = [result.data["packets_delivered"] for result in alone]
    assert run["packets_delivered"]["values"] == delivered
    p99 = run["summary"]["fct_us"]["p99"]
    assert p99["values"] == [result.summary["fct_us"]["p99"] for result in alone]
    assert p99["mean"] == pytest.approx(sum(p99["values"]) / 3)
    assert p99["ci95"][0] < p99["mean"] < p99["ci95"][1]
    assert run["classes"]["web"]["missed_percent"] is None
    assert [result.seed for result in compared.runs["d2tcp"]] == [5, 6, 7]


#: Each query needs 4.2 ms of the parent's link for its answers, and has 2 to 3 ms.
TIGHT = {
    **{"traffic.queries.every": "6 ms", "traffic.queries.size": "130 KB", "run.duration": "40 ms"},
    "traffic.queries.deadline": {"base": "2 ms", "vary": "uniform(0, 50%)"},
}


def test_no_transport_misses_less_than_the_bound(small: Path) -> None:
    bound = dt.bound(small, set=TIGHT)
    assert bound is not None
    assert bound["missed_percent"] == pytest.approx(100 * bound["missed"] / 24)
    assert bound["missed"] >= 6
    assert (bound["side"], bound["method"]) == ("receivers", "exact")
    names = [entry["name"] for entry in dt.catalog()["transports"]]
    compared = dt.compare(small, transports=names, set=TIGHT)
    assert compared.bound == compared.data["bound"] == bound
    for run in compared.runs.values():
        assert run.bound == bound
        assert run.summary["missed"] >= bound["missed"]
        assert run.summary["missed_percent"] >= bound["missed_percent"]


def test_over_seeds_the_bound_has_its_mean_and_its_methods(small: Path) -> None:
    compared = dt.compare(small, transports=["tcp", "d2tcp"], seeds=3, set=TIGHT)
    alone = [dt.bound(small, seed=seed, set=TIGHT) for seed in (5, 6, 7)]
    bound = compared.bound
    assert bound is not None
    assert bound["missed"]["values"] == [each["missed"] for each in alone if each]
    assert (bound["side"], bound["method"]) == ("receivers", "exact")
    table = compared.table()
    assert table["bound_missed"].to_list()[:2] == [bound["missed"]["mean"]] * 2
    assert table["bound_missed"][2] is None
    assert {"bound_missed_percent", "bound_missed_percent_low"} <= set(table.columns)
    nothing = dt.compare(small, transports=["tcp"], seeds=2, set={"run.warm_up": "9.999 ms"})
    assert nothing.bound is None


def test_the_least_of_several_bounds_counts() -> None:
    def bound(missed: int, web: int) -> dict[str, Any]:
        return {"missed": missed, "classes": {"web": {"missed": web}, "long": None}}

    assert _least([]) is None
    assert _least([bound(3, 1), bound(2, 2)]) == {
        "missed": 2,
        "classes": {"web": {"missed": 1}, "long": None},
    }


def test_seeds_start_from_the_seed_that_is_asked_for(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp", "--seeds", 2, "--seed", 40, "--json")
    assert json.loads(done.stdout)["runs"]["tcp"]["seeds"] == [40, 41]
    done = duetime("compare", small, "--transports", "tcp", "--seeds", 1, "--set", "run.seed=9", "--json")
    run = json.loads(done.stdout)["runs"]["tcp"]
    assert (run["seed"], run["seeds"]) == (9, [9])
    assert run["events"]["ci95"] == [None, None]


def test_the_number_of_jobs_changes_nothing(small: Path) -> None:
    def runs(jobs: int) -> list[str]:
        compared = dt.compare(small, transports=["tcp", "d2tcp"], seeds=3, jobs=jobs)
        results = [result for results in compared.runs.values() for result in results]
        return [json.dumps({**result.data, "wall_s": 0}) for result in results]

    assert runs(1) == runs(3)


def test_out_has_a_folder_for_each_run(duetime: Command, small: Path, tmp_path: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp,d2tcp", "--out", "plain", "--json")
    parts = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert parts == ["SHA256SUMS", "compare.json", "d2tcp", "runs", "tcp"]
    assert dt.load(tmp_path / "plain/tcp").transport == "tcp"
    record = json.loads((tmp_path / "plain/compare.json").read_text())
    assert record["runs"] == json.loads(done.stdout)["runs"]
    assert record["interrupted"] is False

    assert duetime("compare", small, "--transports", "tcp", "--seeds", 2, "--out", "plain").returncode == 0
    found = sorted(str(path.relative_to(tmp_path / "plain")) for path in tmp_path.glob("plain/**/run.json"))
    assert found == ["tcp/seed-5/run.json", "tcp/seed-6/run.json"]


def test_classes_with_their_own_transport_keep_it() -> None:
    text = SMALL.replace('pattern = "poisson"', 'pattern = "poisson"\ntransport = "tcp"')
    compared = dt.compare(text, transports=["dctcp", "d2tcp"])
    scenarios = [run.scenario for run in compared.runs.values()]
    assert [scenario["transport"]["name"] for scenario in scenarios] == ["dctcp", "d2tcp"]
    for scenario in scenarios:
        assert "tcp" in json.dumps(scenario["traffic"][1]["transport"])


def test_the_table_has_a_row_for_each_part(small: Path) -> None:
    plain = dt.compare(small, transports=["tcp", "d2tcp"]).table()
    assert plain["class"].to_list() == ["all", "queries", "web"] * 2
    assert {"transport", "missed_percent", "fct_us_p99", "answers_in_time_percent_p1"} <= set(plain.columns)
    seeds = dt.compare(small, transports=["tcp"], seeds=2).table()
    assert {"fct_us_p99", "fct_us_p99_low", "fct_us_p99_high"} <= set(seeds.columns)
    low, mean, high = (seeds[f"fct_us_p99{end}"][0] for end in ("_low", "", "_high"))
    assert low < mean < high


def test_a_class_may_be_called_all(duetime: Command, small: Path) -> None:
    small.write_text(small.read_text().replace('name = "web"', 'name = "all"'))
    table = dt.compare(small, transports=["tcp"]).table()
    assert table["class"].to_list() == ["all", "queries", "all"]
    assert table["messages"][0] == table["messages"][1] + table["messages"][2]
    shown = duetime("compare", small, "--transports", "tcp").stdout
    first, second = (line.split()[-1] for line in shown.splitlines() if re.match(r" +(class )?all ", line))
    assert first != second


def test_a_mistake_shows_before_the_first_run(small: Path) -> None:
    with pytest.raises(dt.ScenarioError):
        dt.compare(small, transports=["tcp", "nonsense"], set={"run.duration": "100000 s"})
    with pytest.raises(ValueError, match="no transports"):
        dt.compare(small, transports=[])
    with pytest.raises(ValueError, match="at least one"):
        dt.compare(small, transports=["tcp"], seeds=0)


def test_an_interval_by_hand() -> None:
    # Mean 2, standard deviation 1, standard error 1/sqrt(3), t = 4.303.
    found = estimate([1, 2, 3])
    assert found is not None
    assert found["ci95"] == pytest.approx([2 - 2.4841, 2 + 2.4841], abs=1e-4)
    assert estimate([None, None]) is None
    assert estimate([None, 4.0]) == {"mean": 4.0, "ci95": [None, None], "values": [None, 4.0]}


def test_names_are_no_measurements() -> None:
    queue = {"src": "switch", "dst": "host 1", "mean": 1.0}
    other = {**queue, "dst": "host 2", "mean": 3.0}
    objects = [
        {"title": "x", "seed": seed, "busiest_queue": each} for seed, each in enumerate((queue, other, None))
    ]
    merged = over_seeds(objects)
    assert (merged["title"], merged["seeds"]) == ("x", [0, 1, 2])
    assert merged["busiest_queue"]["dst"] == ["host 1", "host 2", None]
    assert merged["busiest_queue"]["mean"]["values"] == [1.0, 3.0, None]


def test_a_comparison_can_be_drawn_and_written_again(duetime: Command, small: Path, tmp_path: Path) -> None:
    again = ("compare", small, "--transports", "tcp,d2tcp", "--out", "result")
    assert duetime(*again).returncode == 0
    drawn = duetime("plot", "result")
    assert drawn.returncode == 0
    pictures = drawn.stdout.split()
    assert pictures
    assert all((tmp_path / picture).stat().st_size > 0 for picture in pictures)
    assert duetime(*again).returncode == 0
    assert not (tmp_path / "result/plots").exists()


def test_differences_are_taken_seed_by_seed(small: Path) -> None:
    compared = dt.compare(small, transports=["tcp", "dctcp", "d2tcp"], seeds=3, against="dctcp")
    data = compared.data
    assert (data["against"], list(data["differences"])) == ("dctcp", ["tcp", "d2tcp"])
    p99 = {name: run["classes"]["web"]["fct_us"]["p99"]["values"] for name, run in data["runs"].items()}
    found = data["differences"]["tcp"]["classes"]["web"]["fct_us"]["p99"]
    assert found["values"] == [a - b for a, b in zip(p99["tcp"], p99["dctcp"], strict=True)]
    table = compared.differences()
    row = table.filter(transport="tcp", **{"class": "web"}, figure="fct_us_p99").to_dicts()[0]
    assert row["against"] == "dctcp"
    assert (row["difference"], row["low"], row["high"]) == (found["mean"], *found["ci95"])
    turned = compared.differences("tcp").filter(transport="dctcp", **{"class": "web"}, figure="fct_us_p99")
    assert turned["difference"][0] == pytest.approx(-row["difference"])
    assert [each["transport"] for each in data["verdicts"]] == ["tcp", "d2tcp"]


def test_one_run_each_has_plain_differences(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp,d2tcp", "--json")
    data = json.loads(done.stdout)
    runs = data["runs"]
    expected = runs["d2tcp"]["summary"]["fct_us"]["p99"] - runs["tcp"]["summary"]["fct_us"]["p99"]
    assert data["differences"]["d2tcp"]["summary"]["fct_us"]["p99"] == expected
    sentence = data["verdicts"][0]["sentence"]
    assert sentence.startswith("No difference between d2tcp and tcp in missed deadlines with seed 5; up")


def test_against_must_be_compared(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp,dctcp", "--against", "dtcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean dctcp?" in done.stderr


def test_a_comparison_makes_each_run_once(duetime: Command, small: Path, tmp_path: Path) -> None:
    words = ("compare", small, "--transports", "tcp,d2tcp", "--out", "out")
    first = duetime(*words, "--seeds", 2, "--json")
    assert first.returncode == 0
    runs = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/*/*.json")}
    assert len(runs) == 4
    assert duetime(*words, "--seeds", 2, "--json").stdout == first.stdout
    assert duetime(*words, "--seeds", 3).returncode == 0
    again = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/*/*.json")}
    assert len(again) == 6
    assert {path: again[path] for path in runs} == runs, "nothing was run again"
    assert dt.load(tmp_path / "out/tcp/seed-5").flows.equals(dt.run(small, transport="tcp").flows)


def test_the_store_changes_no_figure(small: Path, tmp_path: Path) -> None:
    plain = dt.compare(small, transports=["tcp", "d2tcp"], seeds=2)
    stored = dt.compare(small, transports=["tcp", "d2tcp"], seeds=2, store=tmp_path / "store")
    for one, other in zip(plain.runs["d2tcp"], stored.runs["d2tcp"], strict=True):
        assert {**one.data, "wall_s": None} == other.data
        assert one.flows.equals(other.flows)
        assert one.queries.equals(other.queries)


def test_seeds_that_change_nothing_are_said(duetime: Command) -> None:
    done = duetime(
        "compare",
        SCENARIOS / "four-flows.toml",
        "--transports",
        "tcp",
        "--seeds",
        2,
        "--set",
        "run.duration=20 ms",
        "--set",
        "run.cool_down=0 s",
        "--set",
        "network.host_jitter=0 s",  # the only thing here that is drawn
    )
    assert done.returncode == 0, done.stderr
    assert "the 2 seeds change nothing" in done.stdout
    assert "±" not in done.stdout.split("\n", 2)[2]


def test_a_parameter_of_one_of_them_can_be_set(duetime: Command, small: Path, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(small.read_text().replace('name = "d2tcp"', 'name = "tcp"'))
    assert dt.check(tmp_path / "own.toml")[0]["transport"]["name"] == "tcp"
    words = ("--transports", "dctcp,d2tcp", "--set", "transport.d_cap=1.5", "--out", "o")
    done = duetime("compare", "own.toml", *words)
    assert done.returncode == 0
    (told,) = (line for line in done.stderr.splitlines() if "d_cap" in line)
    assert told == "note: dctcp: `transport.d_cap` is dropped: `dctcp` has no such parameter"
    assert dt.load(tmp_path / "o/d2tcp").scenario["transport"]["d_cap"] == 1.5
    assert "d_cap" not in dt.load(tmp_path / "o/dctcp").scenario["transport"]


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "small.toml"),
        ("robust", "small.toml", "--variants", 2),
        ("tighten", "small.toml", "--target", "5%"),
    ],
)
def test_a_parameter_that_none_of_them_has_is_refused(
    duetime: Command, small: Path, command: tuple[object, ...]
) -> None:
    done = duetime(*command, "--transports", "tcp,dctcp", "--set", "transport.d_cap=1.5", "--out", "o")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --set transport.d_cap: is not a parameter of tcp or dctcp\n"
    assert list(small.parent.iterdir()) == [small]


def test_the_commands_of_the_page_run(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(SCENARIOS)
    page = (SCENARIOS.parent / "docs/comparing.md").read_text()
    commands = [block.strip() for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    assert [command.split()[1] for command in commands] == ["compare", "compare", "run"]
    for command in commands:
        done = duetime(*shlex.split(command)[1:])
        assert done.returncode == 0, done.stderr


#: Ten hosts answer one through a buffer of ten packets, which drops or trims the rest.
TRIMMED = """
[run]
duration = "20 ms"
[network]
topology = "star"
hosts = 11
rate = "1 Gbps"
delay = "20 us"
buffer = "15 KB"
sharing = "per-port"
trim = true
[transport]
name = "dctcp"
[[traffic]]
name = "answers"
pattern = "fan-in"
leaves = 10
size = "30 KB"
every = "10 ms"
"""


def test_trims_are_beside_drops_where_there_are_any(duetime: Command, small: Path, tmp_path: Path) -> None:
    trimmed = tmp_path / "trimmed.toml"
    trimmed.write_text(TRIMMED)
    compared = dt.compare(trimmed, transports=["tcp", "dctcp"], seeds=2)
    of = {name: run["trims"] for name, run in compared.data["runs"].items()}
    assert all(min(each["values"]) > 0 for each in of.values())
    expected = of["dctcp"]["mean"] - of["tcp"]["mean"]
    assert compared.data["differences"]["dctcp"]["trims"]["mean"] == pytest.approx(expected)
    done = duetime("compare", trimmed, "--transports", "tcp,dctcp")
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert rows[rows.index("drops") + 1] == "trims"
    done = duetime("compare", small, "--transports", "tcp,dctcp")
    assert "trims" not in done.stdout


def test_a_run_without_trims_has_none_among_others_with_them() -> None:
    assert with_trims([{"drops": 1}, {"trims": 4}]) == [{"drops": 1, "trims": 0}, {"trims": 4}]
    assert with_trims([{"drops": 1}, {"drops": 2}]) == [{"drops": 1}, {"drops": 2}]


def test_timers_are_told_of_transports_with_timeouts(duetime: Command, small: Path) -> None:
    """A buffer of five packets loses whole windows; as written no timer expires."""
    lossy = ("--set", "network.buffer=5 packets", "--set", "transport.rto_min=1 ms")
    data = json.loads(duetime("compare", small, "--transports", "tcp,dctcp", *lossy, "--json").stdout)
    done = duetime("compare", small, "--transports", "tcp,dctcp", *lossy)
    for name, run in data["runs"].items():
        told = [line for line in done.stdout.splitlines() if f"timeouts of {name}: " in line]
        assert len(told) == (run["timeouts"] > 0)
    assert any(run["timeouts"] for run in data["runs"].values())
    done = duetime("compare", small, "--transports", "tcp,dctcp", *lossy, "--seeds", 2)
    assert "timeouts of tcp, mean over seeds: " in done.stdout
    assert "timeouts of" not in duetime("compare", small, "--transports", "tcp,dctcp").stdout
