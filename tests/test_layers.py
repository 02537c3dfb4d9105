"""The layers of the Python package and of all crates: no circles, and the commands on top."""

import ast
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from conftest import SCENARIOS

ROOT = SCENARIOS.parent
SOURCES = ROOT / "python"
#: Libraries that an import inside a function may load without a comment -> why not at the start.
HEAVY = {
    "IPython": "is there in notebooks only",
    "distributed": "Dask takes a second, and is optional",
    "duetime.frames": "loads polars",
    "duetime.plots": "loads matplotlib",
    "numpy": "takes as long as a short run",
    "rich": "takes as long as a short run, and --json needs no tables",
    "tomli_w": "only scenarios that are no files need it",
}
#: The words that give the reason of any other import inside a function, in a comment above it.
LATE = "# Loaded late: "


@dataclass(frozen=True)
class Import:
    """One name that a module imports."""

    #: A module of the package where it is one, otherwise the written name.
    target: str
    line: int
    in_function: bool = False
    #: Whether a comment gives the reason for the place.
    marked: bool = False


#: The imports of each module of a package.
Modules: TypeAlias = dict[str, list[Import]]


def package(folder: Path) -> Modules:
    """Return the modules below a folder of sources, by name, with their imports."""
    paths = {}
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")]):
        parts = path.relative_to(folder).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: imports(name, paths) for name in paths}


def imports(name: str, modules: dict[str, Path]) -> list[Import]:
    """Return every import of a module outside `if TYPE_CHECKING`, inside functions too.

    A text in a module that calls `import_module` is an import where it is the name of a module beside it.
    """
    text = modules[name].read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    found = list(_statements(tree.body, lines, modules, in_function=False))
    if "import_module(" in text:
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        named = ((f"{name}.{each.value}", each.lineno) for each in texts)
        found += [Import(target, line) for target, line in named if target in modules]
    return found


def _statements(
    body: list[ast.stmt], lines: list[str], modules: dict[str, Path], *, in_function: bool
) -> Iterator[Import]:
    marked_until = 0
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            # A comment holds for all of the imports that follow each other.
            marked = node.lineno - 1 == marked_until or _commented(lines, node.lineno)
            marked_until = node.end_lineno or 0 if marked else 0
            for target in _targets(node, modules):
                yield Import(target, node.lineno, in_function, marked)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _statements(node.orelse, lines, modules, in_function=in_function)
        else:
            inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for part in _bodies(node):
                yield from _statements(part, lines, modules, in_function=inside)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Return the blocks of a compound statement."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value
        elif isinstance(value, list):
            for part in value:
                if isinstance(part, ast.ExceptHandler | ast.match_case):
                    yield part.body


def _commented(lines: list[str], number: int) -> bool:
    """Return whether the comment above a line begins with the words of a late import."""
    above = number - 2
    while above >= 0 and lines[above].lstrip().startswith("#"):
        if lines[above].lstrip().startswith(LATE):
            return True
        above -= 1
    return False


def _targets(node: ast.Import | ast.ImportFrom, modules: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
        return
    assert node.level == 0, "a relative import"
    assert node.module is not None
    for each in node.names:
        inside = f"{node.module}.{each.name}"
        yield inside if inside in modules else node.module


def circle(graph: dict[str, set[str]]) -> list[str] | None:
    """Return the modules of a circle in their order, the first one also at the end; none without one."""
    done: set[str] = set()

    def below(name: str, path: list[str]) -> list[str] | None:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for target in sorted(graph[name]):
                if found := below(target, [*path, name]):
                    return found
            done.add(name)
        return None

    return next((found for name in graph if (found := below(name, []))), None)


def circle_of(modules: Modules) -> list[str] | None:
    return circle({name: {each.target for each in found} & {*modules} for name, found in modules.items()})


def on_the_command_line(modules: Modules) -> list[str]:
    """Return where a module that is no part of the command line imports it."""
    return [
        f"{name}:{each.line}: {each.target}"
        for name, found in modules.items()
        if not _within(name, "duetime.cli") and name != "duetime.__main__"
        for each in found
        if _within(each.target, "duetime.cli")
    ]


def late(modules: Modules) -> list[str]:
    """Return the imports inside functions that no reason is given for."""
    return [
        f"{name}:{each.line}: {each.target}"
        for name, found in modules.items()
        for each in found
        if each.in_function and not each.marked and not any(_within(each.target, heavy) for heavy in HEAVY)
    ]


def _within(name: str, parent: str) -> bool:
    return name == parent or name.startswith(f"{parent}.")


@pytest.fixture(scope="module")
def duetime() -> Modules:
    return package(SOURCES)


def test_no_module_imports_itself_in_a_circle(duetime: Modules) -> None:
    found = circle_of(duetime)
    assert found is None, " -> ".join(found or [])


def test_no_library_module_imports_the_command_line(duetime: Modules) -> None:
    assert on_the_command_line(duetime) == []


def test_imports_inside_functions_have_a_reason(duetime: Modules) -> None:
    assert late(duetime) == []


def rust(folder: Path) -> dict[str, dict[str, set[str]]]:
    """Return which of the modules beside each other use which, by the module that they are in; no tests.

    A module with all modules in it is one here, and the file of the module around them is none.
    """
    modules = {}
    for path in sorted(folder.rglob("*.rs")):
        parts = path.relative_to(folder).with_suffix("").parts
        modules[tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)] = path
    uses: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, path in modules.items():
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8")).split("#[cfg(test)]\nmod tests")[0]
        for target in _used(name, text):
            level = next((i for i, (a, b) in enumerate(zip(name, target, strict=False)) if a != b), None)
            # Of a longest path, the last parts are items, and no modules.
            if level is not None and target[: level + 1] in modules:
                uses["::".join(name[:level])][name[level]].add(target[level])
    return uses


def _used(name: tuple[str, ...], text: str) -> Iterator[tuple[str, ...]]:
    """Yield the full paths that begin with `crate` or `super` in a module's text."""
    for start, supers, path, group in re.findall(
        r"\b(crate|super)((?:::super)*)((?:::\w+)*)(?:::\{([^;]*?)\})?", text
    ):
        above = name[: len(name) - 1 - supers.count("super")] if start == "super" else ()
        within = (*above, *path.split("::")[1:])
        yield within
        yield from ((*within, each) for each in re.findall(r"(?:^|,)\s*(\w+)", group))


#: All Rust sources of crates, by their folder; files that a build writes are elsewhere.
CRATES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*(ROOT / "crates").glob("*/src"), *(ROOT / "deploy" / "linux").rglob("src"))
    if "target" not in path.parts and any(path.rglob("*.rs"))
)
#: Circles that stay -> the two modules, of which each is one half of a whole.
MUTUAL = {
    # Statistics hold queries, and the queries of a run are read from its statistics.
    "crates/results/src": {"book", "queries"},
    # A value may be a list of tables, and a table holds values.
    "crates/scenario/src": {"nested", "values"},
    # A connection asks its controller, and some controllers declare keys of connections.
    "crates/transport/src": {"connection", "controllers"},
}


@pytest.mark.parametrize("crate", CRATES)
def test_no_module_of_a_crate_uses_itself_in_a_circle(crate: str) -> None:
    found = rust(ROOT / crate)
    circles = [
        circle({each: uses[each] for each in {*uses}.union(*uses.values())}) for uses in found.values()
    ]
    known = [MUTUAL[crate]] if crate in MUTUAL else []
    assert [set(each) for each in circles if each] == known, circles


def test_the_crates_that_the_check_reads_are_all() -> None:
    assert {f"crates/{name}/src" for name in ("sim", "threads", "receive", "scenario", "python")} <= {*CRATES}
    assert {"deploy/linux/d2tcp/src", "deploy/linux/law/src"} <= {*CRATES}
    simulator = rust(ROOT / "crates" / "sim" / "src")
    assert len(simulator[""]) > 10
    # Also the folders within a folder.
    assert {"requests", "traffic", "traffic::stages"} <= {*simulator}


@pytest.mark.parametrize("folder", ["bench", "deploy/linux/receive", "deploy/linux/clients/trial"])
def test_no_script_imports_itself_in_a_circle(folder: str) -> None:
    modules = package(ROOT / folder)
    assert len(modules) > 3
    assert circle_of(modules) is None


#: The crates that may read the machine's clock; all others are told the time.
CLOCKS = {"python", "threads"}


def test_only_shells_read_the_clock() -> None:
    reading = set()
    for path in (ROOT / "crates").glob("*/src/**/*.rs"):
        if "std::time" in path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]:
            reading.add(path.relative_to(ROOT / "crates").parts[0])
    assert reading == CLOCKS


def test_the_check_sees_uses_in_rust(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a; mod b; mod c;",
        "a/mod.rs": "use crate::c::{Part, Whole}; mod x; mod y;",
        "a/x.rs": "use super::{Own, y}; // crate::b\n#[cfg(test)]\nmod tests { use crate::b; }",
        "a/y.rs": "fn f() { super::x::g(); super::super::b::g() }",
        "b.rs": "use crate::{a, c::Part};",
        "c.rs": "use std::fmt;",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {name: dict(uses) for name, uses in rust(tmp_path).items()}
    assert found == {"": {"a": {"b", "c"}, "b": {"a", "c"}}, "a": {"x": {"y"}, "y": {"x"}}}


@pytest.fixture
def written(tmp_path: Path) -> Modules:
    """Return the modules of a small package with one mistake of each kind."""
    files = {
        "__init__": """
            from importlib import import_module
            LATER = {"a": "b"}
            def __getattr__(name):
                return import_module(f"duetime.{LATER[name]}")
            """,
        "a": """
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from duetime import b
            """,
        "b": """
            from duetime import a
            def f():
                if f:
                    from duetime.c import g
            """,
        "c": """
            def g():
                try:
                    import polars
                except ImportError:
                    from duetime import d
            """,
        "d": f"""
            def h():
                {LATE}a reason
                # of two lines.
                import json
                import duetime.b as b
            """,
        "e": """
            def h():
                from numpy import pi
                from duetime.cli.run import x
            """,
        "cli/__init__": "import rich",
        "cli/run": "from duetime.cli import table",
        "__main__": "from duetime.cli import main",
    }
    for name, text in files.items():
        path = tmp_path / "duetime" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return package(tmp_path)


def test_the_check_sees_a_circle_through_functions(written: Modules) -> None:
    assert circle_of(written) == ["duetime.b", "duetime.c", "duetime.d", "duetime.b"]
    assert circle({"x": {"y"}, "y": set(), "z": {"x", "y"}}) is None
    assert circle({"x": {"x"}}) == ["x", "x"]


def test_the_check_follows_modules_that_are_named_in_texts(written: Modules) -> None:
    assert {each.target for each in written["duetime"]} == {"importlib", "duetime.a", "duetime.b"}


def test_the_check_sees_the_command_line(written: Modules) -> None:
    assert on_the_command_line(written) == ["duetime.e:4: duetime.cli.run"]


def test_the_check_sees_imports_without_a_reason(written: Modules) -> None:
    assert late(written) == [
        "duetime.b:5: duetime.c",
        "duetime.c:4: polars",
        "duetime.c:6: duetime.d",
        "duetime.e:4: duetime.cli.run",
    ]
