"""The results of runs do not change unnoticed: see `goldens.py`."""

import difflib
import re
from pathlib import Path

import pytest

import goldens


def test_every_run_gives_what_it_gave() -> None:
    kept, found = goldens.TABLE.read_text(encoding="utf-8"), goldens.table()
    changed = [
        line for line in difflib.ndiff(kept.splitlines(), found.splitlines()) if line.startswith(("- ", "+ "))
    ]
    if changed:
        rest = f"\n... and {len(changed) - 40} more" if len(changed) > 40 else ""
        pytest.fail(
            "results changed. If they should: `make goldens`, and say in CHANGELOG.md what moved, and why\n"
            + "\n".join(changed[:40])
            + rest
        )


def test_the_changelog_says_what_became_of_results() -> None:
    changelog = (goldens.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"\bresults {goldens.version()}\b", changelog, re.IGNORECASE), (
        f"results have changed: say in CHANGELOG.md, as `results {goldens.version()}`, what moved, and why"
    )


def test_only_a_changed_line_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "goldens.txt"
    monkeypatch.setattr(goldens, "TABLE", table)

    def after(*lines: str) -> str:
        monkeypatch.setattr(goldens, "table", lambda: "\n".join([f"results {goldens.version()}", *lines, ""]))
        goldens.main()
        return table.read_text().splitlines()[0]

    table.write_text("results 3\nrun json\na, tcp  1f\n")
    assert after("run json", "a, tcp  1f") == "results 3"
    assert after("run      json", "a, tcp    1f", "b, dctcp  2a") == "results 3"
    assert after("run      json", "a, tcp    1f", "b, dctcp  2b") == "results 4"
    assert after("run      json", "b, dctcp  2b") == "results 5"


def test_a_hash_shows_the_least_difference(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(goldens.BASE, encoding="utf-8")
    (tmp_path / "messages.csv").write_text(goldens.MESSAGES, encoding="utf-8")

    def line(*changes: str) -> str:
        return goldens.line(goldens.Golden("one", (goldens.Run(base, changes),)))

    # A picosecond on each link changes times, and no figure of the table.
    later = ("network.delay=20.000001 us",)
    assert line() == line() != line(*later)
