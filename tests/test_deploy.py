"""D2TCP for Linux as it is delivered: one version, and a job of CI."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

LINUX = Path(__file__).parents[1] / "deploy" / "linux"


def version_of(name: str) -> str:
    found = tomllib.loads((LINUX / name).read_text(encoding="utf-8"))
    return str((found.get("package") or found["project"])["version"])


VERSION = version_of("d2tcp/Cargo.toml")


@pytest.mark.parametrize(
    "name",
    ["law/Cargo.toml", "testbed/Cargo.toml", "clients/rust/Cargo.toml", "clients/python/pyproject.toml"],
)
def test_the_parts_of_the_tool_have_one_version(name: str) -> None:
    assert version_of(name) == VERSION


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("CHANGELOG.md", r"(?m)^## \[(\d[\d.]*)\] - \d{4}"),
        ("packages/README.md", r"d2tcp[_-](\d+\.\d+\.\d+)-1[_.]"),
        ("packages/daemonset.yaml", r"/d2tcp:(\S+)"),
        ("clients/netty/pom.xml", r"<artifactId>d2tcp-netty</artifactId>\s*<version>([^<]*)"),
        ("clients/trial/ways.py", r"d2tcp-netty-(\d[\d.]*)\.jar"),
        ("clients/go/d2tcpgrpc/go.mod", r"deploy/linux/clients/go v(\S+)"),
    ],
)
def test_the_version_is_written_the_same_everywhere(name: str, written: str) -> None:
    found = re.findall(written, (LINUX / name).read_text(encoding="utf-8"))
    # The changelog has former versions below.
    assert set(found[:1] if name == "CHANGELOG.md" else found) == {VERSION}
