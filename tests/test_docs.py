"""What the documentation shows is true: its scenarios pass, its commands run, its reference is up to date."""

import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import duetime

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "docs/language.md", "docs/bound.md", "docs/reference.md"]
DUETIME = Path(sys.executable).with_name("duetime")
# What a part of a scenario is completed with.
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


def blocks(language: str) -> list[object]:
    """Every code block of that language in the pages."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: block.start()].count("\n") + 1
            found.append(pytest.param(block[1], id=f"{page}:{line}"))
    return found


@pytest.mark.parametrize("text", blocks("toml"))
def test_scenarios_pass(text: str) -> None:
    if "[[traffic]]" in text and "[network]" in text:
        duetime.check(text)
    else:
        duetime.check({**tomllib.loads(REST), **tomllib.loads(text)})


def test_the_readme_can_be_followed(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    scenario, commands, python = (
        re.search(rf"^```{language}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
        for language, part in (
            ("toml", readme),
            ("sh", readme.split("Save it as `first.toml`")[1]),
            ("python", readme),
        )
    )
    assert scenario is not None
    assert commands is not None
    assert python is not None
    (tmp_path / "first.toml").write_text(scenario[1], encoding="utf-8")
    for line in commands[1].splitlines():
        command, *arguments = shlex.split(line)
        assert command == "duetime"
        subprocess.run([DUETIME, *arguments], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "out" / "first" / "plots" / "overview.png").exists()
    subprocess.run([sys.executable, "-c", python[1]], cwd=tmp_path, check=True)


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listing = subprocess.run([DUETIME, "--help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  (\w+)  ", listing.split("Commands:")[1], re.MULTILINE)
    assert len(commands) >= 8
    assert [name for name in commands if f"`duetime {name}" not in readme and f"`{name}`" not in readme] == []


def test_the_reference_is_up_to_date() -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == generate["reference"](duetime.catalog()), "run `make docs`"


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


def test_make_says_what_it_can() -> None:
    listing = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for target in ("demo", "test", "bench", "wheel", "lint", "fmt"):
        assert re.search(rf"^{target} +\w", listing, re.MULTILINE), target
