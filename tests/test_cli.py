"""The commands as a shell runs them: output, messages, exit codes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import polars as pl
import pytest

import duetime as dt
from conftest import SCENARIOS, SMALL, Command, arguments
from duetime import _core
from duetime.cli import status

#: Forty senders give one receiver forty times 80 %.
MANY_TO_ONE = """
title = "Forty senders give one receiver 80 %"
profile = "classic"
[run]
duration = "100 ms"
[network]
topology = "star"
hosts = 41
rate = "10 Gbps"
delay = "25 us"
buffer = "250 packets"
sharing = "per-port"
mark = "65 packets"
[transport]
name = "dctcp"
rto_min = "10 ms"
[[traffic]]
name = "web"
pattern = "poisson"
from = "0..40"
to = 40
load = "80%"
size = "cdf(websearch)"
connections = "persistent"
"""

BAD = {
    "unknown key": ("hosts = 6", "hots = 6"),
    "unit": ('"1 Gbps"', '"1 GB"'),
    "syntax": ("hosts = 6", "hosts = = 6"),
    "transport": ('"d2tcp"', '"d3tcp"'),
}


def test_run_prints_a_table(duetime: Command, small: Path) -> None:
    done = duetime("run", small)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Small: d2tcp, seed 5, 0.01 s simulated" in done.stdout
    for word in ("messages", "missed %", "FCT p99", "FCT p99.9", "slowdown mean", "queries", "web", "all"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout


def test_bound_says_what_no_run_can_beat(duetime: Command, small: Path) -> None:
    tight = ("--set", "traffic.queries.deadline=200 us", "--set", "transport.rto_min=100 us", "--seed", 9)
    said = json.loads(duetime("bound", small, "--json", *tight).stdout)
    assert (said["title"], said["seed"]) == ("Small", 9)
    run = json.loads(duetime("run", small, "--json", *tight).stdout)
    assert said["bound"] == run["bound"]
    assert 0 < said["bound"]["missed"] <= run["summary"]["missed"]
    shown = duetime("bound", small, *tight)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.search(rf"queries +{said['bound']['missed']} .*receivers +exact", shown.stdout)
    assert "web" not in shown.stdout
    assert "no schedule of these messages can miss fewer" in shown.stdout
    assert "no schedule of these messages can miss fewer" in duetime("run", small).stdout
    without = duetime("bound", small, "--set", "run.warm_up=9.999 ms")
    assert without.stdout == "Small: no message that counts has a deadline\n"


def test_standard_input_is_read(duetime: Command, small: Path) -> None:
    piped = duetime("run", "-", "--json", stdin=SMALL)
    assert piped.returncode == 0
    from_file = json.loads(duetime("run", small, "--json").stdout)
    assert {**json.loads(piped.stdout), "wall_s": 0} == {**from_file, "wall_s": 0}


def test_options_change_the_scenario(duetime: Command, small: Path) -> None:
    done = duetime(
        "run", small, "--json", "--seed", 8, "--set", "run.duration=2 ms", "--set", "network.hosts=7"
    )
    data = json.loads(done.stdout)
    assert (data["seed"], data["simulated_s"]) == (8, 0.002)


@pytest.mark.parametrize("mistake", BAD)
@pytest.mark.parametrize("command", ["run", "check", "compare"])
def test_a_bad_scenario_is_shown_with_its_place(
    duetime: Command, tmp_path: Path, mistake: str, command: str
) -> None:
    (tmp_path / "bad.toml").write_text(SMALL.replace(*BAD[mistake]))
    more = ["--transports", "tcp,dctcp"] if command == "compare" and mistake != "transport" else []
    if command == "compare" and not more:
        more = ["--transports", "tcp,d3tcp"]
    done = duetime(command, "bad.toml", *more)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "^" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scenario_error_knows_its_place() -> None:
    bad = SMALL.replace("hosts = 6", "hots = 6")
    with pytest.raises(dt.ScenarioError) as caught:
        dt.run(bad)
    error = caught.value
    assert bad.splitlines()[error.line - 1] == "hots = 6"
    assert error.column == 1
    assert error.message in str(error)
    assert "hosts" in f"{error.message} {error.hint}"
    assert isinstance(error, ValueError)


def unreadable(kind: str, folder: Path) -> Path:
    path = folder / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "bytes":
        path.write_bytes(b"title = 'x'\n\xff\xfe")
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(17 * 1024 * 1024)
    elif kind == "no\udcffname":
        return Path(os.fsdecode(b"no\xffname"))
    return path


@pytest.mark.parametrize("kind", ["missing", "folder", "bytes", "huge", "no\udcffname"])
def test_what_is_no_text_is_refused_in_one_line(duetime: Command, tmp_path: Path, kind: str) -> None:
    done = duetime("run", unreadable(kind, tmp_path), "--out", "result")
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"error: .+\n", done.stderr)
    assert not (tmp_path / "result").exists()


def test_bytes_that_are_no_text_on_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(arguments("check", "-"), input=b"\xff", capture_output=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"error: <stdin>:1:1: not UTF-8 text (byte 0xff)\n"


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "x.toml", "--seed", "-1"),
        ("run", "x.toml", "--seed", str(2**64)),
        ("run", "x.toml", "--set", os.fsdecode(b"a=\xff")),
        ("compare", "small.toml", "--transports", ","),
        ("compare", "small.toml", "--transports", "tcp,tcp"),
        ("compare", "small.toml", "--transports", "tcp,tpc"),
        ("compare", "small.toml", "--transports", "tcp", "--seeds", "0"),
        ("compare", "small.toml", "--transports", "tcp", "--seeds", "1000000000"),
        ("compare", "small.toml", "--transports", "tcp,dctcp", "--seeds", "500001"),
        ("reproduce", "d2tcp/fig10", "--seeds", "1000001"),
        ("tighten", "small.toml", "--seeds", "1000001"),
        ("testbed", "small.toml", "--seeds", "1000001"),
        ("compare", "small.toml", "--transports", "tcp", "--seeds", "2", "--seed", str(2**64 - 1)),
        ("compare", "small.toml", "--transports", "tcp", "--jobs", "0"),
        ("run", "small.toml", "--set", "nonsense"),
        ("run", "small.toml", "--set", "run.duration"),
        ("run", "small.toml", "--set", "run.duration=-1 s"),
        ("transports", "d3tcp"),
        ("estimate", "small.toml", "--check", "nan"),
        ("estimate", "small.toml", "--check", "inf"),
        ("estimate", "small.toml", "--set", "transport.name=edf-grants"),
        ("schema", "--out", "no/such/folder.json"),
        ("plot", "nowhere"),
        ("nonsense",),
    ],
)
@pytest.mark.usefixtures("small")
def test_wrong_words_are_told_with_exit_code_2(
    duetime: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = duetime(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert "integer range" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_check_says_valid_and_shows_the_defaults(duetime: Command, small: Path) -> None:
    done = duetime("check", small)
    valid, queries, web, most, cost = done.stdout.splitlines()
    assert (done.returncode, valid, done.stderr) == (0, f"{small}: valid", "")
    # 10 ms at 40 answers of 11 KB, and at a tenth of six links.
    assert re.fullmatch(
        r"  queries: mean size 11 KB, drawn [\d.]+ KB; "
        r"asked 352 Mbps in 40 messages, drawn [\d.]+ Mbps in \d+",
        queries,
    )
    assert queries.endswith(f" in {len(dt.run(small).flows.filter(pl.col('class') == 'queries'))}")
    assert web.startswith("  web: mean size 15.5 KB, drawn ")
    assert "; asked 600 Mbps in 48.4 messages, drawn " in web
    # The aggregator's link has the queries, and a sixth of the web.
    assert re.fullmatch(r"  most loaded link: switch to host 5, asked 46.4 %, drawn [\d.]+ %", most)
    # 40 answers and 48.4 messages.
    assert cost.startswith("  expected cost: 88 messages, ")
    resolved = json.loads(duetime("check", small, "--json", "--seed", 3).stdout)
    assert resolved["run"]["seed"] == 3
    assert resolved["network"]["sharing"] == "dynamic"


def test_init_writes_a_scenario_that_runs(duetime: Command, tmp_path: Path) -> None:
    assert duetime("init").returncode == 0
    assert duetime("init", "mine").returncode == 0
    assert (tmp_path / "scenario.toml").read_text() == (tmp_path / "mine.toml").read_text()
    done = duetime("run", "mine.toml", "--json", "--set", "run.duration=450 ms")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["classes"]["queries"]["completed"] > 0


@pytest.mark.parametrize("name", ["mine", "mine.toml", "no/such/folder", "", ".toml"])
def test_init_overwrites_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.toml").write_text("mine")
    done = subprocess.run(arguments("init", name), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"error: .+\n", done.stderr)
    assert (tmp_path / "mine.toml").read_text() == "mine"


@pytest.mark.parametrize("kind", ["transports", "topologies", "patterns", "faults", "profiles"])
def test_the_catalog_shows_every_name_and_key(duetime: Command, kind: str) -> None:
    entries = dt.catalog()[kind]
    assert entries
    listed = duetime(kind).stdout
    for entry in entries:
        assert re.search(rf"^{re.escape(entry['name'])} ", listed, re.MULTILINE)
        shown = duetime(kind, entry["name"])
        assert shown.returncode == 0
        for key in entry.get("keys", ()):
            assert key["name"] in shown.stdout
            assert all(inner["name"] in shown.stdout for inner in key.get("keys", ()))
        for setting in entry.get("settings", ()):
            assert f"{setting['section']}.{setting['key']}" in shown.stdout


def test_notes_go_to_standard_error(duetime: Command) -> None:
    text = SMALL.replace('name = "d2tcp"', 'name = "d2tcp"\ng = 0.125')
    done = duetime("compare", "-", "--transports", "tcp,d2tcp", "--json", stdin=text)
    assert done.returncode == 0
    assert set(json.loads(done.stdout)["runs"]) == {"tcp", "d2tcp"}
    assert re.fullmatch(r"note: tcp: .*\bg\b.*\n", done.stderr)


def test_threads_change_no_result(duetime: Command, small: Path) -> None:
    racks = ("run", SCENARIOS / "w3.toml", "--json", "--set", "run.duration=8 ms")
    one, two = duetime(*racks), duetime(*racks, "--threads", 2)
    assert {**json.loads(one.stdout), "wall_s": 0} == {**json.loads(two.stdout), "wall_s": 0}
    assert one.stderr == two.stderr
    alone = duetime("run", small, "--threads", 2)
    assert alone.returncode == 0
    assert alone.stderr == "note: this runs on one thread: all hosts are at one switch\n"
    auto = duetime(*racks, "--threads", "auto")
    assert {**json.loads(one.stdout), "wall_s": 0} == {**json.loads(auto.stdout), "wall_s": 0}
    # No option asks for a number of threads that is not possible.
    assert duetime("run", small, "--threads", "auto").stderr == ""
    for wrong in ("0", "257", "many", "-1", "1.5"):
        for command in (("run", small), ("compare", small, "--transports", "tcp,dctcp")):
            refused = duetime(*command, "--threads", wrong)
            assert (refused.returncode, refused.stdout) == (2, "")
            assert refused.stderr.startswith("error: `threads` ")
            assert refused.stderr == duetime(*command, "--set", f"run.threads={wrong}").stderr


def test_threads_change_no_comparison(duetime: Command) -> None:
    racks = (
        "compare",
        SCENARIOS / "w3.toml",
        "--transports",
        "tcp,dctcp",
        "--json",
        "--set",
        "run.duration=6 ms",
    )

    def figures(*more: object) -> object:
        done = json.loads(duetime(*racks, *more).stdout)
        return {name: {**run, "wall_s": 0} for name, run in done["runs"].items()}

    assert figures() == figures("--threads", 2) == figures("--threads", "auto")


def test_a_reader_who_has_enough_is_no_error() -> None:
    with subprocess.Popen(arguments("schema"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()
        assert run.wait() == 1
        assert run.stderr.read() == b""


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_bug(small: Path, closed: str) -> None:
    command = " ".join([*arguments("run", str(small)), closed])
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    command = " ".join([*arguments("check", "-"), closed, "<&-"])
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


def test_a_full_disk_is_told(small: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(arguments("run", str(small)), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


#: Runs the command where no file may grow beyond so many bytes: the disk is full for whoever writes more.
NO_ROOM = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv = sys.argv[1:]
from duetime.cli import main
main()
"""


@pytest.mark.parametrize(
    ("words", "room", "told"),
    [
        (("run", "small.toml", "--out", "result"), 3000, "result: "),
        (("compare", "small.toml", "--transports", "tcp,dctcp", "--out", "result"), 100, "result/runs/"),
        (("init", "first"), 100, "first.toml: "),
        (("report", "kept", "--out", "page.html"), 1000, "page.html: "),
        (("plot", "kept"), 1000, "kept/plots/"),
    ],
)
def test_a_full_disk_is_no_bug_and_leaves_nothing(
    words: tuple[str, ...], room: int, told: str, small: Path, tmp_path: Path
) -> None:
    dt.run(small).save(tmp_path / "kept")
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(room), *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert re.fullmatch(rf"error: {re.escape(told)}.*File too large\n", done.stderr)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "sweep.toml"), "sweep.toml: is a sweep, not a scenario; `duetime sweep sweep.toml` runs it"),
        (("check", "sweep.toml"), "`duetime sweep sweep.toml` runs it"),
        (("tighten", "sweep.toml", "--target", "1%"), "`duetime sweep sweep.toml` runs it"),
        (("robust", "sweep.toml", "--transports", "tcp,dctcp"), "`duetime sweep sweep.toml` runs it"),
        (("sweep", "small.toml"), "small.toml: is a scenario, not a sweep; `duetime run small.toml` runs it"),
        (("sweep", "itself.toml"), "itself.toml: `scenario` names this sweep itself; expected the scenario"),
        (
            ("sweep", "of-sweep.toml"),
            "sweep.toml: is a sweep, not a scenario; `duetime sweep sweep.toml` runs it",
        ),
        (("run", str(SCENARIOS.parent / "experiments/d2tcp/fig10.toml")), "is an experiment, not a scenario"),
        (("plot", "small.toml"), "is a scenario, which must be run first: duetime run small.toml --out DIR"),
        (("plot", "sweep.toml"), "is a sweep, which must be run first: duetime sweep sweep.toml"),
        (("plot", "nowhere"), "nowhere: there is no such folder"),
        (("plot", "kept/run.json"), "can be drawn: duetime plot kept"),
        (("plot", "above"), "holds no result itself, but these do: above/kept"),
        (("plot", "stopped"), "was stopped before its result was written"),
    ],
)
@pytest.mark.usefixtures("small")
def test_a_file_of_another_kind_is_told_with_what_fits(
    duetime: Command, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    sweep = 'scenario = "small.toml"\ntransports = ["tcp"]\n[grid]\nnetwork.buffer = ["1 MB", "2 MB"]\n'
    (tmp_path / "sweep.toml").write_text(sweep)
    (tmp_path / "itself.toml").write_text(sweep.replace("small", "itself"))
    (tmp_path / "of-sweep.toml").write_text(sweep.replace("small", "sweep"))
    for folder in ("kept", "above/kept"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "run.json").write_text("{}")
    (tmp_path / "stopped" / "runs").mkdir(parents=True)
    done = duetime(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_in_the_place_of_pictures_is_told(duetime: Command, small: Path, tmp_path: Path) -> None:
    dt.run(small).save(tmp_path / "kept")
    (tmp_path / "kept" / "plots").touch()
    done = duetime("plot", "kept")
    assert (done.returncode, done.stderr) == (2, "error: kept/plots: cannot be written (File exists)\n")


def test_a_panic_becomes_one_line_that_asks_for_a_report(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(dt.InternalError, match="impossible thing"):
        _core._panic("an impossible\nthing")
    assert capfd.readouterr() == ("", "")
    assert status(lambda: _core._panic("an impossible\nthing")) == 70
    out, error = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"This is a bug in duetime .*please report it.*an impossible thing\n", error)


def test_a_bug_in_python_is_told_alike(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(lambda: [][0]) == 70
    assert re.fullmatch(r"This is a bug .*IndexError.*\n", capsys.readouterr().err)


def test_each_kind_of_end_has_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    def failing(error: BaseException) -> int:
        def fail() -> None:
            raise error

        code = status(fail)
        assert capsys.readouterr().err.count("\n") == 1
        return code

    assert status(lambda: None) == 0
    assert failing(OSError(28, "No space left on device")) == 1
    assert failing(KeyboardInterrupt()) == 130
    assert failing(click.Abort()) == 130


def test_heavy_libraries_are_loaded_only_when_needed(small: Path) -> None:
    script = (
        "import sys; from duetime.cli import commands\n"
        f"commands.main(['run', {str(small)!r}, '--json'], standalone_mode=False)\n"
        "heavy = ('polars', 'numpy', 'matplotlib', 'rich', 'duetime.decide', 'duetime.engine.points')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_is_loaded_later_is_there_from_the_beginning() -> None:
    """Whatever was imported first: a module would hide the function of its name."""
    script = (
        "import duetime\n"
        "assert set(duetime.__all__) <= set(dir(duetime))\n"
        "import duetime.cli.sweep, duetime.cli.robust, duetime.cli.compare, duetime.loading\n"
        "print([name for name in duetime.__all__ if not callable(getattr(duetime, name))])\n"
        "duetime.nothing\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n"
    assert done.stderr.splitlines()[-1] == "AttributeError: module 'duetime' has no attribute 'nothing'"


def test_a_command_is_told_with_the_nearest_one(duetime: Command) -> None:
    done = duetime("compar")
    assert done.returncode == 2
    assert "No such command 'compar'. Did you mean 'compare'?" in done.stderr


def test_a_scenario_that_comes_along_is_named_where_no_file_is(duetime: Command, tmp_path: Path) -> None:
    done = duetime("run", tmp_path / "oldi")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {tmp_path / 'oldi'}: No such file or directory; "
        "a scenario of this name comes with duetime: duetime init --from oldi oldi\n"
    )
    assert "comes with" not in duetime("run", tmp_path / "nothing.toml").stderr


@pytest.mark.parametrize(
    ("words", "typed", "offered"),
    [
        ("compare small.toml --transports", "tcp,dct", {"tcp,dctcp"}),
        ("compare small.toml --transports", "tcp,tc", {"tcp,tcppr"}),
        ("run small.toml --set", "network.b", {"network.buffer="}),
        ("run small.toml --set", "traffic.queries.deadline.", {"traffic.queries.deadline.base="}),
        ("reproduce", "d2tcp/fig0", {"d2tcp/fig03", "d2tcp/fig04", "d2tcp/fig10"}),
        ("transports", "xd", {"xdctcp"}),
        ("init mine --from", "incas", {"incast"}),
    ],
)
def test_a_shell_is_offered_values(small: Path, words: str, typed: str, offered: set[str]) -> None:
    environment = {
        **os.environ,
        "_DUETIME_COMPLETE": "bash_complete",
        "COMP_WORDS": f"duetime {words} {typed}",
        "COMP_CWORD": str(len(words.split()) + 1),
    }
    done = subprocess.run(arguments(), env=environment, cwd=small.parent, capture_output=True, text=True)
    found = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert found & offered == offered - {"d2tcp/fig10"}, done


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_is_offered_lists() -> None:
    asked = (
        "_DUETIME_COMPLETE=fish_source duetime | source; complete -C 'duetime compare x --transports tcp,xd'"
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.stdout.startswith("tcp,xdctcp\t"), done


def test_the_version_is_that_of_the_crate(duetime: Command) -> None:
    from importlib.metadata import metadata, version

    cargo = (SCENARIOS.parent / "Cargo.toml").read_text()
    assert f'version = "{dt.__version__}"' in cargo
    assert version("duetime") == dt.__version__ == _core.version()
    assert metadata("duetime")["Requires-Python"] == ">=3.11"
    assert metadata("duetime")["License-Expression"] == "Apache-2.0 OR MIT"
    assert dt.__version__ in duetime("--version").stdout


def test_a_note_names_its_transport_once(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--transports", "tcp,tcppr")
    notes = done.stderr.splitlines()
    assert [note for note in notes if "the classes of deadlines" in note] == [
        "note: tcppr: the classes of deadlines part at 1.25 ms"
    ]


def test_names_are_told_with_the_nearest_one(duetime: Command) -> None:
    for kind, name, nearest in (("transports", "d2tpc", "d2tcp"), ("patterns", "fanin", "fan-in")):
        done = duetime(kind, name)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"is called `{name}`; did you mean {nearest}? (there are " in done.stderr
    assert duetime("topologies", "moon").stderr.startswith(
        "error: no topology is called `moon` (there are star,"
    )


def test_both_lists_of_experiments_can_be_json(duetime: Command) -> None:
    for command in ("reproduce", "testbed"):
        done = duetime(command, "--list", "--json")
        assert done.returncode == 0
        listed = json.loads(done.stdout)
        assert all({"id", "title"} <= each.keys() for each in listed)
        assert listed
    assert duetime("reproduce", "--list", "d2tcp/fig06").returncode == 2


def test_check_explains_what_will_happen(duetime: Command, small: Path) -> None:
    done = duetime("check", small, "--explain")
    assert (done.returncode, done.stderr) == (0, "")
    assert "queries (d2tcp, fan-in): 4 hosts to 1 host" in done.stdout
    assert "4 at once" in done.stdout
    assert re.search(r"messages of 2.* KB to .* \(mean .* KB\)", done.stdout)
    assert "deadlines 1" in done.stdout
    # A pool of 500 KB leaves a single port half of it; K is 20 packets; the path holds 20 us and two packets.
    row = next(line for line in done.stdout.splitlines() if "switch to host 5" in line)
    assert re.search(r"250 KB +30 KB +5.5 KB +12 KB", row)
    assert "random: starts, sizes, deadlines of class `queries`" in done.stdout
    data = json.loads(duetime("check", small, "--explain", "--json").stdout)
    asked = data["classes"][0]
    flows = dt.run(small).flows
    sent = flows.filter(flows["class"] == "queries")
    assert asked["messages"] == len(sent)
    assert asked["bytes"]["max"] == sent["bytes"].max()


@pytest.mark.parametrize(
    ("change", "modes"),
    [
        ("network.sharing=dynamic", {"hosts to switches": "to-deferred", "switches to hosts": "deferred"}),
        # Half of it holds no packet.
        ("network.buffer=2 KB", {"hosts to switches": "own", "switches to hosts": "shared"}),
        ("network.sharing=per-port", {"hosts to switches": "to-deferred", "switches to hosts": "deferred"}),
        ("network.mark_at=departure", {"hosts to switches": "own", "switches to hosts": "qdisc"}),
        ("transport.name=pfabric", {"hosts to switches": "qdisc", "switches to hosts": "qdisc"}),
        ("transport.name=d3", {"hosts to switches": "own", "switches to hosts": "own"}),
    ],
)
def test_check_says_how_the_engine_simulates_each_port(
    duetime: Command, small: Path, change: str, modes: dict[str, str]
) -> None:
    words = ("check", small, "--explain", "--set", change, "--set", "network.mark=20 packets")
    if "transport" in change:
        words = (*words, "--set", "network.sharing=per-port")
    ports = json.loads(duetime(*words, "--json").stdout)["ports"]
    assert [each["ports"] for each in ports] == [6, 6]
    assert {each["of"]: each["mode"] for each in ports} == modes
    shown = " ".join(duetime(*words).stdout.split())
    assert all(f"{each['of']} 6 {each['mode']}" in shown for each in ports)
    assert ("leaves behind when its transmission begins (mark_at)" in shown) == ("mark_at" in change)


def test_overload_is_written_as_people_write_it(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MANY_TO_ONE)
    for words in (("check",), ("check", "--explain")):
        done = duetime(words[0], "m.toml", *words[1:])
        assert "host 40 is offered 3,288 % of what it carries" in done.stderr
        assert "3,288 %" in done.stdout
        assert not re.search(r"\de\+\d", done.stdout + done.stderr)
    done = duetime("check", "m.toml", "--set", 'traffic.web.load={ of = "bottleneck", share = "80%" }')
    assert done.stderr == ""
    assert "most loaded link: switch to host 40, asked 82.2 %" in done.stdout


def test_a_result_says_which_timers_expired(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MANY_TO_ONE)
    changes = (
        "--set",
        "run.duration=10 ms",
        "--set",
        "network.buffer=5 packets",
        "--set",
        "transport.rto_min=1 ms",
    )
    data = json.loads(duetime("run", "m.toml", *changes, "--json").stdout)
    timers = data["timers"]
    assert sum(timers.values()) - timers["probes"] == data["timeouts"] > 0
    assert timers["estimated"] > timers["backed_off"] > 0
    done = duetime("run", "m.toml", *changes)
    line = next(line for line in done.stdout.splitlines() if line.strip().startswith("timeouts: "))
    assert f"{timers['estimated']:,} by the RTO of the measured round trip" in line
    quiet = json.loads(duetime("run", "m.toml", "--set", "traffic.web.load=0.1%", "--json").stdout)
    assert sum(quiet["timers"].values()) == quiet["timeouts"] == 0


def test_a_note_is_told_with_its_place(duetime: Command, small: Path) -> None:
    for command in (("check", small), ("run", small), ("compare", small, "--transports", "tcp,dctcp")):
        done = duetime(*command, "--set", "network.mark=2 MB")
        (note,) = done.stderr.splitlines()
        assert note.startswith("note: dctcp: K" if command[0] == "compare" else "note: K"), note
        assert note.endswith("(--set:1:9) [mark-beyond-port]"), note
