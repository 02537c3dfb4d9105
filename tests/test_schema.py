"""The schema for editors accepts what the simulator accepts."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import duetime as dt
from conftest import SCENARIOS, SMALL


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = dt.schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_fit(validator: Draft202012Validator, path: Path) -> None:
    validator.validate(tomllib.loads(path.read_text()))


def test_the_template_fits(validator: Draft202012Validator) -> None:
    validator.validate(tomllib.loads(resources.files("duetime").joinpath("template.toml").read_text()))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("hosts = 6", "hots = 6"), ('"d2tcp"', '"d3tcp"'), ('"fan-in"', '"fanin"'), ("seed = 5", 'seed = "x"')],
)
def test_mistakes_do_not(validator: Draft202012Validator, right: str, wrong: str) -> None:
    assert validator.is_valid(tomllib.loads(SMALL))
    assert not validator.is_valid(tomllib.loads(SMALL.replace(right, wrong)))
