"""Saved results prove themselves: every flipped bit is noticed, in one message that names a file."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import duetime as dt
from conftest import SMALL, Command
from damage import KINDS, LOADED, command, damaged, everything, replaced, saved, unsealed, written
from duetime import manifest
from duetime.errors import Damaged, Unreadable
from duetime.loading import READERS

FLIPS = 600


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A result of each kind, each in a folder of its own, as its command writes it."""
    return written(tmp_path_factory.mktemp("results"), SMALL)


def flipped(path: Path, random: random.Random) -> Iterator[None]:
    """Flip one bit of a file, and flip it back."""
    content = path.read_bytes()
    bit = random.randrange(8 * len(content))
    flips = bytearray(content)
    flips[bit // 8] ^= 1 << bit % 8
    path.write_bytes(flips)
    yield
    path.write_bytes(content)


def test_each_of_600_flipped_bits_is_noticed_and_a_file_named(results: dict[str, Path]) -> None:
    draws = random.Random(39)
    for number in range(FLIPS):
        folder = results[LOADED[number % len(LOADED)]]
        path = draws.choice(saved(folder))
        for _ in flipped(path, draws):
            with pytest.raises(Damaged) as raised:
                everything(folder)
            named = Path(str(raised.value).partition(": ")[0])
            # A bit of a checksum is not told from one of the file that it is of.
            assert named == path or (path.name == manifest.NAME and path.parent in named.parents)
    for folder in results.values():
        everything(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["report", "plot"])
def test_report_and_plot_of_a_damaged_record_end_with_2_and_one_message(
    results: dict[str, Path], kind: str, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = results[kind] / f"{kind}.json"
    for _ in flipped(path, random.Random(1)):
        assert command(verb, str(results[kind])) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        f"error: {path}: differs from its checksum in SHA256SUMS; the file is damaged or was changed\n",
    )


@pytest.mark.parametrize("verb", ["report", "plot"])
def test_report_and_plot_check_the_tables_that_they_read(
    results: dict[str, Path], verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (results["run"] / "flows.parquet", results["compare"] / "tcp/seed-5/flows.parquet"):
        folder = results["run" if path.parent == results["run"] else "compare"]
        for _ in flipped(path, random.Random(1)):
            assert command(verb, str(folder)) == 2
        said = capsys.readouterr().err
        assert re.fullmatch(rf"error: {path}: differs.*\n", said)


def test_a_kept_run_that_is_damaged_is_not_used_again(
    results: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results["sweep"].parent)
    path = next(results["sweep"].glob("runs/*/*.json"))
    for _ in flipped(path, random.Random(1)):
        assert command("sweep", "grid.toml", "--out", "sweep") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path.relative_to(results['sweep'].parent)}: differs")
    assert command("sweep", "grid.toml", "--out", "sweep") == 0
    everything(results["sweep"])


def test_sha256sum_reads_the_checksums(results: dict[str, Path]) -> None:
    folders = [path.parent for kind in KINDS for path in results[kind].rglob(manifest.NAME)]
    # The run; the comparison, its kept runs, two seeds of two transports; two folders of the others each.
    assert len(folders) == 1 + (2 + 4) + 2 + 2
    for folder in folders:
        done = subprocess.run(
            ["sha256sum", "--strict", "-c", manifest.NAME], cwd=folder, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
    listed = (results["compare"] / manifest.NAME).read_text().split()[1::2]
    own = {path.relative_to(results["compare"]).as_posix() for path in saved(results["compare"])}
    assert {*listed} == {name for name in own if not name.startswith("runs/")} - {manifest.NAME}


def test_a_file_that_is_missing_or_not_listed_is_named(results: dict[str, Path]) -> None:
    table = results["run"] / "queries.parquet"
    content = table.read_bytes()
    table.unlink()
    with pytest.raises(Damaged, match=r"queries\.parquet: is missing, but .*SHA256SUMS lists it"):
        dt.load(results["run"])
    table.write_bytes(content)
    trace = results["run"] / "trace.parquet"
    trace.write_bytes(content)
    with pytest.raises(Damaged, match=r"trace\.parquet: is not in SHA256SUMS"):
        assert dt.load(results["run"]).trace.height
    trace.unlink()


def test_a_result_without_checksums_is_read_with_no_complaint(
    results: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = dt.load(results["run"]).save(tmp_path / "old")
    (folder / manifest.NAME).unlink()
    everything(folder)
    assert command("report", str(folder)) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("line", ["", "x", f"{'0' * 64}  ../run.json", f"{'0' * 64}  /etc/passwd", "0" * 64])
def test_a_line_that_is_no_checksum_is_named(results: dict[str, Path], tmp_path: Path, line: str) -> None:
    folder = dt.load(results["run"]).save(tmp_path / "old")
    with (folder / manifest.NAME).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(Damaged, match=r"SHA256SUMS: is damaged: line 5 is no checksum and path"):
        dt.load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_record_without_checksums_is_never_called_a_bug(
    results: dict[str, Path], tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = unsealed(results[kind], tmp_path / kind)
    record = folder / f"{kind}.json"
    content = record.read_bytes()
    draws = random.Random(kind)
    changed = [json.dumps(replaced(json.loads(content), draws)).encode() for _ in range(8)]
    cut = [content[: draws.randrange(len(content))] for _ in range(2)]
    for one in [*changed, *cut, b"", b"[]", b"null", b"\xff\xfe", b"[" * 100_000]:
        record.write_bytes(one)
        for verb in ["plot" if kind == "run" and draws.random() < 0.2 else "report"]:
            code = command(verb, str(folder))
            said = capsys.readouterr().err
            assert code in (0, 2), said
            assert not re.search("bug|Traceback", said)
            assert code == 0 or re.match(rf"error: .*{folder}", said)
        # A loaded result can be printed.
        with suppress(Unreadable, OSError):
            assert repr(dt.load(folder))


@pytest.mark.parametrize("kind", LOADED)
def test_any_damage_without_checksums_is_one_message_or_none(
    results: dict[str, Path], tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = unsealed(results[kind], tmp_path / kind)
    files = saved(folder)
    draws = random.Random(kind)
    for number in range(24):
        path, other = draws.choice(files), draws.choice(files).read_bytes()
        content = path.read_bytes()
        found = damaged(content, other, draws)
        path.unlink()
        if found is not None:
            path.write_bytes(found)
        # Another file of the result may be a table without rows.
        with suppress(Unreadable, OSError, AssertionError):
            everything(folder)
        if number % 6 == 0:
            code = command("report", str(folder))
            said = capfd.readouterr().err
            assert code in (0, 2), said
            assert not re.search("bug|Traceback|panicked", said)
        path.write_bytes(content)
    everything(folder)


def test_a_damaged_table_without_checksums_is_one_message(
    results: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    draws, errors = random.Random(7), []
    path = tmp_path / "flows.parquet"
    content = (results["run"] / "flows.parquet").read_bytes()
    for _ in range(60):
        # The last part of the file says where its columns are: readers fail on it in many ways.
        flips = bytearray(content)
        flips[draws.randrange(len(content) * 3 // 4, len(content))] ^= 1 << draws.randrange(8)
        path.write_bytes(flips)
        try:
            manifest.table(path)
        except Unreadable as error:
            errors.append(str(error))
    assert len(errors) > 5
    assert all(re.fullmatch(rf"{path}: cannot be read as a table: .+", error) for error in errors)
    assert capfd.readouterr() == ("", "")


def test_a_result_of_an_experiment_without_its_claims_is_named(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"id": "d2tcp/fig10", "title": "", "charts": [], "rows": []}')
    with pytest.raises(Unreadable, match=r"result\.json: is not what duetime writes: it has no 'claims'"):
        dt.load(tmp_path)


def test_every_record_that_can_be_loaded_is_known_to_the_checks() -> None:
    assert READERS.keys() == manifest.RECORDS


def test_the_command_line_says_which_file_differs(duetime: Command, small: Path, tmp_path: Path) -> None:
    assert duetime("run", small, "--out", "result").returncode == 0
    path = tmp_path / "result/flows.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    done = duetime("plot", "result")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: result/flows\.parquet: differs from its checksum in .*\n", done.stderr)
