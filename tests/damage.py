"""Damage to saved results, and the reaction to it. `test_manifest.py` tries some, `make fuzz` more:

    python tests/damage.py SECONDS FOLDER     damage results at random for a time; FOLDER gets a finding

Two readings of a damaged result must end well: loading it with all its tables, and a report or a figure.
Loading may end with an error that names the result, a command with 0, or with 2 and one message.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import duetime as dt
from duetime import manifest
from duetime.cli import commands, status
from duetime.engine.store import Store
from duetime.errors import Unreadable

#: Kinds of results of which there are runs inside, or that are one.
KINDS = ("run", "compare", "sweep", "robust")
#: All kinds; `result.json` of an experiment is in a folder of its own below.
LOADED = (*KINDS, "tighten", "estimate", "reproduce")


def written(at: Path, scenario: str) -> dict[str, Path]:
    """Write a result of each kind, each in a folder of its own, as its command does."""
    (at / "small.toml").write_text(scenario)
    (at / "grid.toml").write_text(
        'scenario = "small.toml"\ntransports = ["tcp", "d2tcp"]\nseeds = 2\n'
        "grid = { traffic.queries.leaves = [2, 4] }\n"
    )
    words = {
        "run": ["run", "small.toml"],
        "compare": ["compare", "small.toml", "--transports", "tcp,d2tcp", "--seeds", "2"],
        "sweep": ["sweep", "grid.toml"],
        "robust": ["robust", "small.toml", "--transports", "tcp,d2tcp", "--variants", "3"],
        "tighten": ["tighten", "small.toml", "--target", "5%", "--step", "40%"],
        "estimate": ["estimate", "small.toml", "--always", "--check", "0"],
        "reproduce": ["reproduce", "d2tcp/fig10", "--cut", "5 ms", "--seeds", "1"],
    }
    with chdir(at):
        for kind, given in words.items():
            assert command(*given, "--out", str(at / kind)) == 0
    return {kind: at / kind / ("d2tcp/fig10" if kind == "reproduce" else "") for kind in words}


def command(*words: str) -> int:
    """Run a command in this process; return its exit code."""
    return status(lambda: commands.main(list(words), prog_name="duetime", standalone_mode=False))


def everything(folder: Path) -> None:
    """Load and print a result, and read all its tables and all tables of the runs that are kept in it."""
    loaded = dt.load(folder)
    assert repr(loaded)
    runs: list[Any] = [loaded] if isinstance(loaded, dt.Result) else []
    if isinstance(loaded, dt.Comparison):
        runs += [result for results in loaded.by_seed.values() for result in results]
    for run in runs:
        assert all(table.height for table in (run.flows, run.links, run.queries))
        assert run.trace.height == 0
    for path in sorted(folder.glob("*.parquet")):
        manifest.table(path)
    store = folder / "runs"
    for path in sorted(store.glob("*/*.parquet")):
        key, table, _ = path.name.split(".")
        Store(store).table(key, table)


def saved(folder: Path) -> list[Path]:
    """Return all files of a result."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def unsealed(result: Path, copy: Path) -> Path:
    """Copy a result without its checksums."""
    return shutil.copytree(result, copy, ignore=shutil.ignore_patterns(manifest.NAME))


#: Values that a record's own are replaced by, in turn.
WRONG: list[Any] = [None, -1, "", [], {}, "text", [1, "two"], 1e308, True]


def replaced(value: Any, draws: random.Random) -> Any:
    """Return a copy of a JSON value in which something, at any depth, is something else or is missing."""
    if isinstance(value, dict) and value and draws.random() < 0.9:
        name = draws.choice(sorted(value))
        if draws.random() < 0.2:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: replaced(value[name], draws)}
    if isinstance(value, list) and value and draws.random() < 0.9:
        place = draws.randrange(len(value))
        return [*value[:place], replaced(value[place], draws), *value[place + 1 :]]
    return draws.choice(WRONG)


def damaged(content: bytes, other: bytes, draws: random.Random) -> bytes | None:
    """Return a file with bits flipped, a part missing, zeroed or repeated, or another file; None: deleted."""
    start, end = sorted(draws.randrange(len(content) + 1) for _ in range(2))
    match draws.randrange(7):
        case 0:
            return None
        case 1:
            return other
        case 2:
            return content[:end]
        case 3:
            return content[:start] + content[end:]
        case 4:
            return content[:end] + content[start:]
        case 5:
            return content[:start] + bytes(end - start) + content[end:]
    flips = bytearray(content)
    for _ in range(draws.randrange(1, 9)):
        flips[draws.randrange(len(flips))] ^= 1 << draws.randrange(8)
    return bytes(flips)


def _damage(path: Path, files: list[Path], draws: random.Random) -> None:
    """Damage a file of a result: a record mostly by its values, so that more of it is read."""
    content, other = path.read_bytes(), draws.choice(files).read_bytes()
    if path.suffix == ".json" and draws.random() < 0.8:
        value = json.loads(content)
        for _ in range(draws.choice((1, 1, 1, 2, 4))):
            value = replaced(value, draws)
        path.write_text(json.dumps(value))
        return
    found = damaged(content, other, draws)
    path.unlink()
    if found is not None:
        path.write_bytes(found)


def _fault(folder: Path, draws: random.Random) -> str | None:
    """Read a damaged result; return the mistake in the reaction, if there is one."""
    try:
        everything(folder)
    except (Unreadable, OSError):
        pass
    except AssertionError:
        # Another file of the result may be a table without rows.
        if "in everything" not in traceback.format_exc().rpartition("File ")[2]:
            return traceback.format_exc()
    except Exception:
        return traceback.format_exc()
    said: list[str] = []
    with _captured(said):
        verb = draws.choice(("report", "report", "report", "plot"))
        code = command(verb, str(folder))
    text = "".join(said)
    if code not in (0, 2) or re.search("bug|Traceback|panicked", text):
        return f"{verb}: exit code {code}\n{text}"
    return None


@contextmanager
def _captured(said: list[str]) -> Iterator[None]:
    """Append the text of standard output and error, of libraries too."""
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            said.append(file.read().decode(errors="replace"))


def main(seconds: float, finds: Path) -> int:
    """Damage results for a time; print how many, and return 1 after a finding."""
    from conftest import SMALL

    seed = random.SystemRandom().randrange(1 << 32)
    draws, tried, end = random.Random(seed), dict.fromkeys(LOADED, 0), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as at, tempfile.TemporaryDirectory() as copies:
        with _captured([]):
            results = written(Path(at), SMALL)
        while time.monotonic() < end:
            kind = draws.choice(LOADED)
            copy = unsealed(results[kind], Path(copies) / "copy")
            files = saved(copy)
            records = [path for path in files if path.suffix == ".json" and path.parent == copy]
            _damage(draws.choice(records if draws.random() < 0.5 else files), files, draws)
            tried[kind] += 1
            if fault := _fault(copy, draws):
                kept = finds / f"loaders-{seed}-{sum(tried.values())}"
                shutil.copytree(copy, kept)
                print(f"{kept}: a damaged result of {kind}\n{fault}", flush=True)
                return 1
            shutil.rmtree(copy)
    print(f"loaders: {sum(tried.values())} damaged results: {tried}")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2])))
