"""Experiment files from anywhere: their queries and texts read rows, and can neither write, hang nor grow."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from duetime.errors import Mistaken
from duetime.experiments import queries
from duetime.experiments.queries import Tables
from duetime.experiments.texts import filled

ROWS = [{"n": n, "transport": "dctcp", "missed": n / 2} for n in range(1, 201)]
SCENARIO = """
title = "Tiny"
[run]
duration = "3 ms"
[network]
topology = "star"
hosts = 5
rate = "1 Gbps"
delay = "5 us"
[transport]
name = "dctcp"
[[traffic]]
name = "a"
pattern = "fan-in"
leaves = 4
every = "1 ms"
size = "20 KB"
deadline = "900 us"
"""
#: Statements that a claim could hold -> a part of the error message.
WRITING = {
    "ATTACH DATABASE '{0}/pwned.db' AS x": "it may not attach a database",
    "VACUUM INTO '{0}/vacuum.db'": "it may not attach a database",
    "CREATE TABLE t AS SELECT 1": "it may not insert rows",
    "CREATE TEMP TABLE t (x)": "it may not insert rows",
    "CREATE VIRTUAL TABLE t USING fts5(x)": "it may not insert rows",
    "INSERT INTO rows (n) VALUES (1)": "it may not insert rows",
    "UPDATE rows SET n = 0": "it may not update rows",
    "DELETE FROM rows": "it may not delete rows",
    "DROP TABLE rows": "it may not delete rows",
    "ALTER TABLE rows ADD COLUMN x": "it may not",
    "COMMIT": "it may not begin or end a transaction",
    "SAVEPOINT s": "it may not set a savepoint",
    "PRAGMA journal_mode = wal": "it may not use a pragma",
    "PRAGMA temp_store_directory = '{0}'": "it may not use a pragma",
    "DETACH main": "it may not detach a database",
    "REINDEX": "is no SELECT",
    "ANALYZE": "it may not",
    "SELECT load_extension('{0}/x.so')": "may not call load_extension",
    "SELECT writefile('{0}/x', 'x')": "no such function: writefile",
    "SELECT readfile('/etc/passwd')": "no such function: readfile",
    "SELECT name FROM sqlite_master": "reads rows, not sqlite_master",
    "SELECT count(*) FROM sqlite_master": "reads rows, not sqlite_master",
    "SELECT file FROM pragma_database_list": "reads rows",
    "SELECT 1; ATTACH '{0}/pwned.db' AS x": "one statement at a time",
    "": "is no SELECT",
}


@pytest.mark.parametrize("query", WRITING)
def test_a_query_only_reads_rows(query: str, tmp_path: Path) -> None:
    with Tables("there", rows=ROWS) as tables:
        with pytest.raises(Mistaken, match="claim 'c'") as told:
            tables.ask(query.format(tmp_path), "fig1.toml: claim 'c'")
        assert WRITING[query] in str(told.value)
        assert tables.ask("select count(*) from rows", "here")[1] == [(200,)], "nothing has changed"
    assert list(tmp_path.iterdir()) == []


def test_printf_fills_values_as_sqlite_does() -> None:
    with Tables("there", rows=ROWS) as tables:
        query = (
            "select printf('%.2f, %+.1f %%, %g, (%s), %d, %5d, %.1f', 1.239, 2.0, 0.0625, 'a', 7.9, 3, 1.25)"
        )
        assert tables.ask(query, "here")[1] == [("1.24, +2.0 %, 0.0625, (a), 7,     3, 1.3",)]
        assert tables.ask("select printf('%.1f %s', null, null)", "here")[1] == [("0.0 ",)]


#: Queries that would take for ever, or all memory.
GROWING = {
    "with recursive a(x) as (select 1 union all select x + 1 from a) select max(x) from a": "be recursive",
    "select count(*) from rows a, rows b, rows c, rows d": "steps",
    "select zeroblob(2000000000)": "may not call zeroblob",
    "select randomblob(2000000000)": "may not call randomblob",
    "select printf('%2000000000d', 1)": "printf fills %d, %f, %g, %s and widths of two figures",
    "select printf('%.*c', 2000000000, 'x')": "printf fills %d, %f, %g, %s and widths of two figures",
    "select printf('%.99f', 1)": "printf fills %d, %f, %g, %s and widths of two figures",
    "select format('%.*c', 2000000000, 'x')": "may not call",
    "select replace('" + "a" * 1000 + "', 'a', '" + "b" * 1000 + "')": "too big",
    "select a.n from rows a, rows b, rows c": "gives more than 10000 rows",
    # Each name is used twice by the next one: SQLite multiplies them out before it runs anything.
    "with a0 as (select 1 as x)"
    + "".join(f", a{i} as (select p.x from a{i - 1} p, a{i - 1} q)" for i in range(1, 41))
    + " select count(*) from a40": "needs more than 256 MiB",
    # The data to be sorted would fill a disk.
    "select a.n || '" + "x" * 20_000 + "' as s from rows a, rows b, rows c order by s": "more than 256 MiB",
}


@pytest.mark.parametrize("query", GROWING)
def test_a_query_ends(query: str) -> None:
    # In a process of its own: what it may hold is a limit of the whole process.
    script = (
        "import sys; from duetime.experiments import queries\n"
        "queries.MAX_STEPS = 20_000_000\n"
        "with queries.Tables('there', rows=[{'n': n} for n in range(200)]) as tables:\n"
        "    tables.ask(sys.argv[1], 'here')"
    )
    done = subprocess.run([sys.executable, "-c", script, query], capture_output=True, text=True)
    assert GROWING[query] in done.stderr.splitlines()[-1], done.stderr
    assert "Mistaken: here: " in done.stderr.splitlines()[-1]


def test_ctrl_c_ends_a_query(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(queries, "MAX_STEPS", 10**15)
    monkeypatch.setattr(queries, "MAX_SECONDS", 1e9)
    # A shell that starts the tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with Tables("there", rows=ROWS) as tables:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            tables.ask("select count(*) from rows a, rows b, rows c, rows d, rows e", "here")
        assert tables.ask("select min(n) from rows", "here")[1] == [(1,)], "it can be asked again"


def test_a_slow_query_ends_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MAX_SECONDS", -1.0)
    with Tables("there", rows=ROWS) as tables, pytest.raises(Mistaken, match="takes more than -1 s"):
        tables.ask("select count(*) from rows a, rows b, rows c", "here")


@pytest.mark.parametrize("value", ["x'00ff'", "9e999", "-9e999"])
def test_an_answer_is_a_number_or_a_text(value: str) -> None:
    with Tables("there", rows=ROWS) as tables, pytest.raises(Mistaken, match="neither number nor text"):
        tables.ask(f"select {value}", "here")


def test_what_claims_need_is_allowed() -> None:
    with Tables("there", rows=ROWS, every=ROWS) as tables:
        names, found = tables.ask(
            "with some as (select n, missed, row_number() over (order by n) as place from rows where n <= 4) "
            "select count(*), round(avg(missed), 2) as mean, group_concat(n), max(place), "
            "json_extract('[1, 2]', "
            "'$[1]'), (select count(*) from every where transport like 'd%') from some",
            "here",
        )
    assert names[1] == "mean"
    assert found == [(4, 1.25, "1,2,3,4", 4, 2, 200)]


def test_columns_of_any_name_are_columns() -> None:
    with Tables("there", rows=[{'x"); drop table "rows': 3}]) as tables:
        assert tables.ask("select * from rows", "here") == (['x"); drop table "rows'], [(3,)])
    with pytest.raises(Mistaken, match="there: rows that no query can read"):
        Tables("there", rows=[{"n": 2**70}])


# Texts with places


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a.__class__}", "must be a name alone"),
        ("{a.__class__.__init__.__globals__}", "must be a name alone"),
        ("{a[0]}", "must be a name alone"),
        ("{a!r}", "must be a name alone"),
        ("{a:{b}}", "is no format"),
        ("{a:2000000000}", "is no format at most 100 wide"),
        ("{a:>101}", "is no format"),
        ("{a:.2000000000f}", "is no format"),
        ("{a:.21f}", "is no format"),
        ("{a:%Y}", "is no format"),
        ("{c}", "nothing is called 'c'"),
        ("{a", "expected '}'"),
        ("}", "Single '}'"),
        ("{b:d}", "Unknown format code 'd'"),
        ("{none:.1f}", "None has no format '.1f'"),
        ("{b}" * 10_000, "more than 100000 characters"),
    ],
)
def test_a_text_has_places_for_values_alone(text: str, message: str) -> None:
    words = {"a": 1.5, "b": "twenty letters, more.", "none": None}
    with pytest.raises(Mistaken, match="here: ") as told:
        filled(text, words, "here")
    assert message in str(told.value)
    assert len(str(told.value)) < 1000


def test_a_text_is_filled_as_python_does() -> None:
    words = {"a": 1234.5678, "n": 7, "name": "x", "": 3}
    for text in (
        "{a:.1f} and {n}",
        "{n:03d}{name:>4}",
        "{{{a:,.2f}}}",
        "{n:.0%}",
        "{a:g} {a:+.2e}",
        "{}",
        "",
    ):
        assert filled(text, words, "here") == text.format(3, **{k: v for k, v in words.items() if k})


# The whole command


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder of experiments: each test writes the one in it."""
    root = tmp_path / "experiments"
    (root / "paper").mkdir(parents=True)
    (root / "published.toml").write_text("[paper.fig1]\nmissed = [100.0, -1.0]\n")
    (root / "regimes.toml").write_text('[regimes.paper]\nhelp = "as it is"\nset = []\n')
    (root / "paper" / "s.toml").write_text(SCENARIO)
    # The folder also holds files that are no experiment; only this name is asked for.
    return root


EXPERIMENT = """
title = "evil"
source = "x"
question = "x?"
scenario = "s.toml"
regime = "paper"
transports = ["dctcp"]
[finding]
says = "ok"
measured = "select 1 as v"
[[axes]]
column = "n"
set = ["traffic.a.leaves={}"]
values = [2, 3]
[scales.quick]
seeds = 1
[scales.paper]
seeds = 1
[[charts]]
title = "x"
kind = "line"
x = { column = "n", label = "n" }
y = { column = "missed_percent", label = "m", unit = "%" }
series = "transport"
[[claims]]
claim = "c0"
kind = "own"
published = "in words only"
measured = "select 1"
holds = "1"
rule = "x"
"""


#: An axis of a thousand values.
LONG = '[[axes]]\ncolumn = "{}"\nset = []\nvalues = [' + "1," * 999 + "]\n"


def reproduce(root: Path, text: str) -> subprocess.CompletedProcess[str]:
    (root / "paper" / "fig1.toml").write_text(text)
    command = [sys.executable, "-m", "duetime", "reproduce", "paper/fig1", "--from", str(root)]
    return subprocess.run(command, capture_output=True, text=True, cwd=root.parent, timeout=120)


#: An option that the measure does not have.
ODD_OPTION = 'measures = ["estimate"]\noptions.estimate = { from = 1, until_s = 2 }'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('measured = "select 1"', "measured = \"ATTACH DATABASE '{0}/pwned.db' AS x\"", "claim 'c0': "),
        ('measured = "select 1"', "measured = \"VACUUM INTO '{0}/pwned.db'\"", "claim 'c0': a query reads"),
        ('holds = "1"', "holds = \"(select load_extension('x'))\"", "claim 'c0': a query may not call load"),
        ('holds = "1"', 'holds = "1 from (select 1 union select 2); COMMIT --"', "claim 'c0': "),
        ('measured = "select 1"', "measured = \"select x'00'\"", "claim 'c0': gives b'\\x00'"),
        ('says = "ok"', 'says = "{v.__class__}"', "[finding]: {v.__class__} must be a name alone"),
        ('says = "ok"', 'says = "{v:2000000000}"', "[finding]: '2000000000' is no format at most 100 wide"),
        ('title = "x"\n', 'title = "{n.real}"\npanels = ["n"]\n', "chart '{n.real}': {n.real} must be"),
        ("leaves={}", "leaves={0.__class__}", "axis 'n': {0.__class__} must be a name alone"),
        ('regime = "paper"', 'regime = "paper"\ncolumns = { k = "{n:9999}" }', "[columns]: '9999' is no"),
        ('claim = "c0"', 'claim = "{a.b}"\neach = { a = [1] }', "claim '{a.b}': {a.b} must be a name alone"),
        ('claim = "c0"', 'claim = "c0"\neach = { a = "no.where" }', "nothing is published at no.where"),
        ('claim = "c0"', 'claim = "c0"\neach = { a = [1], b = [1, 2] }', "have different lengths"),
        ('claim = "c0"', 'claim = "c0"\neach = { a = 3 }', "`each` names lists"),
        ('kind = "line"', 'kind = "line"\nfigure = "/../../x"', "`figure` is a whole number, not '/../../x'"),
        ("seeds = 1\n[scales.paper]", 'seeds = "1"\n[scales.paper]', "`seeds` is a whole number, not '1'"),
        ("seeds = 1\n[scales.paper]", "seeds = 1000000000\n[scales.paper]", "2,000,000,000 runs"),
        ("values = [2, 3]", f"values = [2, 3]\n{LONG.format('m')}{LONG.format('l')}", "1,996,002 runs"),
        ('regime = "paper"', 'regime = "paper"\nmeasures = ["paired"]', "[options.paired] is missing"),
        ('regime = "paper"', f'regime = "paper"\n{ODD_OPTION}', "unknown key `from`; did you mean `from_s`?"),
        ('regime = "paper"', 'regime = "paper"\noptions = 3', "`options` is a table, not '3'"),
        ('title = "evil"', "title = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ('published = "in words only"', "published = 3", "`published` is a text or a list, not '3'"),
    ],
)  # fmt: skip
def test_one_message_names_file_and_place(hostile: Path, old: str, new: str, message: str) -> None:
    assert old in EXPERIMENT
    done = reproduce(hostile, EXPERIMENT.replace(old, new.replace("{0}/", f"{hostile.parent}/"), 1))
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert str(hostile / "paper" / "fig1.toml") in last
    assert message in last
    assert "Traceback" not in done.stderr
    assert not list(hostile.parent.glob("pwned*"))
    assert not list((hostile.parent / "out").rglob("result.json"))


def test_the_file_without_an_attack_runs(hostile: Path) -> None:
    done = reproduce(hostile, EXPERIMENT)
    assert done.returncode == 0, done.stderr


def test_only_files_of_a_sensible_size_are_read(hostile: Path) -> None:
    done = reproduce(hostile, EXPERIMENT + "#" * (20 << 20))
    assert done.returncode == 2
    assert "MiB, which no experiment is" in done.stderr
    path = hostile / "paper" / "fig1.toml"
    path.unlink()
    os.mkfifo(path)
    command = [sys.executable, "-m", "duetime", "reproduce", "paper/fig1", "--from", str(hostile)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "is no regular file" in done.stderr) == (2, True), done.stderr
