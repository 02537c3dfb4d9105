"""Options of the commands: the hints for wrong ones, and their effects on output and files."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import duetime as dt
from conftest import SCENARIOS, SMALL, Command, arguments
from duetime.cli import MODULES, commands
from duetime.cli.hints import ELSEWHERE

SWEEP = (
    'scenario = "small.toml"\ntransports = ["tcp"]\nseeds = 1\n[grid]\nnetwork.buffer = ["1 MB", "2 MB"]\n'
)
QUICK = ("--set", "run.duration=4 ms")

#: A wrong command line, and the hint in its answer.
WRONG: list[tuple[str, str]] = [
    # Keys in the wrong place, or with the wrong letters.
    ("run small.toml --set leaves=3", "did you mean `traffic.queries.leaves`?"),
    ("run small.toml --set buffer=1MB", "did you mean `network.buffer`?"),
    ("run small.toml --set rto_min=1ms", "did you mean `transport.rto_min`?"),
    ("run small.toml --set duration=1ms", "did you mean `run.duration`?"),
    ("run small.toml --set network.marks=3", "did you mean `mark`?"),
    ("sweep marks.toml", "did you mean `mark`?"),
    ("need small.toml --target 1% --over rate", "did you mean network.rate?"),
    ("need small.toml --target 1% --over network.rat", "did you mean network.rate?"),
    ("need small.toml --target 1% --over leaves", "did you mean traffic.queries.leaves?"),
    ("capacity small.toml --target 1% --over traffic.queries.leave", "did you mean traffic.queries.leaves?"),
    ("capacity small.toml --target 1% --over traffic.query.leaves", "the scenario has queries, web"),
    # Lists with a space, which the shell cuts in two.
    ("compare small.toml --transports tcp, dctcp", "a list has no spaces: --transports tcp,dctcp"),
    ("compare small.toml --transports tcp , dctcp", "a list has no spaces: --transports tcp,dctcp"),
    ("compare small.toml --transports=tcp, dctcp, d2tcp", "no spaces: --transports tcp,dctcp,d2tcp"),
    ("tighten small.toml --target 1% --transports tcp, dctcp", "no spaces: --transports tcp,dctcp"),
    # Options of other commands.
    ("sweep sweep.toml --seeds 3", "the seeds of a sweep are in its file: seeds = 5"),
    ("sweep sweep.toml --seed 3", "the seeds of a sweep are in its file: seeds = [7]"),
    ("sweep sweep.toml --set network.buffer=1MB", "the changes of a sweep are in its file"),
    ("sweep sweep.toml --transports tcp", 'in its file: transports = ["tcp", "dctcp"]'),
    ("robust small.toml --seeds 3", "--variants N sets the number of runs"),
    ("check small.toml --seeds 3", "it simulates nothing; --seed N checks one seed"),
    ("bound small.toml --seeds 3", "it simulates nothing; --seed N takes another seed"),
    ("estimate small.toml --seeds 3", "it takes one seed: --seed N"),
    ("plot kept --seeds 3", "duetime run, compare, tighten, capacity, need and reproduce have it"),
    (
        "run small.toml --transports tcp,dctcp",
        "it takes one: --transport dctcp; `duetime compare` takes several",
    ),
    ("compare small.toml --transport tcp", "it compares several: --transports tcp,dctcp"),
    ("need small.toml --transport tcp", "set the name: --set transport.name=dctcp"),
    ("run small.toml --format pdf", "`duetime plot DIR --format pdf` draws what --out DIR wrote"),
    # Names and values.
    ("run small.toml --transport dtcp", "did you mean `dctcp`?"),
    ("help comprae", "Did you mean 'compare'?"),
    ("run small.toml --json --csv", "--json and --csv exclude each other"),
    ("run small.toml --seeds 0", "0 is not in the range x>=1"),
    ("need small.toml --target 1% --over network.rate --time soon", "is not a time like 90s, 10min or 2h"),
    ("need small.toml --target 1% --over network.rate --time 0s", "is not a time like 90s, 10min or 2h"),
    (
        "need small.toml --target 1% --over network.rate --from 20us",
        "must have the unit of the scenario's value",
    ),
    ("plot kept --width 3.3", "is not a width like 3.3in, 8.4cm or 240pt"),
    ("plot kept --width 90in", "is not between 1in and 40in"),
    ("plot kept --format gif", "'gif' is not one of 'pdf', 'svg', 'png'"),
    ("plot kept --font comic", "'comic' is not one of 'sans', 'serif'"),
    ("reproduce all --csv", "--csv prints the rows of one experiment"),
]


@pytest.fixture
def files(small: Path) -> Path:
    """A folder with a scenario, a sweep, and a sweep with a wrong key."""
    folder = small.parent
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "marks.toml").write_text(SWEEP.replace("network.buffer", "network.marks"))
    return folder


@pytest.mark.parametrize(("line", "hint"), WRONG, ids=[line for line, _ in WRONG])
def test_a_wrong_line_is_answered_with_the_right_hint(
    duetime: Command, files: Path, line: str, hint: str
) -> None:
    before = sorted(files.rglob("*"))
    done = duetime(*line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert sorted(files.rglob("*")) == before


def test_hints_are_for_options_that_commands_lack() -> None:
    for option, remedies in ELSEWHERE.items():
        for command in filter(None, remedies):
            own = [name for each in commands.commands[command].params for name in each.opts]
            assert option not in own, f"{command} has {option}"


#: Command lines that print a result and ask for no file.
QUIET_LINES = [
    "run small.toml",
    "run small.toml --seeds 2",
    "compare small.toml",
    "sweep sweep.toml",
    "tighten small.toml --target 50% --seeds 2 --step 20%",
    "capacity small.toml --target 90% --seeds 1 --over network.delay --from 5us --to 10us --step 5us",
    "need small.toml --target 90% --seeds 1 --over network.rate --to 2Gbps --step 500Mbps",
    "robust small.toml --variants 2 --transports tcp,dctcp",
    "bound small.toml",
    "estimate small.toml --set transport.name=dctcp",
    "check small.toml",
    "check small.toml --explain",
    "schema",
    "version",
    "help",
    "help run",
    "transports",
    "reproduce --list",
    "reproduce d2tcp/fig10 --scenario",
    "reproduce d2tcp/fig06 --cut 1ms --seeds 1",
]


@pytest.mark.parametrize("line", QUIET_LINES)
def test_nothing_is_written_unasked(duetime: Command, files: Path, line: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in files.rglob("*")}
    done = duetime(*line.split())
    assert (done.returncode, done.stdout != "") == (0, True), done.stderr
    assert {path: path.stat().st_mtime_ns for path in files.rglob("*")} == before


@pytest.mark.parametrize(
    "line",
    [
        "compare small.toml",
        "robust small.toml --variants 2",
        "sweep sweep.toml",
        "need small.toml --target 90% --seeds 1 --over network.rate --to 2Gbps --step 500Mbps",
    ],
)
def test_quiet_commands_print_results_alone(duetime: Command, files: Path, line: str) -> None:
    assert files.is_dir()
    loud, quiet = duetime(*line.split()), duetime(*line.split(), "-q")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert re.sub(r"in .*", "", quiet.stdout) == re.sub(r"in .*", "", loud.stdout)


def test_the_compared_transports_are_said_where_none_are_named(duetime: Command, small: Path) -> None:
    done = duetime("compare", small, "--json")
    assert list(json.loads(done.stdout)["runs"]) == ["tcp", "dctcp", "d2tcp"]
    assert "note: comparing tcp, dctcp, d2tcp; --transports names others\n" in done.stderr
    own = duetime("compare", small, "--json", "--set", "transport.name=cubic")
    assert list(json.loads(own.stdout)["runs"]) == ["tcp", "dctcp", "d2tcp", "cubic"]
    shown = " ".join(duetime("compare", "--help").stdout.split())
    assert "(default: tcp,dctcp,d2tcp, and the scenario's own)" in shown


def test_seeds_of_a_run_are_means_with_intervals(duetime: Command, small: Path, tmp_path: Path) -> None:
    done = duetime("run", small, "--seeds", 3, "-o", "out", "-j", 1)
    assert (done.returncode, done.stderr) == (0, "Saved in out\n")
    assert "mean ± 95 % interval over 3 seeds" in done.stdout
    told = json.loads(duetime("run", small, "--seeds", 3, "--json").stdout)
    alone = [dt.run(small, seed=seed).summary["fct_us"]["p99"] for seed in (5, 6, 7)]
    assert told["seeds"] == [5, 6, 7]
    assert told["summary"]["fct_us"]["p99"]["values"] == alone
    kept = dt.load(tmp_path / "out")
    assert list(kept.runs) == ["d2tcp"]
    assert [result.seed for result in kept.runs["d2tcp"]] == [5, 6, 7]
    failed = duetime("run", small, "--seeds", 2, "--fail-if", "messages > 1")
    assert failed.returncode == 3


def test_classes_with_transports_of_their_own_keep_them_over_seeds(duetime: Command, small: Path) -> None:
    """A scenario without [transport] is called by the transports of its classes, as its runs are."""
    text = re.sub(r"\[transport\]\n(.+\n)+", "", small.read_text())
    small.write_text(
        re.sub(r'(pattern = ".*")', r'\1\ntransport = { name = "dctcp", rto_min = "1 ms" }', text)
    )
    one = json.loads(duetime("run", small, "--json").stdout)
    done = duetime("run", small, "--seeds", 2, "--json")
    assert done.returncode == 0, done.stderr
    several = json.loads(done.stdout)
    assert several["transport"] == one["transport"] == "dctcp"
    assert several["summary"]["fct_us"]["p50"]["values"][0] == one["summary"]["fct_us"]["p50"]


@pytest.mark.parametrize("name", ["large-messages", "xdctcp", "oldi", "tree"])
def test_a_transport_ignores_the_keys_of_others(duetime: Command, name: str) -> None:
    short = ("--set", "run.duration=2 ms", "--set", "run.warm_up=0 s", "--set", "run.cool_down=2 ms")
    done = duetime("run", SCENARIOS / f"{name}.toml", "--transport", "tcp", "--json", *short)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["transport"] == "tcp"
    same = dt.run(SCENARIOS / f"{name}.toml", transport="tcp", set=list(short[1::2]))
    assert {**json.loads(done.stdout), "wall_s": 0} == {**same.data, "wall_s": 0}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("line", [line for line in QUIET_LINES if line.split()[0] in MODULES])
def test_csv_is_wherever_json_is(duetime: Command, files: Path, line: str) -> None:
    assert files.is_dir()
    name = line.split()[0]
    options = {each for parameter in commands.commands[name].params for each in parameter.opts}
    assert ("--json" in options) == ("--csv" in options)
    if "--csv" not in options or "--scenario" in line:
        return
    done = duetime(*line.split(), "--csv")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert found
    assert all(None not in row and None not in row.values() for row in found), "each line is complete"


def test_every_command_that_prints_json_prints_csv(duetime: Command) -> None:
    for name in MODULES:
        names = {each for parameter in commands.commands[name].params for each in parameter.opts}
        assert ("--json" in names) == ("--csv" in names), name
    listed = rows(duetime("testbed", "--list", "--csv").stdout)
    assert [each["id"] for each in listed] == [
        each["id"] for each in json.loads(duetime("testbed", "--list", "--json").stdout)
    ]


def test_csv_has_the_figures_of_json(duetime: Command, small: Path) -> None:
    told = json.loads(duetime("run", small, "--json").stdout)
    by_class = {row["class"]: row for row in rows(duetime("run", small, "--csv").stdout)}
    assert set(by_class) == {"all", "queries", "web"}
    assert float(by_class["web"]["fct_us_p999"]) == told["classes"]["web"]["fct_us"]["p999"]
    assert float(by_class["all"]["slowdown_mean"]) == told["summary"]["slowdown"]["mean"]
    assert int(by_class["all"]["drops"]) == told["drops"]
    seeds = rows(duetime("run", small, "--seeds", 3, "--csv").stdout)[0]
    assert float(seeds["fct_us_p99_low"]) < float(seeds["fct_us_p99"]) < float(seeds["fct_us_p99_high"])


def test_help_and_version_are_commands(duetime: Command) -> None:
    assert duetime("version").stdout == duetime("--version").stdout
    assert duetime("help").stdout == duetime("--help").stdout
    for name in MODULES:
        assert duetime("help", name).stdout == duetime(name, "--help").stdout


def test_a_range_has_its_lower_end_first_in_the_unit_of_the_user(duetime: Command, small: Path) -> None:
    words = ("need", small, "--target", "75%", "--over", "network.buffer", "--seeds", 4, "-q")
    words = (*words, "--set", "traffic.queries.leaves=5")
    done = duetime(*words, "--from", "2 KB", "--to", "60 KB", "--step", "2 KB")
    assert "network.buffer >= " in done.stdout, done.stdout
    assert re.search(r"network.buffer >= \d+ KB for at most 75 % misses", done.stdout)
    data = json.loads(duetime(*words, "--from", "2 KB", "--to", "60 KB", "--step", "2 KB", "--json").stdout)
    (answer,) = data["answers"]
    assert all(each["value"].endswith(" KB") for each in answer["tried"])
    for ends in (answer["ci95"], answer["between"]):
        known = [float(end.split()[0]) for end in ends if end is not None]
        assert known == sorted(known)
    # The scenario has 500 KB: without a range of one's own, its unit.
    data = json.loads(duetime(*words, "--json").stdout)
    assert all(each["value"].endswith(" KB") for each in data["answers"][0]["tried"])


def test_a_search_has_a_time_of_its_own(duetime: Command, small: Path) -> None:
    """The answer at its end is tested in `test_decide.py`."""
    assert "[default: 10min]" in duetime("capacity", "--help").stdout
    nothing = duetime("need", small, "--target", "9%", "--over", "network.rate", "--time", "0.001s", *QUICK)
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "--time was up before the scenario as written had run" in nothing.stderr


#: Runs the command as a base install has it: without polars and matplotlib.
BASE = """
import sys
sys.modules |= {"matplotlib": None, "polars": None}
from duetime.cli import main
sys.argv = ["duetime", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    "line",
    [
        "run endless.toml -o out",
        "run endless.toml --seeds 2 -o out",
        "compare endless.toml -o out",
        "sweep endless-sweep.toml",
        "estimate endless.toml",
        "plot out",
        "report out",
        "reproduce d2tcp/fig10 --format pdf",
    ],
)
def test_a_base_install_says_at_once_what_it_lacks(endless: Path, line: str) -> None:
    """The runs would never end: the answer is there before them."""
    (endless.parent / "endless-sweep.toml").write_text(SWEEP.replace("small", "endless"))
    done = subprocess.run(
        [sys.executable, "-c", BASE, *line.split()],
        cwd=endless.parent,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "pip install 'duetime[all]'" in done.stderr


def test_a_base_install_runs_and_compares(small: Path) -> None:
    for line in ("run small.toml --csv", "run small.toml --seeds 2 --json", "compare small.toml --csv"):
        words = [sys.executable, "-c", BASE, *line.split()]
        done = subprocess.run(words, cwd=small.parent, capture_output=True, text=True)
        assert (done.returncode, done.stdout != "") == (0, True), done.stderr


def test_starting_is_quick() -> None:
    """Commands load what they use: neither polars nor matplotlib to say the version."""
    script = "import sys; from duetime.cli import main\nsys.argv = ['duetime', 'version']\n"
    script += "try: main()\nexcept SystemExit: print({'polars', 'matplotlib', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_the_small_scenario_is_read_from_standard_input(duetime: Command) -> None:
    done = duetime("run", "-", "--seeds", 2, "--json", stdin=SMALL)
    assert json.loads(done.stdout)["seeds"] == [5, 6]
    assert arguments("run")[-1] == "run"
