"""The workflows: pinned actions, few permissions, commands that exist; the release's order and notes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "packaging"))

import release

ROOT = Path(__file__).resolve().parents[1]
yaml = pytest.importorskip("yaml")
FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
#: An action by the commit of a version, which the comment names.
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
WORKFLOWS: dict[str, dict[Any, Any]] = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES
}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]


def uses() -> list[tuple[str, str]]:
    """Return every line of a workflow that names an action, with its file."""
    lines = [(path.name, line.strip(" -")) for path in FILES for line in path.read_text().splitlines()]
    return [(name, line) for name, line in lines if line.startswith("uses:")]


def steps(name: str, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = WORKFLOWS[name]["jobs"][job]["steps"]
    return found


def test_the_lines_that_name_actions_are_all_of_them() -> None:
    parsed = [step["uses"] for name, job in JOBS for step in steps(name, job) if "uses" in step]
    assert len(parsed) == len(uses()) > 20


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit_and_name_their_version(name: str) -> None:
    assert [line for file, line in uses() if file == name and not PINNED.match(line)] == []


def test_a_tag_or_a_short_commit_is_no_pin() -> None:
    line = next(line for _, line in uses())
    action, version = line.split("@")[0], line.split(" # ")[1]
    assert PINNED.match(line)
    for commit in ("v4", "v4 # v4.4.0", "11d5960 # v4.4.0", line.split("@")[1].split(" #")[0]):
        assert not PINNED.match(f"{action}@{commit}")
    assert not PINNED.match(line.replace(version, "main"))


def test_an_action_has_one_version_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for _, line in uses():
        action, pin = line.removeprefix("uses: ").split("@")
        pins.setdefault(action, set()).add(pin)
    assert {action: found for action, found in pins.items() if len(found) > 1} == {}


@pytest.mark.parametrize(("name", "job"), JOBS)
def test_jobs_end_and_only_publishing_ones_may_write(name: str, job: str) -> None:
    workflow, described = WORKFLOWS[name], WORKFLOWS[name]["jobs"][job]
    assert workflow["permissions"] == {"contents": "read"}
    assert described["timeout-minutes"] <= 60
    # A person can hold back what an environment guards.
    assert ("permissions" in described) == ("environment" in described)


@pytest.mark.parametrize(("name", "job"), JOBS)
def test_commands_of_jobs_exist(name: str, job: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for run in (step["run"] for step in steps(name, job) if "run" in step):
        for target in re.findall(r"\bmake ([a-z -]+)", run):
            assert all(re.search(rf"(?m)^{each}:", makefile) for each in target.split()), run
        for path in re.findall(r"(?:^|\s)((?:deploy|packaging|playground|tests|\.ci)/[\w./-]+)", run):
            assert (ROOT / path).is_file(), run


def jobs() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = WORKFLOWS["release.yml"]["jobs"]
    return found


def before(job: str) -> set[str]:
    """Return the jobs that must succeed before this one starts."""
    needs = jobs()[job].get("needs", [])
    direct = {needs} if isinstance(needs, str) else set(needs)
    return direct.union(*(before(each) for each in direct))


def test_a_release_publishes_only_after_everything_is_built() -> None:
    built = {"notes", "wheel", "source", "site", "packages"}
    published = {job for job, described in jobs().items() if "permissions" in described}
    assert published == {"pypi", "pages", "release"}
    assert all(before(job) >= built for job in published)
    assert all(before(job) <= built for job in built)


def test_a_release_has_no_secret_but_its_own_token() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    permissions = {job: described.get("permissions") for job, described in jobs().items()}
    assert permissions["pypi"] == {"id-token": "write"}
    assert permissions["pages"] == {"pages": "write", "id-token": "write"}
    assert permissions["release"] == {"contents": "write"}


def test_every_artifact_is_fetched_by_a_job_that_publishes() -> None:
    made: set[str] = set()
    for job in jobs():
        for step in steps("release.yml", job):
            if step.get("uses", "").startswith("actions/upload-artifact@"):
                made.add(step["with"]["name"].replace("${{ matrix.target }}", "x64"))
    (pattern,) = (
        step["with"]["pattern"]
        for step in steps("release.yml", "release")
        if "download" in step.get("uses", "")
    )
    choices = [each.replace("*", r"[\w-]+") for each in pattern.strip("{}").split(",")]
    assert made == {"notes", "packages", "playground", "python-source", "python-x64"}
    assert all(any(re.fullmatch(each, name) for each in choices) for name in made)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("Cargo.toml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(
        "# C\n\n## [Unreleased]\n\n- new\n\n## [0.2.0] - 2026\n\n- old\n\n## [0.1.0]\n\n- first\n"
    )
    return tmp_path


def test_a_tag_that_fits_has_the_notes_of_its_version(tree: Path) -> None:
    version = release.versions()["Cargo.toml"]
    text = (tree / "CHANGELOG.md").read_text().replace("0.2.0", version)
    (tree / "CHANGELOG.md").write_text(text)
    assert release.mistakes(f"v{version}", tree) == []
    assert release.notes(text, version) == "- old"
    assert release.notes(text, "0.1.0") == "- first"


def test_a_tag_of_another_version_is_refused(tree: Path) -> None:
    wrong = release.mistakes("v9.0.0", tree)
    assert [each.split(":")[0] for each in wrong] == ["Cargo.toml", "CITATION.cff", "CHANGELOG.md"]
    assert release.mistakes("9.0", tree) == ["9.0: expected a tag like v1.2.3"]


def test_the_release_script_fails_with_its_reasons() -> None:
    command = [sys.executable, str(ROOT / "packaging/release.py"), "v9.0.0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "the tag is v9.0.0" in done.stderr
    assert done.stdout == ""
