"""Messages of `make locks` on lock files that do not fit the files they lock."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "packaging"))

import locks

PROJECT = """
[project]
name = "a"
dependencies = ["click>=8.1", "Jinja_2>=3"]
[project.optional-dependencies]
dev = ["pytest>=8"]
"""
PINNED = """
click==8.2.0 \\
    --hash=sha256:00
jinja-2==3.1 ; sys_platform != "win32" \\
    --hash=sha256:00 \\
    --hash=sha256:01
pytest==8.0 --hash=sha256:00
"""


def test_every_workspace_of_this_repository_is_looked_at() -> None:
    found = {str(path.parent.relative_to(locks.ROOT)) for path in locks.files(locks.ROOT, "Cargo.lock")}
    assert found >= {".", "fuzz", "deploy/linux/d2tcp", "deploy/linux/testbed", "deploy/linux/clients/rust"}


def test_requirements_that_fit() -> None:
    assert locks.packages(PROJECT, ["dev"], PINNED) == []


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("click==8.2.0", "click==8.0", ["click==8.0 does not fit click>=8.1"]),
        ("pytest==8.0 --hash=sha256:00", "", ["pytest is not in it"]),
        (" --hash=sha256:00\n", "\n", ["pytest has no hash"]),
        ("click==8.2.0", "click 8.2.0", ["not understood"]),
    ],
)
def test_requirements_that_do_not_fit(was: str, now: str, said: list[str]) -> None:
    # The last of its kind: the one line without a backslash.
    changed = now.join(PINNED.rsplit(was, 1))
    got = locks.packages(PROJECT, ["dev"], changed)
    assert len(got) == len(said)
    assert all(each.startswith(begin) for each, begin in zip(got, said, strict=True))


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_a_stale_lock_file_of_a_workspace_is_named(tmp_path: Path) -> None:
    for name, more in (("a", '[dependencies]\nb = { path = "../b" }\n[workspace]\n'), ("b", "")):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "lib.rs").touch()
        text = f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n{more}'
        (tmp_path / name / "Cargo.toml").write_text(text)
    lock = tmp_path / "a" / "Cargo.lock"
    assert [each.split(":")[0] for each in locks.crates(tmp_path)] == ["a/Cargo.lock"]
    lock.write_text('version = 4\n\n[[package]]\nname = "a"\nversion = "1.0.0"\n')
    (stale,) = locks.crates(tmp_path)
    assert stale.startswith("a/Cargo.lock: ")
    assert "--locked" in stale
    lock.write_text(
        'version = 4\n\n[[package]]\nname = "a"\nversion = "1.0.0"\ndependencies = [\n "b",\n]\n\n'
        '[[package]]\nname = "b"\nversion = "1.0.0"\n'
    )
    assert locks.crates(tmp_path) == []


def test_a_stale_lock_file_of_npm_is_named(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"dependencies": {"d3": "7.9.2"}}))
    lock = tmp_path / "package-lock.json"
    one = {"": {"dependencies": {"d3": "7.9.2"}}, "node_modules/d3": {"integrity": "sha512-x"}}
    lock.write_text(json.dumps({"packages": one}))
    assert locks.scripts(tmp_path) == []
    lock.write_text(json.dumps({"packages": {**one, "": {"dependencies": {"d3": "7.9.1"}}}}))
    assert len(locks.scripts(tmp_path)) == 1
    lock.write_text(json.dumps({"packages": {"": one[""]}}))
    assert len(locks.scripts(tmp_path)) == 1


@pytest.mark.parametrize(
    ("used", "fits"),
    [
        (f"actions/checkout@{'0a' * 20} # v4.4.0", True),
        ("./.github/actions/own", True),
        ("actions/checkout@v4", False),
        (f"actions/checkout@{'0a' * 20}", False),
        (f"actions/checkout@{'0a' * 19} # v4", False),
    ],
)
def test_actions_are_pinned_by_a_commit(tmp_path: Path, used: str, fits: bool) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "ci.yml").write_text(f"jobs:\n  a:\n    steps:\n      - uses: {used}\n")
    said = locks.actions(tmp_path)
    assert [each.split(": ")[0] for each in said] == ([] if fits else [".github/workflows/ci.yml:4"])
