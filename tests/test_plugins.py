"""Transports that are WebAssembly modules, and Python classes as controllers."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import duetime as library
from conftest import SCENARIOS, SMALL, Command
from duetime import _core, files, transports
from duetime.controllers import Window
from duetime.engine.points import Point, key, run_points
from duetime.engine.work import Bundle, Task, build, do
from duetime.errors import Unreadable
from duetime.robustness import robust
from duetime.statistics import WALL_CLOCK
from duetime.sweeping import sweep

PLUGINS = SCENARIOS.parent / "plugins"
TEMPLATES = SCENARIOS.parent / "python" / "duetime" / "templates" / "plugin"

#: Losses, marks, timeouts, misses; messages that queue on one connection; four racks, for threads.
HARD = """
[run]
duration = "33 ms"
warm_up = "10 ms"
seed = 9
[network]
topology = "racks"
racks = 4
hosts_per_rack = 4
uplink = "2 Gbps"
rate = "1 Gbps"
delay = "20 us"
buffer = "40 KB"
mark = "12 packets"
[transport]
name = "dctcp"
rto_min = "5 ms"
[[traffic]]
name = "answers"
pattern = "fan-in"
leaves = 10
parents = 2
every = "8 ms"
size = "uniform(4 KB, 30 KB)"
jitter = "uniform(0 us, 50 us)"
deadline = { base = "4 ms", vary = "uniform(0, 50%)" }
[[traffic]]
name = "records"
pattern = "periodic"
from = [1, 6, 11]
to = [14, 2, 7]
size = "60 KB"
every = "500 us"
deadline = "1 ms"
connections = "persistent"
[[traffic]]
name = "copy"
pattern = "long"
from = [3, 13]
to = [9, 1]
"""

#: Two flows without end into one port.
LONG = """
profile = "classic"
run = { duration = "200 ms", warm_up = "50 ms" }
[network]
topology = "star"
hosts = 3
rate = "1 Gbps"
delay = "20 us"
buffer = "500 KB"
mark = "20 packets"
[transport]
name = "dctcp"
[[traffic]]
name = "long"
pattern = "long"
from = [0, 1]
to = 2
"""

#: A module without a law: its window stays as it is.
MODULE = """(module
  (@custom "duetime" MANIFEST)
  (memory (export "memory") 1)
  (func (export "event") (result i32) (i32.const 0))
  (func (export "keys") (result i32) (i32.const 16384))
  (func (export "state") (result i32) (i32.const 16896))
  (func (export "state_size") (result i32) (i32.const 8))
  (func (export "on_ack") LAW))
"""
MANIFEST = "abi = 1\necn = 'exact'\n[[keys]]\nname = 'least'\ndefault = 2\nmin = 1\nmax = 9\n"


def module(law: str = "", manifest: str = MANIFEST) -> str:
    """Return a module in the text format."""
    return MODULE.replace("MANIFEST", json.dumps(manifest)).replace("LAW", law)


def hashed(result: library.Result) -> str:
    """Return a hash of all tables and figures of a run, but for the name of its transport."""
    figures = {name: one for name, one in result.data.items() if name not in (*WALL_CLOCK, "transport")}
    found = hashlib.sha256(json.dumps(figures).encode())
    for table in (result.flows, result.queries, result.links, result.trace):
        found.update(files.table(table))
    return found.hexdigest()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    """Write a file and return its path."""

    def written(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return str(tmp_path / name)

    return written


TRACED = ("run.trace.every=1 ms", "run.trace.what=['cwnd', 'ssthresh', 'srtt', 'queue']")


@pytest.mark.parametrize("name", ["dctcp", "d2tcp"])
@pytest.mark.parametrize("profile", ["classic", "datacenter", "linux", "d2tcp-paper"])
@pytest.mark.parametrize("scenario", [SMALL, HARD])
def test_plugin_of_a_built_in_gives_its_bytes(name: str, profile: str, scenario: str) -> None:
    set = [f"profile={profile}", *TRACED]
    built_in = library.run(scenario, transport=name, set=set)
    assert built_in.data["marks"] > 0
    assert hashed(library.run(scenario, transport=f"{PLUGINS / name}.wasm", set=set)) == hashed(built_in)


@pytest.mark.parametrize(
    "settings",
    [
        "d2tcp:d_cap=4:t_c=precise:margin=100 us:expired=yield:rtt=minimum",
        "d2tcp:cut_at=window-end:grow_on_echo=bursts:growth_steps=per-window:expired=cap",
        "d2tcp:pacing=window:cwnd_floor=0.1:g=0.5:initial_alpha=0",
        "dctcp:cut=spread:recovery=newreno",
        "dctcp:handshake=true:ack_every=2",
        "dctcp:receiver=edf",
    ],
)
def test_settings_of_a_plugin_are_those_of_the_built_in(settings: str) -> None:
    name, rest = transports.split(settings)
    found = library.run(HARD, transport=f"{PLUGINS / name}.wasm{rest}")
    assert hashed(found) == hashed(library.run(HARD, transport=settings))
    assert hashed(found) != hashed(library.run(HARD, transport=name)), "the settings change nothing"


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_threads_change_no_byte_under_a_plugin(threads: int) -> None:
    def run(threads: int) -> str:
        return hashed(
            library.run(HARD, transport=f"{PLUGINS / 'd2tcp'}.wasm", set=[f"run.threads={threads}"])
        )

    assert run(threads) == run(1)


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("(loop (br 0))", "`on_ack` did not return within 10 million instructions"),
        ("(f64.store (i32.const 0) (f64.const nan))", "`on_ack` set `cwnd` to NaN, which must be above 0"),
        ("(f64.store (i32.const 0) (f64.const inf))", "`on_ack` set `cwnd` to inf, which must be above 0"),
        ("(f64.store (i32.const 0) (f64.const -1))", "`on_ack` set `cwnd` to -1, which must be above 0"),
        (
            "(f64.store (i32.const 8) (f64.const nan))",
            "`on_ack` set `ssthresh` to NaN, which must be above 0",
        ),
        ("(f64.store (i32.const 16) (f64.const -1))", "`on_ack` set `rate` to -1, which must be 0 or more"),
        ("(unreachable)", "`on_ack` failed: wasm trap: wasm `unreachable` instruction executed"),
        ("(drop (f64.load (i32.const 65536)))", "`on_ack` failed: wasm trap: out of bounds memory access"),
        (
            "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
            "`on_ack` failed: wasm trap: integer divide by zero",
        ),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_law_that_fails_ends_the_run_with_its_name(
    write: Callable[[str, str], str], law: str, said: str, threads: int
) -> None:
    path = write("mine.wat", module(law))
    with pytest.raises(library.PluginError) as error:
        library.run(HARD, transport=path, set=[f"run.threads={threads}"])
    assert str(error.value).startswith(f"the plug-in `mine`: {said}")
    assert " us into the run" in str(error.value)


def test_a_failure_is_one_message_and_leaves_nothing(duetime: Command, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.wat").write_text(module("(loop (br 0))"))
    for command in (
        ["run", "--set", "transport.plugin=mine.wat", "--set", "transport.name=mine"],
        ["compare", "--transports", "dctcp,mine.wat"],
    ):
        done = duetime(command[0], small, *command[1:], "--out", "out")
        assert done.returncode == 2
        assert done.stderr.startswith("error: "), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert "`mine`" in done.stderr
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            module().replace("(memory", '(import "env" "clock" (func)) (memory', 1),
            "it imports `clock` from `env`, and a plug-in may import nothing",
        ),
        (module().replace("on_ack", "ack"), "it does not export the function `on_ack`"),
        (
            module().replace("on_ack", "on_akc"),
            "it exports `on_akc`, which is never called; did you mean `on_ack`?",
        ),
        (module().replace('"memory"', '"heap"'), "it does not export its `memory`"),
        (
            module().replace('"state"', '"stat"'),
            "it does not export the function `state`, which returns the address",
        ),
        (module().replace('"keys"', '"values"'), "it does not export the function `keys`"),
        (
            module().replace("i32.const 16896", "i32.const 65530"),
            "the 8 bytes at `state` = 65530 are not in its memory",
        ),
        (module().replace("i32.const 8)", "i32.const 65537)"), "`state_size` returns 65537, at most 65536"),
        (module().replace("(i32.const 0))", "(unreachable))", 1), "`event` failed: wasm trap"),
        (
            module().replace("(i32.const 0))", "(loop (br 0)) (i32.const 0))", 1),
            "`event` did not return within",
        ),
        (module().replace('(@custom "duetime"', '(@custom "other"'), "it has no custom section `duetime`"),
        (module(manifest="abi = 2"), "says abi = 2; this version of duetime has abi = 1"),
        (module(manifest="abi = 1\necn = 'on'\n"), "is not valid in line 2: unknown variant `on`"),
        (module(manifest="abi = 1\nhelp = \n"), "is not valid in line 2"),
        (
            module(manifest="abi = 1\n[[keys]]\nname = 'mss'\ndefault = 1\n"),
            "has a key `mss`, which every transport has",
        ),
        (
            module(manifest="abi = 1\n[[keys]]\nname = 'A b'\ndefault = 1\n"),
            "has a key `A b`: a name has lower-case",
        ),
        (module(manifest=MANIFEST + MANIFEST[MANIFEST.index("[[") :]), "has two keys `least`"),
        (
            module(manifest=MANIFEST.replace("default = 2", "default = 10")),
            "has a default of `least` that is no value",
        ),
        (module().replace("(func", "(fnuc", 1), "neither a WebAssembly module nor the text of one: "),
        ("hello", "neither a WebAssembly module nor the text of one: expected `(` (line 1)"),
    ],
)
def test_a_module_that_cannot_be_used_is_refused_at_its_place(
    write: Callable[[str, str], str], content: str, said: str
) -> None:
    path = write("mine.wat", content)
    with pytest.raises(library.ScenarioError) as error:
        library.check(HARD, transport=path)
    assert error.value.message.startswith("the plug-in `mine` cannot be used: ")
    assert said in error.value.message
    assert (error.value.file, error.value.line) == ("--transports", 1)


def test_a_truncated_module_is_refused(tmp_path: Path) -> None:
    whole = (PLUGINS / "dctcp.wasm").read_bytes()
    path = tmp_path / "mine.wasm"
    for length in (0, 3, 4, 8, 9, 100, 900, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(library.ScenarioError, match="the plug-in `mine` cannot be used: "):
            library.check(SMALL, transport=str(path))


def test_a_damaged_module_is_refused_or_runs(tmp_path: Path) -> None:
    whole = (PLUGINS / "dctcp.wasm").read_bytes()
    for place in range(8, len(whole), 97):
        path = tmp_path / f"m{place}.wasm"
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        # Any other error, or a crash, would end the test.
        with suppress(library.ScenarioError, library.PluginError):
            library.run(SMALL, transport=str(path), set=["run.duration=3 ms"])


def test_keys_are_checked_against_the_manifest(write: Callable[[str, str], str]) -> None:
    path = write("mine.wat", module())

    def mistake(settings: str) -> tuple[str, str | None]:
        with pytest.raises(library.ScenarioError) as error:
            library.check(HARD, transport=f"{path}:{settings}")
        return error.value.message, error.value.hint

    assert mistake("leest=3") == ("unknown key `leest` in [transport]", "did you mean `least`?")
    assert mistake("least=10")[0].startswith("`least`")
    assert mistake("least=many")[0] != ""
    assert mistake("d_cap=4")[0].startswith("`d_cap` belongs to")
    assert mistake("d_cap=4")[0].endswith(", this one is `mine`")
    resolved, _ = library.check(HARD, transport=f"{path}:least=3:rto_min=7 ms")
    table = resolved["transport"]
    assert (table["name"], table["plugin"], table["least"], table["rto_min"]) == ("mine", path, 3, "7 ms")  # type: ignore[typeddict-item]


def test_a_scenario_names_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "laws").mkdir()
    shutil.copy(PLUGINS / "d2tcp.wasm", tmp_path / "laws" / "mine.wasm")
    file = tmp_path / "s.toml"
    expected = hashed(library.run(SMALL))
    written = 'name = "d2tcp"'
    for table in ('plugin = "laws/mine.wasm"', 'plugin = "laws/mine.wasm"\nname = "other"'):
        file.write_text(SMALL.replace(written, table))
        found = library.run(file)
        assert hashed(found) == expected
        assert found.data["transport"] == ("other" if "other" in table else "mine")
        # The resolved scenario is a scenario.
        table = found.scenario["transport"]
        assert table["plugin"] == "laws/mine.wasm"  # type: ignore[typeddict-item]
        again = SMALL.replace(written, f'name = "{table["name"]}"\nplugin = "{tmp_path}/laws/mine.wasm"')
        assert library.run(again).data["transport"] == table["name"]
    file.write_text(
        'transport = "laws/mine.wasm"\n' + SMALL.replace(f'[transport]\n{written}\nrto_min = "1 ms"\n', "")
    )
    assert hashed(library.run(file, set=["transport.rto_min=1 ms"])) == expected
    of_class = SMALL.replace(written, 'name = "dctcp"').replace(
        'name = "web"', 'name = "web"\ntransport = { plugin = "laws/mine.wasm", inherit = true }'
    )
    file.write_text(of_class)
    assert hashed(library.run(file)) == hashed(
        library.run(of_class.replace('plugin = "laws/mine.wasm"', written))
    )
    file.write_text(SMALL.replace(written, 'plugin = "laws/mine.wasm"\nname = "dctcp"'))
    with pytest.raises(
        library.ScenarioError, match="`dctcp` is a transport of its own, and there is a `plugin`"
    ):
        library.check(file)
    file.write_text(SMALL.replace(written, 'plugn = "laws/mine.wasm"'))
    with pytest.raises(library.ScenarioError, match="did you mean `plugin`"):
        library.check(file)
    file.write_text(SMALL.replace(written, 'name = "laws/mine.wasm"'))
    with pytest.raises(library.ScenarioError, match=re.escape('write plugin = "laws/mine.wasm"')):
        library.check(file)


def test_an_edited_module_is_run_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.wat"
    path.write_text(module())
    (tmp_path / "s.toml").write_text(SMALL)
    point = Point(tmp_path / "s.toml", (), "mine.wat")
    first = key(point)
    assert key(point) == first
    made = run_points([point], store=tmp_path / "store", progress=False)[0]
    path.write_text(module("(f64.store (i32.const 0) (f64.const 3))"))
    assert key(point) != first
    again = run_points([point], store=tmp_path / "store", progress=False)[0]
    assert again.run["marks"] != made.run["marks"] or again.run["summary"] != made.run["summary"]
    assert len(list((tmp_path / "store").glob("*/*.json"))) == 2
    path.write_text(module())
    assert run_points([point], store=tmp_path / "store", progress=False)[0].run == made.run
    assert len(list((tmp_path / "store").glob("*/*.json"))) == 2


def test_a_worker_needs_no_file_of_the_asking_machine() -> None:
    content = (PLUGINS / "d2tcp.wasm").read_bytes()
    task = Task(("run.seed=7",), "laws/mine.wasm:d_cap=4", 7, ("flows",), build())
    answer = do(task, Bundle(SMALL, "small", {"laws/mine.wasm": content}))
    assert answer.error is None
    figures = json.loads(answer.record)["result"]
    expected = library.run(SMALL, transport="d2tcp:d_cap=4", seed=7)
    assert figures["summary"] == json.loads(json.dumps(expected.data["summary"]))
    assert figures["transport"] == "mine"
    assert answer.tables["flows"] == files.table(expected.flows)
    refused = do(task, Bundle(SMALL, "small", {}))
    assert "cannot read the file `laws/mine.wasm`" in str(refused.error)


@pytest.fixture
def laws(tmp_path: Path, small: Path) -> Path:
    (tmp_path / "laws").mkdir()
    shutil.copy(PLUGINS / "dctcp.wasm", tmp_path / "laws" / "mine.wasm")
    return small


def test_variants_have_names_of_their_own(duetime: Command, laws: Path, tmp_path: Path) -> None:
    named = "d2tcp,d2tcp:d_cap=4:g=0.5,laws/mine.wasm,laws/mine.wasm:g=0.5"
    names = ["d2tcp", "d2tcp:d_cap=4:g=0.5", "mine", "mine:g=0.5"]
    done = duetime(
        "compare", laws, "--transports", named, "--out", "out", "--json", "--against", "laws/mine.wasm"
    )
    assert (done.returncode, done.stderr) == (0, "Saved in out\n")
    data = json.loads(done.stdout)
    assert list(data["runs"]) == names
    assert data["against"] == "mine"
    assert list(data["differences"]) == [name for name in names if name != "mine"]
    loaded = library.load(tmp_path / "out")
    assert {name: run.data["marks"] for name, run in loaded.runs.items()} == {
        name: run["marks"] for name, run in data["runs"].items()
    }
    expected = library.compare(SMALL, ["d2tcp", "d2tcp:d_cap=4:g=0.5", "dctcp", "dctcp:g=0.5"])
    for name, other in zip(names, expected.runs.values(), strict=True):
        assert loaded.runs[name].flows.equals(other.flows)
        assert loaded.runs[name].summary == other.summary
    shown = duetime("compare", laws, "--transports", named)
    assert all(name in shown.stdout for name in names)
    failing = duetime(
        "compare",
        laws,
        "--transports",
        named,
        "--json",
        "--fail-if",
        "d2tcp:d_cap=4:g=0.5: queries.missed >= 0",
    )
    assert failing.returncode == 3
    assert failing.stderr.count("failed: ") == 1


def test_a_scenario_with_a_plugin_is_compared_with_the_usual_transports(duetime: Command, laws: Path) -> None:
    written = laws.read_text()
    laws.write_text(
        re.sub(r'(?m)^name = "(dctcp|d2tcp|tcp)".*$', 'plugin = "laws/mine.wasm"', written, count=1)
    )
    assert laws.read_text() != written
    done = duetime("compare", laws, "--json")
    assert done.returncode == 0, done.stderr
    assert "comparing tcp, dctcp, d2tcp, mine;" in done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert list(runs) == ["tcp", "dctcp", "d2tcp", "mine"]
    assert runs["mine"]["summary"] == runs["dctcp"]["summary"]


def test_mistakes_in_variants_are_shown_at_their_place(duetime: Command, laws: Path) -> None:
    def said(transports: str) -> str:
        done = duetime("compare", laws, "--transports", transports)
        assert done.returncode == 2
        return done.stderr

    assert "did you mean `d_cap`?" in said("d2tcp:d_cp=4")
    assert "a setting KEY=VALUE is missing behind `:`" in said("d2tcp:")
    assert "there is no transport `d3tcp`" in said("d3tcp:d_cap=4")
    assert "is named twice" in said("d2tcp:d_cap=4,d2tcp:d_cap=4")
    assert "would both be called mine; rename a file" in said("laws/mine.wasm,other/mine.wasm")
    assert "cannot read the file `none.wasm`: there is no such file" in said("none.wasm")


def test_sweeps_searches_and_variants_take_plugins(duetime: Command, laws: Path, tmp_path: Path) -> None:
    arms = 'transports = ["dctcp", "laws/mine.wasm", "dctcp:g=0.5"]'
    grid = f"{arms}\nseeds = 2\n[grid]\ntraffic.queries.leaves = [2, 4]\n"
    (tmp_path / "s.toml").write_text(f'scenario = "{laws.name}"\n{grid}')
    swept = sweep(tmp_path / "s.toml", out=tmp_path / "swept", progress=False)
    runs = swept.runs()
    assert runs["transport"].unique(maintain_order=True).to_list() == ["dctcp", "mine", "dctcp:g=0.5"]
    figures = ("marks", "missed", "fct_us_p99")
    mine, own = (runs.filter(transport=name).select(figures) for name in ("mine", "dctcp"))
    assert mine.equals(own)
    assert library.load(tmp_path / "swept").runs().equals(runs)
    assert swept.differences()["transport"].unique().sort().to_list() == ["dctcp:g=0.5", "mine"]
    named = [str(tmp_path / "laws/mine.wasm"), "d2tcp:d_cap=4"]
    found = robust(laws, named, out=tmp_path / "robust", many=3, progress=False)
    assert found.transports == ("mine", "d2tcp:d_cap=4")
    assert all(set(each.values) == {"mine", "d2tcp:d_cap=4"} for each in found.outcomes)
    words = ["--transports", "dctcp,laws/mine.wasm", "--seeds", 1, "--target", "50%", "--json"]
    for command in (["tighten"], ["need", "--over", "network.rate"]):
        done = duetime(command[0], laws, *words, *command[1:])
        assert done.returncode == 0, done.stderr
        answers = {
            each["transport"]: {**each, "transport": ""} for each in json.loads(done.stdout)["answers"]
        }
        assert answers["mine"] == answers["dctcp"]


def test_a_template_in_the_text_format_needs_no_compiler(duetime: Command, small: Path) -> None:
    done = duetime("init", "--plugin", "gentle", "--language", "wat")
    assert done.stdout.splitlines() == [
        "Wrote gentle.",
        "Compare: duetime compare scenario.toml --transports dctcp,gentle/gentle.wat",
    ]
    done = duetime(
        "compare", small, "--transports", "dctcp,gentle/gentle.wat,gentle/gentle.wat:target=50", "--json"
    )
    runs = json.loads(done.stdout)["runs"]
    assert list(runs) == ["dctcp", "gentle", "gentle:target=50"]
    assert (
        len({run["packets_delivered"] for run in runs.values()} | {run["marks"] for run in runs.values()}) > 1
    )
    again = duetime("init", "--plugin", "gentle")
    assert (again.returncode, again.stderr) == (
        2,
        "error: gentle exists already and is left as it is; choose another name\n",
    )


def _builds_wasm() -> bool:
    try:
        found = subprocess.run(
            ["rustc", "--print", "target-libdir", "--target", "wasm32-unknown-unknown"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return False
    return found.returncode == 0 and Path(found.stdout.strip()).is_dir()


@pytest.mark.skipif(not _builds_wasm(), reason="there is no Rust for wasm32-unknown-unknown")
def test_the_template_in_rust_is_built_and_is_the_law_of_the_other(duetime: Command, tmp_path: Path) -> None:
    (tmp_path / "hard.toml").write_text(HARD)
    done = duetime("init", "--plugin", "my-law")
    command = done.stdout.splitlines()[1].removeprefix("Build:   cd my-law && ")
    subprocess.run(command.split(), cwd=tmp_path / "my-law", check=True, capture_output=True)
    duetime("init", "--plugin", "text", "--language", "wat")
    built = tmp_path / "my-law/target/wasm32-unknown-unknown/release/my_law.wasm"
    found = library.compare(HARD, [str(built), str(tmp_path / "text/text.wat"), "tcp:ecn=false"])
    law, text, tcp = (hashed(run) for run in found.runs.values())
    assert law == text
    assert law != tcp


def test_the_template_in_assemblyscript_is_written_whole(duetime: Command, tmp_path: Path) -> None:
    done = duetime("init", "--plugin", "My Law", "--language", "assemblyscript")
    assert "Build:   cd My Law && npm install && npm run build" in done.stdout
    package = json.loads((tmp_path / "My Law/package.json").read_text())
    assert package["name"] == "my-law"
    assert "--outFile my-law.wasm" in package["scripts"]["build"]
    manifests = [
        (TEMPLATES / language / "duetime.toml").read_text() for language in ("rust", "assemblyscript")
    ]
    assert manifests[0] == manifests[1] == (tmp_path / "My Law/duetime.toml").read_text()


@pytest.mark.parametrize("language", ["rust", "assemblyscript"])
def test_interfaces_of_templates_have_the_fields_of_the_engine(language: str) -> None:
    source = (SCENARIOS.parent / "crates/transport/src/controllers/plugin.rs").read_text()
    view = source[source.index("pub struct View") :]
    fields = [
        line.split(":")[0].split()[-1] for line in view[: view.index("\n}")].splitlines() if ": f64," in line
    ]
    assert len(fields) == 25
    path = {"rust": "rust/src/duetime.rs", "assemblyscript": "assemblyscript/assembly/duetime.ts"}[language]
    text = (TEMPLATES / path).read_text()
    event = text[text.index("Event {") :]
    event = event[: event.index("\n}")]
    found = [line.split(":")[0].split()[-1] for line in event.splitlines() if ": f64" in line]
    assert found == fields


@library.controller
class AsWindow:
    """DCTCP's law, once per window."""

    def __init__(self) -> None:
        self.alpha = 1.0

    def on_window(self, w: Window) -> float | None:
        assert w.acked > 0 or w.lost or w.timeouts
        assert 0 <= w.marked <= 1
        assert w.mss == 1460
        assert w.rtt is None or (w.min_rtt is not None and w.rtt >= w.min_rtt > 0)
        self.alpha += (w.marked - self.alpha) / 16
        if w.lost or w.timeouts:
            return None
        if w.marked:
            w.ssthresh = max(w.cwnd * (1 - self.alpha / 2), w.floor)
            return w.ssthresh
        return w.cwnd * 2 if w.cwnd < w.ssthresh else w.cwnd + 1


def test_a_class_is_called_once_per_window() -> None:
    found = library.compare(LONG, ["dctcp", AsWindow, "tcp:ecn=false"])
    assert list(found.runs) == ["dctcp", "AsWindow", "tcp:ecn=false"]
    assert found.runs["AsWindow"].data["transport"] == "AsWindow"
    dctcp, own, tcp = (run.links["queue_mean"].max() for run in found.runs.values())
    assert own < 2 * dctcp < tcp
    dctcp, own, tcp = (run.summary["goodput_mbps"] for run in found.runs.values())
    assert own == pytest.approx(dctcp, rel=0.02)
    assert hashed(library.run(HARD, transport=AsWindow)) == hashed(library.run(HARD, transport=AsWindow))


def test_a_class_sees_deadlines_and_returns_or_sets_the_window() -> None:
    seen: list[tuple[float | None, float | None, float | None]] = []

    @library.controller(ecn="off")
    class Fixed:
        def on_window(self, w: Window) -> None:
            seen.append((w.remaining, w.size, w.left))
            w.cwnd = 4

    @library.controller(ecn="off")
    class Returned:
        def on_window(self, _: Window) -> float:
            return 4

    fixed = library.run(SMALL, transport=Fixed)
    assert fixed.data["marks"] == 0
    assert hashed(fixed) == hashed(library.run(SMALL, transport=Returned))
    assert {left is None for *_, left in seen} == {True, False}
    assert all(
        rest is not None and size is not None and 0 <= rest <= size <= 30_000 for rest, size, _ in seen
    )


def test_a_class_that_fails_ends_the_run_with_its_line() -> None:
    @library.controller
    class Wrong:
        def on_window(self, w: Window) -> float:
            return 1 / 0 if w.now > 0.002 else w.cwnd

    @library.controller
    class Negative:
        def on_window(self, _: Window) -> float:
            return -1

    with pytest.raises(
        library.PluginError, match=r"`Wrong`: `on_window` raised ZeroDivisionError: .* in line \d+, "
    ):
        library.run(SMALL, transport=Wrong)
    with pytest.raises(library.PluginError, match=r"`Negative`: .* the window is -1 and ssthresh inf"):
        library.run(SMALL, transport=Negative)


def test_a_class_is_refused_where_it_cannot_be_called(tmp_path: Path) -> None:
    with pytest.raises(library.PluginError, match="one thread where its controller is a Python class"):
        library.run(SMALL, transport=AsWindow, set=["run.threads=2"])
    assert hashed(library.run(SMALL, transport=AsWindow, set=["run.threads=auto"])) == hashed(
        library.run(SMALL, transport=AsWindow)
    )
    with pytest.raises(Unreadable, match="make it a plug-in: duetime init --plugin"):
        library.compare(SMALL, ["dctcp", AsWindow], store=tmp_path / "store")
    with pytest.raises(Unreadable, match="make it a plug-in"):
        robust(SMALL, ["dctcp", "python:AsWindow"], out=tmp_path / "robust", progress=False)
    with pytest.raises(library.ScenarioError, match="is a Python class of another process"):
        library.check(SMALL, transport="python:Nobody")

    class Unregistered:
        def on_window(self, _: Window) -> float:
            return 1

    with pytest.raises(Unreadable, match=r"write @duetime.controller above the class"):
        library.run(SMALL, transport=Unregistered)
    with pytest.raises(TypeError, match=r"a method on_window\(self, w\)"):
        library.controller(int)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="`ecn` is"):
        _core.register("X", AsWindow, "on")


@pytest.mark.parametrize(
    ("transport", "parts"),
    [
        ("d2tcp", ("d2tcp", "")),
        ("d2tcp:d_cap=4:g=0.5", ("d2tcp", ":d_cap=4:g=0.5")),
        ("C:\\laws\\mine.wasm:g=1", ("C:\\laws\\mine.wasm", ":g=1")),
        ("python:Mine", ("python:Mine", "")),
        ("d2tcp:", ("d2tcp:", "")),
    ],
)
def test_settings_begin_behind_a_colon(transport: str, parts: tuple[str, str]) -> None:
    assert transports.split(transport) == parts


def test_a_module_has_the_name_of_its_file_unless_a_built_in_has_it() -> None:
    labels = [transports.label(each) for each in ("a/b/mine.wasm:g=1", "a/dctcp.wasm", "x.wat", "d2tcp:g=1")]
    assert labels == ["mine:g=1", "dctcp.wasm", "x", "d2tcp:g=1"]
