"""Check that every lock file of the repository fits the file that it locks.

The lock files are Cargo.lock next to each Cargo workspace, requirements next to pyproject.toml, `go.sum`,
package-lock.json, and the commits of GitHub actions. If one is stale, the next build with `--locked` fails,
or it installs versions that no test has used. The last line of output names the kinds that could not be
checked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
#: Folders of build products, which are skipped.
BUILT = {".git", ".venv", "dist", "node_modules", "out", "target"}
#: File of requirements -> the pyproject.toml and its extras that the file locks (`make lock`).
REQUIREMENTS = {
    "requirements/runtime.txt": ("pyproject.toml", []),
    "requirements/all.txt": ("pyproject.toml", ["all"]),
    "requirements/dev.txt": ("pyproject.toml", ["dev"]),
    "deploy/linux/clients/python/requirements-test.txt": (
        "deploy/linux/clients/python/pyproject.toml",
        ["grpc"],
    ),
}


class Unavailable(Exception):
    """A program that a check needs is not installed."""


def files(root: Path, name: str) -> Iterator[Path]:
    """Yield the files of this name among the sources."""
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(set(inner) - BUILT)
        if name in names:
            yield Path(folder, name)


def crates(root: Path) -> list[str]:
    """Return the mistakes in lock files of Cargo workspaces."""
    wrong = []
    # Otherwise crates for other systems would be fetched, too.
    about = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search("(?m)^host: (.*)$", about)
    platform = ["--filter-platform", host[1]] if host else []
    for manifest in files(root, "Cargo.toml"):
        if "workspace" not in tomllib.loads(manifest.read_text()):
            continue
        lock = manifest.with_name("Cargo.lock")
        command = ["cargo", "metadata", "--locked", "--format-version", "1", *platform, "--manifest-path"]
        done = subprocess.run([*command, str(manifest)], capture_output=True, text=True)
        if not lock.exists():
            wrong.append(f"{lock.relative_to(root)}: missing; cargo generate-lockfile writes it")
        elif done.returncode:
            how = f"cargo metadata --manifest-path {manifest.relative_to(root)} brings it up to date"
            wrong.append(f"{lock.relative_to(root)}: {done.stderr.strip()}\n{how}")
    return wrong


def pins(text: str) -> dict[str, tuple[Requirement, bool]]:
    """Return the pins of a file of requirements, each with True if it has a hash."""
    found: dict[str, tuple[Requirement, bool]] = {}
    for entry in text.replace("\\\n", " ").splitlines():
        words = entry.split("#")[0].split(" --hash=")
        if not words[0].strip():
            continue
        requirement = Requirement(words[0].strip())
        found[canonicalize_name(requirement.name)] = requirement, len(words) > 1
    return found


def packages(project: str, extras: list[str], requirements: str) -> list[str]:
    """Return the mistakes in requirements, given the text of pyproject.toml and the extras that they lock."""
    about = tomllib.loads(project)["project"]
    wanted = [*about.get("dependencies", [])]
    for extra in extras:
        wanted += about["optional-dependencies"][extra]
    try:
        pinned = pins(requirements)
    except InvalidRequirement as error:
        return [f"not understood: {error}"]
    wrong = [f"{name} has no hash" for name, (_, hashed) in pinned.items() if not hashed]
    for text in wanted:
        requirement = Requirement(text)
        pin, _ = pinned.get(canonicalize_name(requirement.name), (None, False))
        if pin is None:
            wrong.append(f"{requirement.name} is not in it")
        elif not any(
            requirement.specifier.contains(each.version, prereleases=True) for each in pin.specifier
        ):
            wrong.append(f"{pin} does not fit {text}")
    return wrong


def python(root: Path) -> list[str]:
    """Return the mistakes in files of requirements."""
    wrong = []
    for name, (project, extras) in REQUIREMENTS.items():
        found = packages((root / project).read_text(), extras, (root / name).read_text())
        wrong += [f"{name}: {each}; make lock writes it" for each in found]
    return wrong


def modules(root: Path) -> list[str]:
    """Return the mistakes in module files and `go.sum`."""
    if shutil.which("go") is None:
        raise Unavailable("there is no go")
    wrong = []
    for manifest in files(root, "go.mod"):
        tools = any(line.startswith("tool ") for line in manifest.read_text().splitlines())
        command = ["go", "list", "-mod=readonly", "-deps", *(["tool"] if tools else ["./..."])]
        done = subprocess.run(command, cwd=manifest.parent, capture_output=True, text=True)
        if done.returncode:
            wrong.append(
                f"{manifest.relative_to(root)}: {done.stderr.strip()}\ngo mod tidy brings it up to date"
            )
    return wrong


def scripts(root: Path) -> list[str]:
    """Return the mistakes in package-lock.json, which `npm ci` refuses as well."""
    wrong = []
    for lock in files(root, "package-lock.json"):
        asked = json.loads(lock.with_name("package.json").read_text())
        locked = json.loads(lock.read_text())["packages"]
        for kind in ("dependencies", "devDependencies"):
            if asked.get(kind, {}) != locked[""].get(kind, {}):
                wrong.append(
                    f"{lock.relative_to(root)}: {kind} are not those of package.json; npm install writes it"
                )
        for name in {**asked.get("dependencies", {}), **asked.get("devDependencies", {})}:
            if "integrity" not in locked.get(f"node_modules/{name}", {}):
                wrong.append(f"{lock.relative_to(root)}: {name} is not locked")
    return wrong


#: An action of another repository, by its commit, with its version for readers.
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")


def actions(root: Path) -> list[str]:
    """Return the actions of GitHub workflows that are not pinned by a commit, since a tag can be moved."""
    wrong = []
    for workflow in sorted((root / ".github" / "workflows").glob("*.yml")):
        for number, line in enumerate(workflow.read_text().splitlines(), 1):
            used = re.match(r"\s*(?:- )?uses:\s*(.*)", line)
            if used and not used[1].startswith("./") and not PINNED.fullmatch(used[1]):
                place = f"{workflow.relative_to(root)}:{number}"
                wrong.append(f"{place}: {used[1]}: expected OWNER/NAME@COMMIT # vVERSION")
    return wrong


CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "crates": crates,
    "Python packages": python,
    "Go modules": modules,
    "npm packages": scripts,
    "GitHub actions": actions,
}


def main() -> None:
    """Check all kinds of lock files."""
    wrong, skipped = [], []
    for name, check in CHECKS.items():
        try:
            wrong += check(ROOT)
        except Unavailable as why:
            skipped.append(f"{name} ({why})")
    if wrong:
        sys.exit("lock files that do not fit:\n" + "\n".join(wrong))
    fresh = [name for name in CHECKS if not any(each.startswith(f"{name} (") for each in skipped)]
    print(
        "lock files are fresh: " + ", ".join(fresh) + (f"; SKIPPED: {', '.join(skipped)}" if skipped else "")
    )


if __name__ == "__main__":
    main()
