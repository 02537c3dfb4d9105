"""Made requests have the statistics that are published of the traces in whose place they are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import duetime as dt
from conftest import SCENARIOS
from duetime import made

# Mooncake's table 2.
INPUT, OUTPUT, CACHED_PERCENT, SECONDS = 15_325, 149, 66, 1022 / 3993


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("number", "cached_within"), [(150, 0.12), (3993, 0.02)])
def test_mooncakes_statistics_are_the_published_ones(number: int, cached_within: float, seed: int) -> None:
    table = [json.loads(line) for line in made.mooncake(number, seed)]
    tokens = [row["input_length"] for row in table]
    assert len(table) == number
    assert sum(tokens) / number == pytest.approx(INPUT, rel=0.01)
    assert sum(row["output_length"] for row in table) / number == pytest.approx(OUTPUT, rel=0.03)
    assert table[-1]["timestamp"] / 1000 / number == pytest.approx(SECONDS, rel=4 / number**0.5)
    seen: set[int] = set()
    cached = 0
    for row in table:
        known = next(
            (i for i, block in enumerate(row["hash_ids"]) if block not in seen), len(row["hash_ids"])
        )
        assert len(row["hash_ids"]) == -(-row["input_length"] // made.BLOCK)
        cached += min(known * made.BLOCK, row["input_length"])
        seen.update(row["hash_ids"])
    assert 100 * cached / sum(tokens) == pytest.approx(CACHED_PERCENT, rel=cached_within)


def test_azures_medians_are_the_published_ones() -> None:
    table = [line.split(",") for line in made.azure(2001, 1)][1:]
    assert sorted(int(row[1]) for row in table)[1000] == 1020
    assert sorted(int(row[2]) for row in table)[1000] == 129


@pytest.mark.parametrize("name", sorted(made.MADE))
def test_the_reader_knows_the_format(name: str, tmp_path: Path) -> None:
    (tmp_path / "made").write_text("".join(f"{line}\n" for line in made.MADE[name](20, 1)))
    (tmp_path / "s.toml").write_text(
        'title = "Made"\nrun = { duration = "100 s" }\n'
        'network = { topology = "star", hosts = 2, rate = "10 Gbps", delay = "1 us" }\n'
        'transport = { name = "dctcp" }\n[[traffic]]\nname = "a"\npattern = "stages"\n'
        f'requests = {{ file = "made", format = "{name}" }}\nroles = {{ a = 0, b = 1 }}\n'
        '[[traffic.stage]]\nname = "s"\nfrom = "a"\nto = "b"\nsize = "1 B * $input"\n'
    )
    assert dt.run(tmp_path / "s.toml").summary["requests"]["finished"] == 20


def test_the_file_of_the_scenario_is_made_by_the_command_in_it() -> None:
    command = [sys.executable, "-m", "duetime.made", "mooncake", "--requests", "150"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed == (SCENARIOS / "papers" / "mooncake.jsonl").read_text()
    assert f"{' '.join(command[1:])}" in (SCENARIOS / "papers" / "mooncake.toml").read_text()


def test_no_requests_are_a_mistake() -> None:
    command = [sys.executable, "-m", "duetime.made", "mooncake", "--requests", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "at least 1, not 0" in done.stderr) == (2, True)


def test_prefill_takes_equation_1_at_the_rate_of_table_1(tmp_path: Path) -> None:
    """80 (4 n^2 d + 22 n d^2) operations at 8 x 312 TFLOPS, less the same for the cached tokens."""
    rows = [
        {"timestamp": 9000 * i, "input_length": 8192, "output_length": 1, "hash_ids": hashes}
        for i, hashes in enumerate([[*range(16)], [*range(8), *range(20, 28)]])
    ]
    (tmp_path / "two.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    file = SCENARIOS / "papers" / "mooncake.toml"
    changes = {"trace": str(tmp_path / "two.jsonl"), "traffic.chat.pieces": True}
    pieces = dt.run(file, set=changes).pieces
    work = [
        end - began
        for stage, began, end in pieces.select("stage", "began_us", "end_us").iter_rows()
        if stage == "prefill"
    ]

    def operations(n: int) -> int:
        return 80 * (4 * n**2 * 8192 + 22 * n * 8192**2)

    whole = operations(8192) / (8 * 312e12) * 1e6
    assert work == pytest.approx([whole, whole - operations(4096) / (8 * 312e12) * 1e6], rel=1e-6)
