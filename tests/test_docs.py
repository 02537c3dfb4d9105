"""The documentation is true: its scenarios pass, its commands run, its reference is up to date."""

import fcntl
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import duetime
import reproduced
from duetime.columns import COLUMNS
from duetime.experiments import places
from duetime.testbed import need

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
PAGES = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", *WRITTEN]
# Followed block by block in a folder of their own, as a reader would.
HOW_TOS = [page for page in WRITTEN if page.startswith("docs/howto/")]
OPERATOR = "docs/howto/service-to-decision.md"
GUIDES = ["README.md", "docs/tutorial.md", "docs/python.md", *HOW_TOS]
# A code block, and the comment before it with its treatment.
#   <!-- file: NAME -->       the reader saves it under this name
#   <!-- output -->           what the commands above it print; BLESS=1 writes it anew
#   <!-- fails: CODE -->      its command ends with this exit code
#   <!-- not run: REASON -->
#   <!-- on Linux -->         run as root where D2TCP can be attached
BLOCK = re.compile(r"^(?:<!-- ([^\n]+?) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DUETIME = Path(sys.executable).with_name("duetime")
# The sections that complete a part of a scenario.
REST = """
[run]
duration = "1 ms"
[network]
topology = "star"
hosts = 2
rate = "1 Gbps"
delay = "1 us"
[transport]
name = "tcp"
[[traffic]]
name = "any"
pattern = "long"
from = 0
to = 1
"""
# Every signal, a fan-in.
TRACED = """
title = "Traced"
run = { duration = "10 ms", trace = { every = "1 ms", what = ["throughput", "queue"] } }
network = { topology = "star", hosts = 3, rate = "1 Gbps", delay = "1 us" }
transport = { name = "tcp" }
traffic = [{ name = "any", pattern = "fan-in", leaves = 2, every = "1 ms", size = "9 KB", deadline = "1 ms" }]
"""


@dataclass(frozen=True)
class Block:
    """One code block of a page."""

    mark: str
    language: str
    text: str
    where: str

    @property
    def file(self) -> str | None:
        """The name under which the reader saves it."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else None


def blocks(page: str) -> list[Block]:
    """Every code block of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(match[1] or "", match[2], match[3], f"{page}:{text[: match.start()].count(chr(10)) + 1}")
        for match in BLOCK.finditer(text)
    ]


def scenarios() -> list[object]:
    """Every scenario, or part of one, that no guide writes to a file."""
    every = [block for page in PAGES for block in blocks(page)]
    return [pytest.param(b.text, id=b.where) for b in every if b.language == "toml" and b.file is None]


@pytest.mark.parametrize("text", scenarios())
def test_scenarios_pass(text: str) -> None:
    if re.search(r"^scenario = ", text, re.MULTILINE):
        duetime._core.sweep(text, "a page", ROOT / "scenarios" / "sweeps")
    elif "[[traffic]]" in text and "[network]" in text:
        duetime.check(text)
    else:
        duetime.check({**tomllib.loads(REST), **tomllib.loads(text)})


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_can_be_followed(page: str, tmp_path: Path) -> None:
    printed = ""
    for block in blocks(page):
        kind = block.mark.partition(": ")[0]
        assert kind in ("", "file", "output", "fails", "not run", "on Linux"), f"{block.where}: {block.mark}"
        if kind == "output":
            if os.environ.get("BLESS"):
                bless(page, block, printed)
            else:
                assert block.text == printed, f"{block.where}: BLESS=1 writes what is printed"
        elif block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif kind not in ("not run", "on Linux") and block.language in ("sh", "python"):
            expected = int(block.mark.removeprefix("fails: ")) if kind == "fails" else 0
            answer = follow(block, tmp_path)
            assert answer.returncode == expected, f"{block.where}: {answer.stdout}{answer.stderr}"
            printed = as_shown(answer.stdout)


def as_shown(output: str) -> str:
    """Output as a page shows it: without spaces at the ends, blank lines around it, and wall-clock times."""
    lines = "\n".join(line.rstrip() for line in output.splitlines()).strip("\n") + "\n"
    return re.sub(r" in [\d.]+ s \([\d.]+ M packets/s\)", "", lines)


def bless(page: str, block: Block, printed: str) -> None:
    """Replace the output that the page shows by the printed one."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    shown = f"<!-- output -->\n```text\n{block.text}```"
    assert text.count(shown) == 1, f"{block.where}: another block shows the same"
    path.write_text(text.replace(shown, f"<!-- output -->\n```text\n{printed}```"), encoding="utf-8")


@pytest.mark.real
def test_the_operators_commands_attach_show_and_detach(tmp_path: Path) -> None:
    found = need.find("d2tcp") if os.name == "posix" and os.geteuid() == 0 else None
    if found is None:
        pytest.skip("root and target/release/d2tcp (make linux) are needed")
    checked = subprocess.run([found, "check"], capture_output=True, text=True)
    if checked.returncode:
        pytest.skip(f"this kernel: {checked.stderr}")
    # Pins of this test, so that an attachment of the machine is never taken out.
    pins = Path(f"/sys/fs/bpf/d2tcp-test-docs-{os.getpid()}")
    tool = tmp_path / "d2tcp"
    tool.write_text(f'#!/bin/sh\nexec {found} --pins {pins} --audit /nowhere/audit "$@"\n')
    tool.chmod(0o755)
    printed = ""
    try:
        # Names of congestion controls are global in the kernel: tests of the tool hold the same lock.
        with open("/run/lock/d2tcp-test.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for block in blocks(OPERATOR):
                if block.mark == "on Linux":
                    answer = follow(block, tmp_path, tool.parent)
                    assert answer.returncode == 0, f"{block.where}: {answer.stdout}{answer.stderr}"
                    printed += answer.stdout
    finally:
        subprocess.run([found, "--pins", pins, "detach"], capture_output=True)
    assert re.search(r"(?m)^attached: .*answers\.service", printed)
    assert re.search(r"(?m)^rule +answers\.service: ", printed)
    assert printed.endswith("detached\n")
    assert not pins.exists()
    shown = set(re.findall(r"`(without ECN \(as Reno\)|with an echo|segments)`", page_of(OPERATOR)))
    assert {name for name in shown if name in printed} == shown, "the page names what `status` prints"
    assert len(shown) == 3


def page_of(name: str) -> str:
    """The text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def follow(block: Block, folder: Path, *programs: Path) -> subprocess.CompletedProcess[str]:
    """Do what a block of commands or of Python says, with the programs of these folders."""
    program = ["bash", "-euc"] if block.language == "sh" else [sys.executable, "-W", "error", "-c"]
    path = os.pathsep.join([*map(str, programs), str(DUETIME.parent), os.environ["PATH"]])
    return subprocess.run(
        [*program, block.text],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_transport_of_the_guide_compiles_and_does_what_it_says(tmp_path: Path) -> None:
    for part in ("crates/units", "crates/receive", "crates/transport", "deploy/linux/law"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tmp_path)
    manifest = tmp_path / "crates" / "transport" / "Cargo.toml"
    # Its own tests need no simulator.
    manifest.write_text(manifest.read_text().split("[dev-dependencies]")[0])
    shutil.rmtree(tmp_path / "crates" / "transport" / "tests")
    laws = tmp_path / "crates" / "transport" / "src" / "controllers"
    law, lines = (block for block in blocks("docs/howto/own-transport.md") if block.language == "rust")
    (laws / "mild.rs").write_text(law.text)
    declared, listed = (line for line in lines.text.splitlines() if "mild" in line)
    text = (laws / "mod.rs").read_text()
    (laws / "mod.rs").write_text(
        text.replace("mod reno;", f"{declared}\nmod reno;").replace(
            "    boxed {\n", f"    boxed {{\n{listed}\n"
        )
    )
    answer = subprocess.run(
        ["cargo", "test", "--offline", "--quiet", "-p", "duetime-transport", "--lib", "mild"],
        cwd=tmp_path,
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "docs")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr
    assert "1 passed" in answer.stdout


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listing = subprocess.run([DUETIME, "--help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  (\w+)  ", listing.split("Commands:")[1], re.MULTILINE)
    assert len(commands) >= 8
    assert [name for name in commands if f"`duetime {name}" not in readme and f"`{name}`" not in readme] == []


def test_what_is_generated_is_up_to_date() -> None:
    for name, text in runpy.run_path(str(ROOT / "docs" / "generate.py"))["written"]().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, f"{name}: run `make docs`"


def test_every_command_has_a_manual_page_that_is_up_to_date() -> None:
    man = runpy.run_path(str(ROOT / "docs" / "man.py"))
    pages = man["pages"]()
    assert pages.keys() == {path.name for path in man["FOLDER"].iterdir()}
    for name, text in pages.items():
        assert (man["FOLDER"] / name).read_text(encoding="utf-8") == text, f"{name}: run `make man`"
    assert "\\fB\\-\\-seed\\fR" in pages["duetime-run.1"].replace(" N", "")


def test_every_record_is_of_the_engine_that_ships() -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    assert not generate["stale"](), "the engine gives other results than these records hold: `make record`"
    assert generate["examples_are_current"](), (
        "bound.md holds other results than the engine gives: `make record`"
    )
    assert generate["demo_is_current"](), "the demo gives other results than its picture: `make pictures`"


def test_a_record_is_stale_when_what_happened_moves(tmp_path: Path) -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    stale, name = generate["stale"], "d2tcp/fig10"
    table = (ROOT / "tests" / "goldens.hashes").read_text(encoding="utf-8").splitlines()
    (line,) = (number for number, row in enumerate(table) if row.startswith(f"{name}, d2tcp "))
    head = (ROOT / f"docs/record/{name}.toml").read_text(encoding="utf-8")
    (tmp_path / name).parent.mkdir()
    stale.__globals__.update(GOLDENS=tmp_path / "goldens.hashes", RECORD=tmp_path)

    def is_stale(row: str, head: str = head) -> bool:
        (tmp_path / f"{name}.toml").write_text(head, encoding="utf-8")
        text = "\n".join([*table[:line], row, *table[line + 1 :], ""])
        (tmp_path / "goldens.hashes").write_text(text, encoding="utf-8")
        return name in stale()

    words = table[line].split()
    assert not is_stale(table[line])
    assert not is_stale(table[line].replace(words[-2], "00000000")), "another table is another contract"
    assert is_stale(table[line].replace(words[-1], "00000000"))
    judged = re.findall(r'judged = "(\w+)"', head)
    assert is_stale(table[line], head.replace(judged[0], "00000000")), "a claim is not as it was judged"


def test_pictures_show_the_numbers_that_are_recorded() -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    records = [tomllib.loads(path.read_text()) for path in (ROOT / "docs/record").glob("*/*.toml")]
    kept = {name: drawn for record in records for name, drawn in record.get("pictures", {}).items()}
    demo = json.loads((ROOT / "docs/record/demo.json").read_text(encoding="utf-8"))
    kept |= {f"images/{name}": drawn for name, drawn in demo["pictures"].items()}
    # Pictures of records by an earlier engine have no hash.
    old = tuple(f"images/{name.replace('/', '-')}-" for name in generate["stale"]())
    pictures = {f"images/{path.name}": path for path in (ROOT / "docs/images").iterdir()}
    found = {name: path for name, path in pictures.items() if not name.startswith(old)}
    assert kept.keys() == found.keys()
    assert {name: generate["hash_of"](path) for name, path in found.items()} == kept


def test_the_demos_picture_shows_what_the_demo_gives() -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    compared = duetime.compare(ROOT / f"scenarios/{generate['DEMO']}.toml", generate["TRANSPORTS"])
    runs = compared.data["runs"].items()
    given = generate["rounded"]({name: generate["demo_figures"](run) for name, run in runs})
    kept = json.loads((ROOT / "docs/record/demo.json").read_text(encoding="utf-8"))
    assert kept["figures"] == given, "`make pictures` draws it anew"


def test_recorded_results_fill_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    record = generate["record"]
    record.__globals__["RECORD"] = tmp_path / "record"
    reproduced.experiment(tmp_path / "out")
    root = reproduced.experiment_file(tmp_path / "experiments")
    monkeypatch.setattr(places, "folder", lambda: root)
    few = {"as_written": True, "held": 2, "of": 2, "where": ["ACK every 2", "seed 2"], "where_not": []}
    less = {"as_written": False, "held": 1, "of": 3}
    less |= {"where": ["seed 2"], "where_not": ["ACK every 2", "window floor 1"]}
    open_ = {"as_written": None, "held": 0, "of": 0, "where": [], "where_not": []}
    claims = [each["claim"] for each in reproduced.CLAIMS]
    tried = {
        "variants": ["ACK every 2", "window floor 1", "seed 2"],
        "claims": [{"claim": name, **each} for name, each in zip(claims, (few, less, open_), strict=True)],
    }
    for path in (tmp_path / "out").rglob("result.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"robust": tried}))
    record(tmp_path / "out")
    page = "".join(
        f"<!-- {what}: {name} -->\nformer\n<!-- /{what} -->\n\n"
        for what, name in (
            ("how", "d2tcp/fig10"),
            ("values", "d2tcp/fig10"),
            ("claims", "d2tcp/fig10"),
            ("robust", "d2tcp/fig10"),
            ("claims", "x/y"),
        )
    )
    filled = generate["filled"](page, tmp_path / "record")
    assert "former" not in filled
    assert "figure 10; scale: quick; regime: paper: as the paper has it; seeds: 1, 2, 3; runs: 96." in filled
    assert "missed deadlines (%):\n\n| fan-in | tcp | dctcp | d3 | d2tcp | bound |\n" in filled
    assert "| 40 | 62 (57 to 67) | 24.5 (22.5 to 26.5); published around 25 % |" in filled
    assert "| D2TCP misses less than 7 % at fan-in 40 | 7 % | 23.8 % (22.1 to 25.5) | **no** |" in filled
    assert "| D2TCP misses less than 7 % at fan-in 40 | **no** | 1 | only with seed 2 |" in filled
    assert "*No result of `x/y` is recorded yet.*" in filled
    assert generate["filled"](filled, tmp_path / "record") == filled


def test_every_column_and_every_key_is_described() -> None:
    fault = {"kind": "loss", "probability": 0.01}
    traced = tomllib.loads(TRACED) | {"fault": [fault]}
    traced["network"]["lossless"] = True
    result = duetime.run(traced, transport="d3")
    stages = duetime.run(ROOT / "scenarios" / "rpc.toml", set={"run.duration": "2 ms", "run.warm_up": "0 s"})
    of_requests = {"requests", "pieces"}
    for name, columns in COLUMNS.items():
        found = list(getattr(stages if name in of_requests else result, name).columns)
        expected = [column for column in columns if name != "flows" or column not in ("stage", "message")]
        # The names of goals and stages are placeholders.
        assert list(dict.fromkeys(re.sub(":.*", ":NAME", column) for column in found)) == expected, name
    assert list(stages.flows.columns) == list(COLUMNS["flows"])
    page = (ROOT / "docs" / "results" / "keys.md").read_text(encoding="utf-8")
    # The class's name is a placeholder for any.
    found = [key.replace(".any", ".NAME") for key in keys(result.data)]
    requests = dict(stages.summary["requests"])
    for part in ("goals", "stages"):
        requests[part] = {"NAME": next(iter(requests[part].values()))}
    found += keys({"summary": {"requests": requests}})
    assert [key for key in found if not key.endswith(".NAME`") and key not in page] == []


def keys(value: object, path: str = "") -> list[str]:
    """The keys of an object and of those inside, as the page writes them."""
    if not isinstance(value, dict):
        return []
    return [
        found
        for key, each in value.items()
        for found in ([f"`{path}{key}`"], keys(each, f"{path}{key}."))
        for found in found
    ]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("http"):
            path, _, anchor = target.partition("#")
            linked = (ROOT / page).parent / path if path else ROOT / page
            assert linked.exists(), target
            if anchor:
                titles = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = [re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles]
                assert anchor in slugs


def test_the_address_of_the_source_is_the_same_everywhere() -> None:
    address = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["repository"]
    for name in (
        "d2tcp/Cargo.toml",
        "packages/nfpm.yaml",
        "systemd/d2tcp.service",
        "systemd/d2tcp-metrics.service",
    ):
        text = (ROOT / "deploy" / "linux" / name).read_text()
        assert re.findall(r"https://\S+/duetime\b", text) == [address], name


def test_make_says_what_it_can() -> None:
    listing = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for target in ("demo", "test", "bench", "wheel", "lint", "fmt"):
        assert re.search(rf"^{target} +\w", listing, re.MULTILINE), target
