"""Check that a tag fits the versions in the tree, and print the notes of its release.

    python packaging/release.py v1.2.3

A release publishes under one number: that of the Rust workspace, of the citation, and of the changelog. The
notes are the changelog's section.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions(root: Path = ROOT) -> dict[str, str]:
    """Return the version in each file that names the release."""
    with (root / "Cargo.toml").open("rb") as file:
        found = {"Cargo.toml": str(tomllib.load(file)["workspace"]["package"]["version"])}
    cited = re.search(r"(?m)^version: (\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"))
    return {**found, "CITATION.cff": cited[1] if cited else "none"}


def notes(changelog: str, version: str) -> str:
    """Return the section of a version in a changelog; empty if there is none."""
    section = rf"(?ms)^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)"
    found = re.search(section, changelog)
    return found[1].strip() if found else ""


def mistakes(tag: str, root: Path = ROOT) -> list[str]:
    """Return a message for each reason not to release under this tag."""
    version = tag.removeprefix("v")
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"{tag}: expected a tag like v1.2.3"]
    wrong = [
        f"{name}: version {each}, the tag is {tag}"
        for name, each in versions(root).items()
        if each != version
    ]
    if not notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version):
        wrong.append(f"CHANGELOG.md: no section [{version}], or an empty one")
    return wrong


def main(arguments: list[str]) -> None:
    """Print the notes of a tag, or fail with the mistakes."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    if wrong := mistakes(arguments[0]):
        sys.exit("\n".join(wrong))
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), arguments[0].removeprefix("v")))


if __name__ == "__main__":
    main(sys.argv[1:])
