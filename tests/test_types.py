"""The types that users' checkers see."""

import subprocess
import sys
from pathlib import Path

from conftest import SCENARIOS

ROOT = SCENARIOS.parent


def test_the_stub_of_the_core_is_true() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "duetime._core"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_users_types_follow_from_the_arguments(tmp_path: Path) -> None:
    code = (
        "import duetime\n"
        "plain = duetime.compare('x.toml', ['tcp'])\n"
        "reveal_type(plain.runs)\n"
        "several = duetime.compare('x.toml', ['tcp'], seeds=3)\n"
        "reveal_type(several.runs)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert 'dict[str, duetime.results.Result]"' in done.stdout
    assert 'dict[str, list[duetime.results.Result]]"' in done.stdout
