"""Install a wheel into a fresh environment, far from the sources, and use it there.

    python tests/check_wheel.py dist/duetime-*.whl

Needs nothing but Python: the wheel's dependencies are read from requirements/runtime.txt and all.txt.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: What pip and the environment itself take too.
LARGEST_MB = 150
#: A quick one that needs none of the extras.
EXPERIMENT = "d2tcp/fig10"

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
        binaries = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        pip: list[str | Path] = [
            binaries / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        needs = ROOT / "requirements"
        run(home, *pip, "--require-hashes", "-r", needs / "runtime.txt")
        run(home, *pip, "--no-deps", "--no-index", wheel.resolve())
        size = sum(path.lstat().st_size for path in (home / "venv").rglob("*")) / 1e6
        print(f"{size:.0f} MB without extras")
        assert size < LARGEST_MB, f"the environment is {size:.0f} MB large"

        command = binaries / "duetime"
        print(run(home, command, "--version").strip())
        run(home, command, "init", "first")
        scenario = next(home.glob("first*"))
        run(home, command, "check", scenario)
        answer = json.loads(run(home, command, "run", scenario, "--json"))
        assert answer["packets_delivered"] > 0, answer
        run(home, command, "init", "included", "--from", "oldi")
        run(home, command, "bound", "included.toml")
        found = json.loads(run(home, command, "reproduce", EXPERIMENT, "--seeds", "1", "--json"))
        assert found["rows"], found
        assert list((home / "venv").glob("share/man/man1/duetime-run.1")), "no manual page is installed"
        for words in (("run", scenario, "--out", "out"), ("plot", "out/reproduce")):
            refused = run(home, command, *words, fails=True)
            assert "pip install 'duetime[all]'" in refused, refused

        run(home, *pip, "--require-hashes", "-r", needs / "all.txt")
        run(home, command, "run", scenario, "--out", "out/first")
        run(home, command, "plot", "out/first")
        assert list((home / "out/first/plots").glob("*.png")), "no pictures were drawn"
        run(home, command, "report", "out/first")
        assert "@observablehq/plot" in (home / "out/first/report.html").read_text(encoding="utf-8")
        run(home, binaries / "python", "-c", SCRIPT, scenario)
        run(home, *pip[:3], "check")
    print(f"{wheel.name} installs and runs in a fresh environment")


def run(folder: Path, *command: str | Path, fails: bool = False) -> str:
    """Run a command in a folder, without the caller's Python settings; return its output or its complaint."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if fails:
        assert done.returncode == 2, f"{' '.join(words)} did not fail:\n{done.stdout}{done.stderr}"
        return done.stderr
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
