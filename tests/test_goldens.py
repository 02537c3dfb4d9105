"""What runs give does not change unnoticed: see `goldens.py`."""

import difflib
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
            "results changed. If they should: `make goldens`, and say in CHANGELOG.md what moved\n"
            + "\n".join(changed[:40])
            + rest
        )


def test_a_hash_shows_the_least_difference(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(goldens.BASE, encoding="utf-8")
    (tmp_path / "messages.csv").write_text(goldens.MESSAGES, encoding="utf-8")

    def line(*changes: str) -> str:
        return goldens.line(goldens.Golden("one", (goldens.Run(base, changes),)))

    # A picosecond on each link changes times, and no figure of the table.
    later = ("network.delay=20.000001 us",)
    assert line() == line() != line(*later)
