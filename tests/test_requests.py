"""Requests of stages in results: by hand in a queue of one server, and the same wherever they are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import duetime as dt
from conftest import Command
from duetime import decide, errors, scenario
from duetime.decide import Runs
from duetime.display import runs as shown
from duetime.plots import NoResults, plot_dir
from duetime.report import experiments, report
from duetime.run import simulate

#: Requests every 600 us ask host 1, whose only server works for 1 ms on each: the first does not wait, each
#: other 400 us longer than the one before.
QUEUE = """
title = "A queue"
[parameters]
gap = "600 us"
[run]
duration = "100 ms"
[network]
topology = "star"
hosts = 3
rate = "10 Gbps"
delay = "1 us"
[transport]
name = "dctcp"
[[traffic]]
name = "jobs"
pattern = "stages"
every = "$gap"
count = 5
deadline = "2 ms"
pieces = true
[traffic.roles]
front = 0
back = 1
[[traffic.stage]]
name = "ask"
from = "front"
to = "back"
size = "1 KB"
[[traffic.stage]]
name = "work"
at = "back"
time = "1 ms"
servers = 1
[[traffic.goal]]
name = "soon"
stage = "work"
within = "1.5 ms"
"""

#: As many draws as a run needs that differs from seed to seed; two classes, which share a stage's name.
RANDOM = """
title = "Two services"
[run]
duration = "40 ms"
warm_up = "2 ms"
[network]
topology = "star"
hosts = 8
rate = "1 Gbps"
delay = "2 us"
[transport]
name = "dctcp"
[[traffic]]
name = "search"
pattern = "stages"
every = "exponential(300 us)"
deadline = "1.2 ms"
pieces = true
[traffic.roles]
front = "0..2"
shard = { hosts = "2..8", count = 4 }
[[traffic.stage]]
name = "question"
from = "front"
to = "shard"
size = "1 KB"
[[traffic.stage]]
name = "work"
at = "shard"
time = "exponential(200 us)"
servers = 1
[[traffic.stage]]
name = "answer"
from = "shard"
to = "front"
size = "10 KB"
[[traffic.goal]]
name = "worked"
stage = "work"
within = "600 us"
[[traffic]]
name = "copy"
pattern = "stages"
every = "exponential(1 ms)"
[traffic.roles]
source = "0..4"
target = "4..8"
[[traffic.stage]]
name = "work"
at = "source"
time = "100 us"
[[traffic.stage]]
name = "block"
from = "source"
to = "target"
size = "30 KB"
"""


@pytest.fixture(scope="module")
def queue() -> dt.Result:
    return dt.run(QUEUE)


@pytest.fixture(scope="module")
def both() -> dt.Result:
    return dt.run(RANDOM)


def near(times: float | list[float]) -> Any:
    """Return these times in us, but for the messages' own differences, which are parts of a microsecond."""
    return pytest.approx(times, abs=1)


def test_times_and_goals_of_a_queue_follow_by_hand(queue: dt.Result) -> None:
    table = queue.requests
    ask = queue.flows["fct_us"][0]
    assert table["request"].to_list() == [0, 1, 2, 3, 4]
    assert table["arrival_us"].to_list() == [600.0 * k for k in range(1, 6)]
    assert table["waiting_us"].to_list() == near([400.0 * k for k in range(5)])
    assert table["work_us"].to_list() == pytest.approx([1000.0] * 5)
    assert table["network_us"].to_list() == queue.flows["fct_us"].to_list()
    assert table["time_us"].to_list() == near([1000 + ask + 400.0 * k for k in range(5)])
    assert table["alone_us"].to_list() == near([1000 + ask] * 5)
    assert table["end_us:work"].to_list() == table["end_us"].to_list()
    assert table["goal:soon"].to_list() == [True, True, False, False, False]
    assert table["goal:deadline"].to_list() == [True, True, True, False, False]
    assert table["missed"].to_list() == [False, False, False, True, True]
    # From the third on the work takes longest from when it could start, not the message.
    assert table["longest_host"].to_list() == [1] * 5
    assert set(table["longest_stage"]) == {"work"}


def test_the_summary_of_a_queue_follows_by_hand(queue: dt.Result) -> None:
    requests = queue.summary["requests"]
    ask = queue.flows["fct_us"][0]
    assert (requests["number"], requests["finished"], requests["missed"]) == (5, 5, 3)
    assert requests["goals"]["soon"] == {"judged": 5, "missed": 3, "undecided": 0, "attainment_percent": 40.0}
    assert requests["goals"]["deadline"]["attainment_percent"] == 60.0
    assert requests["all_goals_percent"] == 40.0
    assert requests["goodput_per_s"] == pytest.approx(20)
    assert requests["finished_per_s"] == pytest.approx(50)
    assert requests["time_us"]["p50"] == near(1800 + ask)
    assert requests["stragglers"] == [{"host": 1, "percent": 100.0}]
    whole = 5 * (1000 + ask) + 4000
    work = requests["stages"]["work"]
    assert work["work_percent"] == pytest.approx(100 * 5000 / whole, abs=0.02)
    assert work["waiting_percent"] == pytest.approx(100 * 4000 / whole, abs=0.02)
    assert requests["stages"]["ask"]["share_percent"] == pytest.approx(100 * 5 * ask / whole, abs=0.02)
    assert queue.classes["jobs"]["requests"] == requests


def test_pieces_are_the_timeline_of_a_request(queue: dt.Result) -> None:
    last = queue.pieces.filter(pl.col("request") == 4)
    ask = queue.flows["fct_us"][0]
    assert last["stage"].to_list() == ["ask", "work"]
    assert last["ready_us"].to_list() == near([3000, 3000 + ask])
    assert last["began_us"].to_list() == near([3000, 4600 + ask])
    assert last["end_us"].to_list() == near([3000 + ask, 5600 + ask])
    # The work must end 1.5 ms after the arrival, and the message a work earlier.
    assert last["due_us"].to_list() == pytest.approx([3500, 4500])
    assert last["critical"].to_list() == [True, True]


def test_without_being_asked_for_no_pieces_are_kept() -> None:
    result = dt.run(QUEUE.replace("pieces = true", ""))
    assert (result.pieces.height, result.requests.height) == (0, 5)


def test_messages_name_their_stage(both: dt.Result) -> None:
    counted = both.flows.group_by("class", "stage").len().sort("class", "stage")
    assert counted["stage"].to_list() == ["block", "answer", "question"]
    assert both.flows.filter(pl.col("stage") == "answer")["bytes"].unique().to_list() == [10_000]


def test_classes_have_null_in_the_columns_of_others(both: dt.Result) -> None:
    table = both.requests
    copies, searches = (table.filter(pl.col("class") == name) for name in ("copy", "search"))
    assert copies["goal:deadline"].null_count() == copies["deadline_us"].null_count() == copies.height > 10
    assert copies["end_us:question"].null_count() == copies.height
    assert table.filter("counted")["end_us:work"].null_count() == 0
    assert searches["end_us:block"].null_count() == searches.height
    assert (table["class"].to_list(), table["request"].head(3).to_list()) == (
        ["search"] * searches.height + ["copy"] * copies.height,
        [0, 1, 2],
    )


def test_the_summary_is_that_of_the_table(both: dt.Result) -> None:
    counted = both.requests.filter("counted")
    requests = both.summary["requests"]
    assert (requests["number"], requests["finished"]) == (counted.height, counted["end_us"].count())
    assert both.requests.height > counted.height, "some arrive in the warm-up"
    for goal in ("deadline", "worked"):
        judged = counted[f"goal:{goal}"].drop_nulls()
        assert requests["goals"][goal]["attainment_percent"] == pytest.approx(100 * judged.mean())
    every = counted.filter(pl.col("class") == "search").select(
        (pl.col("goal:deadline") & pl.col("goal:worked")).mean()
    )
    assert requests["all_goals_percent"] == pytest.approx(100 * every.item())
    parts = [counted[f"{part}_us"].sum() for part in ("network", "work", "waiting")]
    assert sum(parts) == pytest.approx(counted["time_us"].sum())
    shares = requests["stages"].values()
    for key, part in zip(("network_percent", "work_percent", "waiting_percent"), parts, strict=True):
        assert sum(stage[key] for stage in shares) == pytest.approx(100 * part / sum(parts))
    straggler = requests["stragglers"][0]
    most = counted.group_by("longest_host").len().sort("len", "longest_host", descending=[True, False]).row(0)
    assert straggler == {"host": most[0], "percent": pytest.approx(100 * most[1] / counted.height)}
    for name, queries in (("p50", 0.5), ("p99", 0.99)):
        assert requests["time_us"][name] == pytest.approx(counted["time_us"].quantile(queries, "linear"))


@pytest.mark.parametrize("block", [1, 16, 65_536])
def test_streamed_or_in_memory_requests_are_the_same(block: int, tmp_path: Path, both: dt.Result) -> None:
    streamed = simulate(scenario.read(RANDOM), None, None, None, None, out=tmp_path, block=block)
    loaded = dt.load(tmp_path)
    assert isinstance(loaded, dt.Result)
    assert streamed.summary == loaded.summary == both.summary
    for name in ("requests", "pieces", "flows"):
        assert_frame_equal(getattr(loaded, name), getattr(both, name), check_exact=True)


def test_a_saved_result_has_its_requests(queue: dt.Result, tmp_path: Path) -> None:
    queue.save(tmp_path / "o")
    assert {"requests.parquet", "pieces.parquet"} <= {path.name for path in (tmp_path / "o").iterdir()}
    assert_frame_equal(dt.load(tmp_path / "o").requests, queue.requests)  # type: ignore[union-attr]


def test_what_had_not_ended_is_undecided_or_missed() -> None:
    # The last three requests end at 3.6 + x, 4.6 + x and 5.6 + x ms; the run at 4 ms.
    result = dt.run(QUEUE, set={"run.duration": "4 ms", "run.cool_down": "0 s"})
    requests = result.summary["requests"]
    assert (requests["number"], requests["finished"], requests["censored"]) == (5, 3, 2)
    # Due: 1.5 and 2 ms after 2.4 and 3 ms.
    assert requests["goals"]["soon"] == {"judged": 4, "missed": 2, "undecided": 1, "attainment_percent": 50.0}
    assert result.requests["goal:soon"].to_list() == [True, True, False, False, None]
    assert (requests["missed"], requests["undecided"]) == (2, 1)
    assert requests["time_us"]["p99"] is None
    assert requests["time_us"]["at_least"]["p99"] > 1000


def test_the_table_of_a_run_has_a_column_for_each_goal(queue: dt.Result) -> None:
    grid, lines = shown.table(queue)
    titles = [column.title for column in grid.columns]
    assert titles[:4] == ["requests", "deadline met %", "soon met %", "all goals met %"]
    assert grid.filled[0][1][:4] == ["5", "60.00", "40.00", "40.00"]
    assert "longest on the critical path: host 1 (100 % of the requests)" in lines


def test_a_run_without_requests_shows_none_of_it() -> None:
    plain = dt.run(
        "[run]\nduration='1 ms'\n[network]\ntopology='star'\nhosts=3\nrate='1 Gbps'\ndelay='1 us'\n"
        "[transport]\nname='tcp'\n[[traffic]]\nname='web'\npattern='poisson'\nload=0.3\nsize='2 KB'\n"
    )
    assert "requests" not in plain.summary
    assert "stage" not in plain.flows.columns
    assert "message" not in plain.flows.columns
    assert plain.requests.height == plain.pieces.height == 0
    assert not any("met %" in column.title for column in shown.table(plain)[0].columns)


def test_transports_are_compared_by_requests() -> None:
    compared = dt.compare(RANDOM, ["dctcp", "tcp"], seeds=3, jobs=1)
    dctcp = compared.data["runs"]["dctcp"]["summary"]["requests"]
    values = [result.summary["requests"]["all_goals_percent"] for result in compared.by_seed["dctcp"]]
    assert dctcp["all_goals_percent"]["values"] == values
    low, high = dctcp["goals"]["worked"]["attainment_percent"]["ci95"]
    assert 0 <= low < dctcp["goals"]["worked"]["attainment_percent"]["mean"] < high <= 100
    (verdict,) = compared.verdicts
    assert verdict["figure"] == "requests.all_goals_percent"
    assert "requests" in verdict["sentence"]
    table = compared.table()
    assert "requests_goals_worked_attainment_percent" in table.columns
    assert not any("straggler" in name for name in table.columns)


def test_a_condition_may_be_on_a_goal(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "queue.toml").write_text(QUEUE)
    run = ("run", tmp_path / "queue.toml")
    failed = duetime(*run, "--fail-if", "requests.goals.soon.attainment_percent < 50%")
    assert failed.returncode == 3
    assert "dctcp has requests.goals.soon.attainment_percent = 40" in failed.stderr
    assert duetime(*run, "--fail-if", "jobs.requests.time_us.p50 > 2 ms").returncode == 0
    mistaken = duetime(*run, "--fail-if", "requests.goals.soo.attainment_percent < 50")
    assert mistaken.returncode == 2
    assert "did you mean `requests.goals.soon.attainment_percent`?" in mistaken.stderr


def searched(tmp_path: Path, goal: str | None, target: float) -> dict[str, Any]:
    (tmp_path / "queue.toml").write_text(QUEUE)
    asked = Runs(
        tmp_path / "queue.toml", (), ("dctcp",), (1,), tmp_path / "runs", jobs=1, progress=False, goal=goal
    )
    found = decide.need(asked, target=target, over="gap", start="500 us", end="1000 us", step="50 us").data
    (answer,) = found["answers"]
    return {**found, "answer": answer}


def test_the_shortest_gap_that_reaches_a_goal_follows_by_hand(tmp_path: Path) -> None:
    # The fifth waits for 4 (1 ms - gap). With 1 ms of work it is within 1.5 ms from 0.876 ms on. It is within
    # 2 ms from 0.751 ms on. The fourth waits for 3 (1 ms - gap): one in five may be late from 0.834 ms on.
    for number, (goal, target, gap) in enumerate(
        [
            ("soon", 0.0, "900 us"),
            ("deadline", 0.0, "800 us"),
            ("soon", 20.0, "850 us"),
            ("all goals", 0.0, "900 us"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = searched(folder, goal, target)
        assert (found["goal"], found["answer"]["smallest"]) == (goal, gap)
        assert found["answer"]["bound_percent"] is None


def test_a_search_says_which_goal_it_means(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "queue.toml").write_text(QUEUE)
    words = (
        "need",
        tmp_path / "queue.toml",
        "--over",
        "gap",
        "--from",
        "800 us",
        "--to",
        "1000 us",
        "--seeds",
        1,
    )
    done = duetime(*words, "--step", "100 us", "--attain", "100%", "--goal", "soon")
    assert done.returncode == 0, done.stderr
    assert "dctcp needs gap >= 900 us for at most 0 % of requests that miss soon" in " ".join(
        done.stdout.split()
    )
    assert "late requests %" in " ".join(done.stdout.split())
    for more, said in (
        (("--attain", "99%", "--goal", "sooner"), "--goal sooner: there is no such goal; did you mean soon?"),
        (("--attain", "99%", "--target", "1%"), "give either --target or --attain"),
        ((), "give either --target or --attain"),
    ):
        refused = duetime(*words, *more)
        assert refused.returncode == 2
        assert said in refused.stderr


def test_a_goal_needs_requests(tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text(re.sub(r"deadline = .*", "", QUEUE.split("[[traffic.goal]]")[0]))
    asked = Runs(tmp_path / "none.toml", (), ("dctcp",), (1,), tmp_path / "runs", progress=False, goal="soon")
    with pytest.raises(errors.Unreadable, match="no class has requests with a goal"):
        decide.need(asked, target=1, over="gap")


def test_the_bound_of_requests_needs_no_run(duetime: Command, tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(QUEUE)
    # The work alone takes 1 ms.
    for within, missed in (("900 us", 5), ("2 ms", 0)):
        change = ("--set", f"traffic.jobs.deadline={within}")
        said = json.loads(duetime("bound", file, "--json", *change).stdout)
        run = json.loads(duetime("run", file, "--json", *change).stdout)
        assert (said["requests"]["missed"], said["bound"], said["depends_on_run"]) == (missed, None, {})
        assert run["summary"]["requests"]["bound"]["missed"] == missed
        shown = duetime("bound", file, *change)
        assert shown.returncode == 0
        assert re.search(rf"jobs +{missed} +[\d.]+ +(receivers|-) ", shown.stdout)
        assert "no schedule of these requests can miss fewer" in shown.stdout
        assert "tree" not in shown.stdout
        assert "deadline\n" not in shown.stdout, "there are no other messages"


def test_no_bound_of_requests_is_foreseen_that_depend_on_the_run(duetime: Command, tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    for text, why in (
        (QUEUE.replace('every = "$gap"', "clients = 2"), "its clients ask again when a request has ended"),
        (
            QUEUE.replace("back = 1", 'back = { hosts = [1], pick = "least-loaded" }'),
            "picks the least loaded hosts",
        ),
    ):
        file.write_text(text)
        said = json.loads(duetime("bound", file, "--json").stdout)
        assert (said["bound"], said["requests"]) == (None, None)
        assert why in said["depends_on_run"]["jobs"]
        shown = " ".join(duetime("bound", file).stdout.split())
        assert shown.startswith("jobs: no bound before a run, as ")
        assert why in shown
    assert json.loads(duetime("run", file, "--json").stdout)["summary"]["requests"]["bound"]["missed"] == 0


def test_messages_of_requests_are_no_answers_of_a_tree(both: dt.Result) -> None:
    assert both.data["bound"] is not None
    assert (
        both.data["bound"]["reason"] == "messages of requests are left out, whose bound is `requests.bound`"
    )


def test_check_says_who_asks_in_a_closed_loop(duetime: Command, tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(QUEUE.replace('every = "$gap"\ncount = 5', 'clients = 16\nthink = "exponential(500 us)"'))
    said = " ".join(duetime("check", file).stdout.split())
    # A request takes 1 ms of work and a pause of 500 us: 16 of them 66 times in 100 ms, with a message each.
    assert "16 clients, each asks again after a pause of 500 us (mean) when its request has ended" in said
    found = re.search(r"has ended: at most about ([\d,]+) messages", said)
    assert found is not None
    assert float(found[1].replace(",", "")) == pytest.approx(16 * 100 / 1.5, rel=0.01)
    assert "asked" not in said
    explained = json.loads(duetime("check", file, "--explain", "--json").stdout)
    clients = explained["classes"][0]["clients"]
    assert (clients["count"], clients["think_us"]) == (16, 500)
    assert "16 clients" in " ".join(duetime("check", file, "--explain").stdout.split())
    file.write_text(QUEUE)
    assert "asked" in duetime("check", file).stdout
    assert json.loads(duetime("check", file, "--explain", "--json").stdout)["classes"][0]["clients"] is None


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ('size = "1 KB"', 'size = "1 KB"\nafter = ["work"]', 29, "these stages wait for each other"),
        ("back = 1", "back = { count = 1 }", 23, "`hosts`"),
        ('size = "1 KB"', 'size = "1 KB"\nrepeat = 2000000', 29, "`repeat` must be 1 to 1000000"),
        (
            "back = 1\n",
            'back = 1\nstore = 2\n[[traffic.stage]]\nname = "first"\nfrom = "front"\nto = "back"\n'
            'size = "1 B"\n'
            '[[traffic.stage]]\nname = "read"\nat = "store"\ntime = "1 ms"\n',
            32,
            "nothing of that ends at a host of role `store`",
        ),
        ('to = "back"', 'to = "next(front)"', 27, "role `front` has one host: there is no other"),
        ('stage = "work"\nwithin', 'stage = "wrok"\nwithin', 36, "there is no stage `wrok`"),
    ],
)
def test_mistakes_in_requests_are_one_message_with_its_place(
    duetime: Command, tmp_path: Path, old: str, new: str, place: int, said: str
) -> None:
    file = tmp_path / "queue.toml"
    assert QUEUE.count(old) == 1
    file.write_text(QUEUE.replace(old, new))
    for command in ("check", "run", "bound"):
        refused = duetime(command, file)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.count("error: ") == 1
        assert said in refused.stderr
        found = re.search(r"queue\.toml:(\d+):\d+", refused.stderr)
        assert found is not None
        assert int(found[1]) == place, refused.stderr


def test_a_text_in_a_column_of_numbers_is_one_message_with_its_place(
    duetime: Command, tmp_path: Path
) -> None:
    (tmp_path / "trace.csv").write_text("time,tokens\n0,5\n1,many\n")
    file = tmp_path / "queue.toml"
    requests = 'requests = { file = "trace.csv", columns = { arrival = "time", input = "tokens" } }'
    text = QUEUE.replace('every = "$gap"', requests).replace('time = "1 ms"', 'time = "1 ms * $input"')
    file.write_text(text)
    refused = duetime("check", file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("error: ") == 1
    assert "trace.csv:3:3" in refused.stderr
    assert "`tokens` must be a number, not `many`" in refused.stderr


def test_pictures_of_requests_are_drawn(tmp_path: Path, both: dt.Result) -> None:
    both.save(tmp_path / "o")
    assert {"requests.svg", "timeline.svg"} <= {path.name for path in plot_dir(tmp_path / "o")}
    timeline = (tmp_path / "o" / "plots" / "timeline.svg").read_text()
    for word in (
        "question",
        "waits for a server",
        "slack left",
        "deadline",
        "critical paths of the slowest 10",
    ):
        assert f">{word}" in timeline, word
    # One of median time, by the table.
    ended = both.requests.filter(pl.col("class") == "search", "counted").sort("time_us", "request")
    assert f">request {ended['request'][ended.height // 2]}<" in timeline
    slowest = ended["request"].reverse().head(10).to_list()
    assert all(f">{number}<" in timeline for number in slowest)
    requests = (tmp_path / "o" / "plots" / "requests.svg").read_text()
    assert ">worked<" in requests
    assert ">block<" in requests


def test_one_request_is_drawn_by_its_number(tmp_path: Path, queue: dt.Result) -> None:
    queue.save(tmp_path / "o")
    plot_dir(tmp_path / "o", request="jobs:4")
    assert ">request 4<" in (tmp_path / "o" / "plots" / "timeline.svg").read_text()
    for request, said in (
        ("jobs:9", "has no such request"),
        ("jib:1", "only jobs has pieces of requests"),
        ("last", "is written as CLASS:NUMBER, for example jobs:0"),
    ):
        with pytest.raises(NoResults, match=said):
            plot_dir(tmp_path / "o", tmp_path / "p", request=request)


def test_a_request_without_pieces_cannot_be_drawn(duetime: Command, tmp_path: Path) -> None:
    dt.run(QUEUE, set={"traffic.jobs.pieces": False}).save(tmp_path / "o")
    refused = duetime("plot", tmp_path / "o", "--request", "0")
    assert refused.returncode == 2
    assert "holds no pieces of requests (`pieces = true` of their class)" in refused.stderr


def test_the_report_shows_requests(duetime: Command, tmp_path: Path, queue: dt.Result) -> None:
    queue.save(tmp_path / "o")
    assert duetime("report", tmp_path / "o").returncode == 0
    page = (tmp_path / "o" / "report.html").read_text()
    for words in (
        "Requests that reached the goal in time",
        "Times of requests",
        "waiting for a server",
        "longest on the critical path of dctcp: host 1",
    ):
        assert words in page
    assert json.dumps(40.0) in page


def test_a_report_says_what_made_requests_late_and_shows_one(tmp_path: Path) -> None:
    result = dt.run(QUEUE)
    result.save(tmp_path / "o")
    (page,) = experiments(tmp_path / "o")
    chart = next(each for each in page.charts if each.title.startswith("Late requests by the stage"))
    table = result.requests
    late = table.filter(pl.col("missed") | ~pl.col("goal:soon"))
    assert 0 < late.height < table.height
    assert [(point.x, point.y) for point in chart.series[0].points] == [
        ("work", 100 * late.filter(pl.col("longest_stage") == "work").height / table.height)
    ]
    (picture,) = page.pictures
    assert b"waits for a server" in picture.svg
    assert "data:image/svg+xml;base64," in report(tmp_path / "o").read_text()
    dt.run(QUEUE, set={"traffic.jobs.pieces": False}).save(tmp_path / "without")
    assert experiments(tmp_path / "without")[0].pictures == ()
