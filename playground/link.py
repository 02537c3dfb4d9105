"""Joins the ES modules of the playground into one script, so that the page needs no bundler.

A statement that imports or exports begins a line, and has one of these forms:

    import { name, other as alias } from "./module.js";
    export function name() {}    export class Name {}    export const name = 1;
    export { name, other as alias };

Every other form is refused with its place. Each module becomes a function that is called once, after the
modules that it imports. The script's constant `modules` has the exports of each module, by its path.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: The constant of the script that has the exports of all modules.
REGISTRY = "modules"
NAME = r"[A-Za-z_$][\w$]*"
#: A statement at the begin of a line, to the end of its line or of its braces.
STATEMENT = re.compile(r"^(?:import|export)\b(?:\s*\{[^}]*\}[^\n]*|[^\n]*)", re.MULTILINE)
IMPORT = re.compile(r'import \{(?P<names>[^}]*)\} from "(?P<module>[^"\n]+)";')
EXPORTED = re.compile(rf"export (?:(?:async )?function\*? ?|class |const )(?P<name>{NAME})\b")
LIST = re.compile(r"export \{(?P<names>[^}]*)\};")
PAIR = re.compile(rf"(?P<name>{NAME})(?: as (?P<alias>{NAME}))?")
#: A declaration of a module, which begins a line.
DECLARED = re.compile(
    rf"^(?:export )?(?:(?:async )?function\*? ?|class |const |let |var )(?P<name>{NAME})", re.MULTILINE
)
#: An import that is no statement; not in a comment, nor in a text.
DYNAMIC = re.compile(r"^(?!\s*(?:\*|//|/\*))[^\"'`\n]*?\bimport(?:\.meta\b|\s*\()", re.MULTILINE)


class Refused(Exception):
    """A module that cannot be linked; the message begins with FILE:LINE."""


@dataclass
class Import:
    """One imported name of a module."""

    line: int
    module: Path
    name: str
    alias: str


@dataclass
class Module:
    """A source file: its text without statements that import or export, and its names."""

    path: Path
    text: str = ""
    imports: list[Import] = field(default_factory=list)
    #: From an exported name to the name of the declaration.
    exports: dict[str, str] = field(default_factory=dict)
    #: The line of each declared or imported name.
    names: dict[str, int] = field(default_factory=dict)

    def refuse(self, line: int, why: str) -> Refused:
        """Return an error at a line of this file."""
        return Refused(f"{shown(self.path)}:{line}: {why}")

    def declare(self, line: int, name: str) -> None:
        """Take a name of the module's scope; refuse a name that it has already."""
        if name == REGISTRY:
            raise self.refuse(line, f"the name {name} belongs to the linked script")
        if name in self.names:
            raise self.refuse(line, f"the name {name} is already that of line {self.names[name]}")
        self.names[name] = line

    def export(self, line: int, name: str, alias: str) -> None:
        """Take an exported name; refuse a name that it has already."""
        if alias in self.exports:
            raise self.refuse(line, f"{alias} is already exported")
        self.exports[alias] = name


def shown(path: Path) -> str:
    """Return a path as a message shows it: relative to the folder where the program runs."""
    return os.path.relpath(path).replace(os.sep, "/")


def read(path: Path) -> Module:
    """Read a module; refuse forms that the linker does not know."""
    text = path.read_text(encoding="utf-8")
    module = Module(path)
    for found in DECLARED.finditer(text):
        module.declare(line_of(text, found), found["name"])
    for found in DYNAMIC.finditer(text):
        raise module.refuse(
            text.count("\n", 0, found.end()) + 1, "only statements can import, at the begin of a line"
        )

    def replace(found: re.Match[str]) -> str:
        return take(module, line_of(text, found), found[0])

    module.text = STATEMENT.sub(replace, text)
    for alias, name in module.exports.items():
        if name not in module.names:
            raise module.refuse(1, f"{alias} is exported but there is no {name} at the begin of a line")
    return module


def take(module: Module, line: int, statement: str) -> str:
    """Take a statement that imports or exports; return the code in its place, with as many lines."""
    if found := IMPORT.fullmatch(statement):
        target = found["module"]
        if not target.startswith(("./", "../")):
            raise module.refuse(line, f"unknown module {target!r}: a path begins with ./ or ../")
        other = Path(os.path.normpath(module.path.parent / target))
        if not other.is_file():
            raise module.refuse(line, f"unknown module {target!r}: there is no {shown(other)}")
        for name, alias in pairs(module, line, found["names"]):
            module.declare(line, alias)
            module.imports.append(Import(line, other, name, alias))
        return "\n" * statement.count("\n")
    if found := LIST.fullmatch(statement):
        for name, alias in pairs(module, line, found["names"]):
            module.export(line, name, alias)
        return "\n" * statement.count("\n")
    if found := EXPORTED.match(statement):
        module.export(line, found["name"], found["name"])
        return statement.removeprefix("export ")
    raise module.refuse(
        line, f"not understood: {statement.splitlines()[0]!r}; see playground/link.py for the forms"
    )


def pairs(module: Module, line: int, names: str) -> Iterator[tuple[str, str]]:
    """Yield each name in braces, and the name that it gets."""
    words = [word.strip() for word in names.split(",")]
    for word in words[:-1] if words[-1] == "" else words:
        found = PAIR.fullmatch(" ".join(word.split()))
        if not found:
            raise module.refuse(line, f"not a name: {word!r}")
        yield found["name"], found["alias"] or found["name"]


def line_of(text: str, found: re.Match[str]) -> int:
    """Return the line on which a match begins."""
    return text.count("\n", 0, found.start()) + 1


def order(entry: Path) -> list[Module]:
    """Return the modules that an entry needs, each after its imports; refuse circles and unknown names."""
    modules: dict[Path, Module] = {}
    done: list[Module] = []

    def visit(path: Path, way: list[Path]) -> None:
        module = modules[path] = read(path)
        for each in module.imports:
            if each.module in (circle := [*way, path]):
                circle = [*circle[circle.index(each.module) :], each.module]
                raise module.refuse(each.line, f"a circle: {' -> '.join(shown(one) for one in circle)}")
            if each.module not in modules:
                visit(each.module, [*way, path])
            if each.name not in modules[each.module].exports:
                raise module.refuse(each.line, f"{shown(each.module)} does not export {each.name}")
        done.append(module)

    visit(Path(os.path.normpath(entry)), [])
    return done


def link(entry: Path) -> str:
    """Return the script of an entry and the modules that it needs."""
    linked = order(entry)
    return "".join(
        [
            '"use strict";\n',
            f"const {REGISTRY} = {{}};\n",
            *(scope(module, entry.parent) for module in linked),
        ]
    )


def scope(module: Module, root: Path) -> str:
    """Return a module as a function whose result is its exports."""
    imported: dict[Path, list[str]] = {}
    for each in module.imports:
        imported.setdefault(each.module, []).append(pair(each.name, each.alias))
    lines = [f"const {{ {', '.join(names)} }} = {place(path, root)};" for path, names in imported.items()]
    exports = ", ".join(pair(alias, name) for alias, name in module.exports.items())
    begin = "\n".join([f"{place(module.path, root)} = (() => {{", *lines])
    return f"\n{begin}\n{module.text.strip()}\nreturn {{ {exports} }};\n}})();\n"


def pair(key: str, name: str) -> str:
    """Return a property of an object, as short as can be."""
    return key if key == name else f"{key}: {name}"


def place(path: Path, root: Path) -> str:
    """Return the expression for a module's exports."""
    return f'{REGISTRY}["{os.path.relpath(path, root).replace(os.sep, "/")}"]'


if __name__ == "__main__":
    try:
        print(link(Path(sys.argv[1])), end="")
    except Refused as why:
        sys.exit(str(why))
