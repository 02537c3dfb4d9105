"""ARCHITECTURE.md names files and items that exist, so that a new maintainer finds them."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
#: Files below this folder are named from there.
SIM = ROOT / "crates" / "sim" / "src"
MAX_BYTES = 12 * 1024


def named(pattern: str) -> list[str]:
    """Return the words in backticks that match as a whole."""
    return sorted({each for each in re.findall(r"`([^`\n]+)`", TEXT) if re.fullmatch(pattern, each)})


@cache
def sources() -> tuple[str, ...]:
    """Return the texts of the files of all crates."""
    return tuple(path.read_text(encoding="utf-8") for path in (ROOT / "crates").glob("*/src/**/*.rs"))


def has(item: str) -> bool:
    """Return whether a crate defines a type, or `Type::item` in a file that has the type."""
    name, _, of_it = item.partition("::")
    if not of_it:
        return any(re.search(rf"\b(?:struct|enum|trait|type) {name}\b", each) for each in sources())
    owner = re.compile(rf"\b(?:struct|enum|trait|impl(?:<[^>]*>)?) {name}\b")
    part = re.compile(rf"\bfn {of_it}\b|\b{of_it}: ")
    return any(owner.search(each) and part.search(each) for each in sources())


def missing_files() -> list[str]:
    """Return the named files and folders that are neither in the repository nor in the simulator's crate."""
    paths = [each for each in named(r"[\w./-]*(?:\.rs|\.py|\.toml|\.txt|/)") if "NAME" not in each]
    # `crates/`, `mod.rs` and such follow a folder that has been named.
    places = (
        *(ROOT, SIM, ROOT / "crates", ROOT / "crates" / "transport" / "src", ROOT / "experiments"),
        *(ROOT / "python" / "duetime", ROOT / "python" / "duetime" / "experiments"),
    )
    return [each for each in paths if not any((place / each).exists() for place in places)]


def missing_items() -> list[str]:
    """Return the named items that no crate defines."""
    # A word of one capital may be Python's, or one of a kind that keys have.
    items = named(r"[A-Z]\w+::[a-z]\w+|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
    return [each for each in items if not has(each)]


def test_files_and_items_exist() -> None:
    assert len(named(r"[\w./-]*\.rs")) > 20
    assert missing_files() == []
    assert missing_items() == []


def test_a_name_that_is_gone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "TEXT", "`fabric/gone.rs`, `Port::gone`, `Gone::new` and `fabric/plan.rs`")
    assert missing_files() == ["fabric/gone.rs"]
    assert missing_items() == ["Gone::new", "Port::gone"]


def test_it_stays_short() -> None:
    assert len(TEXT.encode()) <= MAX_BYTES
