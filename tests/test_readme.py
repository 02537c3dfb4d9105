"""The front door: the README's example, and the citation."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORDED = json.loads((ROOT / "docs/record/demo.json").read_text(encoding="utf-8"))["figures"]
#: Keys of the Citation File Format 1.2.0, and its required ones.
KEYS = {
    "abstract",
    "authors",
    "cff-version",
    "commit",
    "contact",
    "date-released",
    "doi",
    "identifiers",
    "keywords",
    "license",
    "license-url",
    "message",
    "preferred-citation",
    "references",
    "repository",
    "repository-artifact",
    "repository-code",
    "title",
    "type",
    "url",
    "version",
}
REQUIRED = {"authors", "cff-version", "message", "title"}


def row(name: str) -> list[float]:
    """Return the figures of a row of the README's table, without the column of the bound."""
    (found,) = re.findall(rf"(?m)^ +(?:answers +)?{re.escape(name)} +(.*)$", README)
    return [float(number) for number in re.findall(r"[\d.]+", found.replace(",", ""))][: len(RECORDED)]


@pytest.mark.parametrize(
    ("name", "figure"),
    [("missed %", "missed_percent"), ("queries complete %", "complete_queries_percent")],
)
def test_the_readmes_table_has_the_numbers_of_its_picture(name: str, figure: str) -> None:
    # `test_docs.py` holds the table to the engine, and the picture to these figures.
    assert row(name) == pytest.approx([each[figure] for each in RECORDED.values()], abs=0.006)


def test_the_readmes_table_has_the_completion_times_of_its_picture() -> None:
    for percentile in ("p50", "p99"):
        expected = [each["fct_us"][percentile] / 1000 for each in RECORDED.values()]
        assert row(f"FCT {percentile}") == pytest.approx(expected, abs=0.006)


def test_the_readmes_scenario_is_that_of_the_demo() -> None:
    (shown,) = re.findall(r"(?ms)^<!-- file: demo.toml -->\n```toml\n(.*?)^```$", README)
    assert shown == (ROOT / "scenarios/large-messages.toml").read_text(encoding="utf-8")
    assert README.count("](docs/images/demo.png)") == 1


def persons(entries: list[dict[str, str]]) -> bool:
    """Return true if every entry names an entity, or a person."""
    return bool(entries) and all("name" in each or "family-names" in each for each in entries)


def test_the_citation_is_valid_and_of_this_version() -> None:
    yaml = pytest.importorskip("yaml")
    cited: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited.keys() >= REQUIRED
    assert cited.keys() <= KEYS
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    assert cited["version"] == package["version"]
    assert cited["license"] == package["license"].split(" OR ")
    # A placeholder is no address.
    address = package["repository"]
    assert cited.get("repository-code") == (None if "example.org" in address else address)
    assert persons(cited["authors"])
    for each in cited["references"]:
        assert each.keys() >= {"type", "title", "authors"}
        assert persons(each["authors"])
        assert re.fullmatch(r"10\.\d{4,}/\S+", each["doi"])
