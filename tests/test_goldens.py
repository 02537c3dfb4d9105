"""The results of runs do not change unnoticed: see `goldens.py`."""

import difflib
import re
from pathlib import Path

import pytest

import goldens


def test_every_run_gives_what_it_gave() -> None:
    kept = [path.read_text(encoding="utf-8") for path in (goldens.TABLE, goldens.HASHES)]
    outcomes = goldens.outcomes()
    found = [goldens.readable(outcomes, goldens.version()), goldens.hashed(outcomes)]
    changed = [
        line
        for before, after in zip(kept, found, strict=True)
        for line in difflib.ndiff(before.splitlines(), after.splitlines())
        if line.startswith(("- ", "+ "))
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
    table, hashes = tmp_path / "goldens.txt", tmp_path / "goldens.hashes"
    monkeypatch.setattr(goldens, "TABLE", table)
    monkeypatch.setattr(goldens, "HASHES", hashes)

    def after(**found: str) -> str:
        made = [
            goldens.Outcome(
                goldens.Golden(name, (), shown=name == "tcp"), (one,), (19_738, 7, 0, 34, 1_000_499)
            )
            for name, one in found.items()
        ]
        monkeypatch.setattr(goldens, "outcomes", lambda: made)
        goldens.main()
        return table.read_text().splitlines()[0]

    table.write_text("results 3\n")
    hashes.write_text("about\nrun json\ntcp  1f\n")
    assert after(tcp="1f") == "results 3"
    assert after(tcp="1f", longer="2a") == "results 3"
    assert after(tcp="1f", longer="2b") == "results 4"
    assert hashes.read_text().splitlines()[2:] == ["tcp     1f", "longer  2b"]
    assert table.read_text().splitlines()[1:] == [
        goldens.ABOUT,
        "run  delivered      drops      marks   timeouts     missed",
        "tcp      19700          7          0         34    1000000",
    ]
    assert after(longer="2b") == "results 5"


def test_reviewers_see_every_transport_topology_fault_and_scenario() -> None:
    text = goldens.TABLE.read_text(encoding="utf-8")
    _, about, _, *lines = text.splitlines()
    assert about == goldens.ABOUT
    seen = {re.split(r"\s{2,}", line)[0] for line in lines}
    needed = {f"base, {name}" for name in goldens.names("transports")}
    needed |= {f"base on {name}" for name in goldens.names("topologies")}
    needed |= {f"fault {name}, d2tcp" for name in goldens.names("faults")}
    scenarios = (goldens.ROOT / "scenarios").glob("*.toml")
    needed |= {f"{path.stem}, {name}" for path in scenarios for name in goldens.SHOWN}
    # People read all of it: beside these there are a few of buffers, marks, classes and places alone.
    assert seen == needed | set(goldens.CHOICES)
    assert len(seen) == len(lines)
    assert len(goldens.CHOICES) <= 12
    hashed = {
        re.split(r"\s{2,}", line)[0] for line in goldens.HASHES.read_text(encoding="utf-8").splitlines()[2:]
    }
    assert seen < hashed


def test_a_hash_shows_the_least_difference(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(goldens.BASE, encoding="utf-8")
    (tmp_path / "messages.csv").write_text(goldens.MESSAGES, encoding="utf-8")

    def hashes(*changes: str) -> tuple[str, ...]:
        return goldens.outcome(goldens.Golden("one", (goldens.Run(base, changes),))).hashes

    # A picosecond on each link changes times, and no figure of the table.
    later = ("network.delay=20.000001 us",)
    assert hashes() == hashes() != hashes(*later)
