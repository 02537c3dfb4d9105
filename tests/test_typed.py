"""Typed results: no dictionary of anything, and `Any` only where the outside has no types."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SCENARIOS

SOURCES = SCENARIOS.parent / "python" / "duetime"
#: Modules that may write `Any` -> why they cannot do without.
UNTYPED = {
    "__init__.py": "names that are loaded on first use have the types of their modules",
    "comparison.py": "a data frame of pandas, which need not be installed",
    "fluid/arrays.py": "the array API standard has no types",
    "fluid/engine.py": "the same",
    "fluid/laws.py": "the same",
    "fluid/scenario.py": "the same",
    "foreseen.py": "numpy's arrays have a type of elements that arithmetic does not keep",
    "frames.py": "a data frame of pandas, which need not be installed",
    "loading.py": "a folder of any kind gives an object of its kind, which the caller knows",
    "plots/style.py": "matplotlib's settings have values of all types",
    "results.py": "a bound is a dictionary that a notebook shows, for readers who index it",
    "sweeping.py": "a data frame of pandas, which need not be installed",
}
#: Names of mappings: with values of any type they say nothing of an object's keys.
MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict"}


def modules() -> list[Path]:
    return sorted([*SOURCES.rglob("*.py"), *SOURCES.rglob("*.pyi")])


def names_of_any(tree: ast.Module) -> set[str]:
    """Return the names under which a module has `typing.Any`, its own aliases of it included."""
    found = {"Any"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            found |= {each.asname or each.name for each in node.names if each.name == "Any"}
    return found


def untyped_mappings(text: str) -> Iterator[int]:
    """Yield the lines where a mapping is annotated whose values may be anything, also behind an alias."""
    tree = ast.parse(text)
    anything = names_of_any(tree)
    for node in _annotations(tree):
        if isinstance(node, ast.Subscript) and _name(node.value) in MAPPINGS:
            values = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
            if _name(values) in anything:
                yield node.lineno


def uses_of_any(text: str) -> list[int]:
    """Return the lines where `Any` is used, apart from its import."""
    tree = ast.parse(text)
    anything = names_of_any(tree)
    return [node.lineno for node in _annotations(tree) if _name(node) in anything]


def _annotations(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all nodes, also of annotations that are written as texts."""
    for node in ast.walk(tree):
        yield node
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "Any" in node.value:
            try:
                quoted = ast.parse(node.value.strip(), mode="eval")
            except SyntaxError:
                continue
            for each in ast.walk(quoted):
                if hasattr(each, "lineno"):
                    each.lineno = node.lineno
                yield each


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_no_mapping_of_anything_outside_the_boundary() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in modules()
        if path.relative_to(SOURCES).as_posix() != "results.py"
        for line in untyped_mappings(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    bound = (SOURCES / "results.py").read_text(encoding="utf-8")
    assert [bound.splitlines()[line - 1] for line in untyped_mappings(bound)] == [
        "class Bound(dict[str, Any]):"
    ]


def test_any_is_named_with_a_reason() -> None:
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in modules()
        if uses_of_any(path.read_text(encoding="utf-8"))
    }
    assert found - UNTYPED.keys() == set()
    # A module that no longer needs it is no longer named.
    assert UNTYPED.keys() - found == set()


def test_text_of_json_becomes_objects_at_the_boundary_only() -> None:
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in modules()
        if "json.loads(" in path.read_text(encoding="utf-8")
    }
    # A cell of a table is no object, and a marker of a folder is only looked for.
    assert found == {"contract/reading.py", "files.py", "rowtable.py"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from typing import Any\nx: dict[str, Any] = {}\n", [2]),
        ("from typing import Any as Whatever\ndef f(x: Mapping[str, Whatever]) -> None: ...\n", [2]),
        ("import typing\n\nObject = typing.Dict[str, typing.Any]\n", [3]),
        ("from typing import Any\nx: 'list[dict[str, Any]]' = []\n", [2]),
        ("class A(dict[str, Any]): ...\n", [1]),
        ("from typing import Any\nx: dict[str, list[Any]] = {}\ny: dict[str, object] = {}\nz: Any = 0\n", []),
    ],
)
def test_the_check_sees_mappings_of_anything(text: str, lines: list[int]) -> None:
    assert list(untyped_mappings(text)) == lines


def test_the_check_sees_any() -> None:
    assert uses_of_any("from typing import Any\n") == []
    assert uses_of_any('from typing import Any as A\n\nx: A = 0\ny: "list[Any]" = []\n') == [3, 4]
    assert uses_of_any('"""Any text in words."""\n') == []
