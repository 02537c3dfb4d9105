"""Install a wheel into a fresh environment, far from the sources, and use it there.

    python tests/check_wheel.py dist/duetime-*.whl

Needs nothing but Python: what the wheel depends on comes from requirements/runtime.txt.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """
import sys, duetime
result = duetime.run(sys.argv[1], seed=2)
assert result.summary["messages"] > 0, result.summary
assert result.flows["counted"].sum() == result.summary["messages"]
"""


def main(wheel: Path) -> None:
    """Fail loudly when the wheel does not install or does not run."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        venv.create(home / "venv", with_pip=True)
        binaries = home / "venv" / "bin"
        pip: list[str | Path] = [
            binaries / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        run(home, *pip, "--require-hashes", "-r", ROOT / "requirements" / "runtime.txt")
        run(home, *pip, "--no-deps", "--no-index", wheel.resolve())

        command = binaries / "duetime"
        print(run(home, command, "--version").strip())
        run(home, command, "init", "first")
        scenario = next(home.glob("first*"))
        run(home, command, "check", scenario)
        answer = json.loads(run(home, command, "run", scenario, "--json", "--out", home / "out"))
        assert answer["packets_delivered"] > 0, answer
        run(home, command, "plot", home / "out")
        assert list((home / "out" / "plots").glob("*.png")), "no pictures were drawn"
        run(home, command, "report", home / "out")
        assert "@observablehq/plot" in (home / "out" / "report.html").read_text(encoding="utf-8")
        run(home, binaries / "python", "-c", SCRIPT, scenario)
        run(home, *pip[:3], "check")
    print(f"{wheel.name} installs and runs in a fresh environment")


def run(folder: Path, *command: str | Path) -> str:
    """Run a command in a folder, without the caller's Python settings; return what it printed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
