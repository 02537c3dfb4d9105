"""packaging/tested.toml gives each crate of ours the profile of tests: CI checks no less than developers."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def read(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def test_each_crate_has_the_checks_of_tests() -> None:
    members = [*ROOT.glob("crates/*/Cargo.toml"), ROOT / "deploy/linux/law/Cargo.toml"]
    names = sorted(tomllib.loads(path.read_text(encoding="utf-8"))["package"]["name"] for path in members)
    profiles = read("packaging/tested.toml")["profile"]["release"]["package"]
    assert sorted(profiles) == names
    level = read("Cargo.toml")["profile"]["test"]["opt-level"]
    assert [name for name, profile in profiles.items() if profile["opt-level"] != level] == []
    checks = ("debug-assertions", "overflow-checks")
    assert [name for name, profile in profiles.items() if not all(profile[each] for each in checks)] == []
