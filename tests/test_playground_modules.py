"""The playground's modules, and the linker that joins them into a script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from test_playground import needed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "playground"))
import build
import link

PLAYGROUND = build.HERE
SRC = PLAYGROUND / "src"
ENTRIES = [build.ENTRY, build.WORKER]
MAX_LINES = 150
A = "export const a = 1;\n"


def written(folder: Path, **files: str) -> Path:
    """Write modules, and return the path of `main.js`."""
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


def refusal(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> str:
    """Return the message that refuses modules."""
    monkeypatch.chdir(folder)
    with pytest.raises(link.Refused) as caught:
        link.link(written(folder, **files))
    return str(caught.value)


def printed(script: str) -> str:
    """Return the output of a script in node."""
    node = shutil.which("node")
    if node is None:
        needed("NODE", "no node on this machine: linked scripts are not run")
    assert node is not None
    return subprocess.run(
        [node], input=script, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout


def test_a_module_is_linked_once_and_after_its_imports(tmp_path: Path) -> None:
    entry = written(
        tmp_path,
        main='import { b } from "./b.js";\nimport { c } from "./c.js";\n',
        b='import { d } from "./d.js";\nexport const b = d;\n',
        c='import { d } from "./d.js";\nexport const c = d;\n',
        d="export const d = 1;\n",
        unused="export const unused = 1;\n",
    )
    assert [module.path.name for module in link.order(entry)] == ["d.js", "b.js", "c.js", "main.js"]


def test_the_script_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/a.js").write_text(
        "// A.\nexport function one() {\n  return 1;\n}\nconst two = 2;\nexport { two as deux };\n",
        encoding="utf-8",
    )
    entry = written(tmp_path, main='import { deux, one as un } from "./inner/a.js";\n\nun(deux);\n')
    assert link.link(entry) == (
        '"use strict";\n'
        "const modules = {};\n\n"
        'modules["inner/a.js"] = (() => {\n'
        "// A.\nfunction one() {\n  return 1;\n}\nconst two = 2;\n"
        "return { one, deux: two };\n})();\n\n"
        'modules["main.js"] = (() => {\n'
        'const { deux, one: un } = modules["inner/a.js"];\n'
        "un(deux);\n"
        "return {  };\n})();\n"
    )


def test_every_form_of_an_export_works_in_node(tmp_path: Path) -> None:
    entry = written(
        tmp_path,
        main=(
            'import {\n  answer,\n  Class,\n  constant,\n} from "./a.js";\n'
            'import { later, numbers, other as renamed } from "./a.js";\n'
            "const own = 7;\n"
            "const first = [answer(), new Class().of, constant];\n"
            "later().then((late) => console.log(...first, late, renamed, ...numbers(), own));\n"
        ),
        a=(
            "export function answer() {\n  return hidden();\n}\n"
            "export class Class {\n  of = 2;\n}\n"
            "export const constant = 3;\n"
            "export async function later() {\n  return 4;\n}\n"
            "export function* numbers() {\n  yield 6;\n}\n"
            "const own = 5;\n"
            "function hidden() {\n  return 1;\n}\n"
            "export { own as other };\n"
        ),
    )
    assert printed(link.link(entry)) == "1 2 3 4 5 6 7\n"


def test_modules_have_scopes_of_their_own(tmp_path: Path) -> None:
    entry = written(
        tmp_path,
        main=(
            'import { a } from "./a.js";\nimport { b } from "./b.js";\n'
            "const same = 3;\nconsole.log(a, b, same);\n"
        ),
        a="const same = 1;\nexport const a = same;\n",
        b="const same = 2;\nexport const b = same;\n",
    )
    assert printed(link.link(entry)) == "1 2 3\n"


def test_words_in_comments_and_texts_are_no_statements(tmp_path: Path) -> None:
    main = (
        '/** @import { A } from "./types.d.ts" */\n/**\n * import { x } from "./x.js"\n */\n'
        'f("import(1)", exports);\n'
    )
    module = link.read(written(tmp_path, main=main))
    assert (module.imports, module.exports, module.text) == ([], {}, main)


def test_a_module_keeps_its_lines(tmp_path: Path) -> None:
    main = 'import {\n  a,\n} from "./a.js";\n\nexport const b = a;\n'
    module = link.read(written(tmp_path, main=main, a=A))
    assert module.text == "\n\n\n\nconst b = a;\n"
    assert [(each.line, each.name) for each in module.imports] == [(1, "a")]


@pytest.mark.parametrize(
    ("main", "said"),
    [
        ('\nimport { a } from "./none.js";\n', "main.js:2: unknown module './none.js': there is no none.js"),
        ('import { a } from "a";\n', "main.js:1: unknown module 'a': a path begins with ./ or ../"),
        ('import { a, b } from "./a.js";\n', "main.js:1: a.js does not export b"),
        ('import { a } from "./main.js";\n', "main.js:1: a circle: main.js -> main.js"),
        ('import { a } from "./a.js";\nconst a = 2;\n', "main.js:1: the name a is already that of line 2"),
        (
            'import { a } from "./a.js";\nimport { b as a } from "./a.js";\n',
            "main.js:2: the name a is already that of line 1",
        ),
        ("const b = 1;\nfunction b() {}\n", "main.js:2: the name b is already that of line 1"),
        ("const modules = 1;\n", "main.js:1: the name modules belongs to the linked script"),
        ("export const b = 1;\nexport { b };\n", "main.js:2: b is already exported"),
        ("export { b };\n", "main.js:1: b is exported but there is no b at the begin of a line"),
        ('import { a-b } from "./a.js";\n', "main.js:1: not a name: 'a-b'"),
        (
            'f();\nconst b = import("./a.js");\n',
            "main.js:2: only statements can import, at the begin of a line",
        ),
        ("f(import.meta.url);\n", "main.js:1: only statements can import, at the begin of a line"),
    ],
)
def test_mistakes_are_named_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: str, said: str
) -> None:
    assert refusal(tmp_path, monkeypatch, main=main, a=A) == said


@pytest.mark.parametrize(
    "statement",
    [
        'import a from "./a.js";',
        'import * as a from "./a.js";',
        'import "./a.js";',
        'import { a } from "./a.js"',
        'export { a } from "./a.js";',
        'export * from "./a.js";',
        "export default 1;",
        "export let b = 1;",
        "export const { b } = c;",
    ],
)
def test_other_forms_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    said = refusal(tmp_path, monkeypatch, main=f"f();\n{statement}\n", a=A)
    assert said == f"main.js:2: not understood: {statement!r}; see playground/link.py for the forms"


def test_a_circle_is_named_from_its_first_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "main": 'import { b } from "./b.js";\n',
        "b": 'import { c } from "./c.js";\nexport const b = 1;\n',
        "c": '\nimport { b } from "./b.js";\nexport const c = 1;\n',
    }
    assert refusal(tmp_path, monkeypatch, **files) == "c.js:2: a circle: b.js -> c.js -> b.js"


def test_every_module_is_reached_and_none_is_in_a_circle() -> None:
    reached = {module.path for entry in ENTRIES for module in link.order(entry)}
    assert reached == set(SRC.rglob("*.js"))


def test_every_import_is_used() -> None:
    for entry in ENTRIES:
        for module in link.order(entry):
            unused = [
                each.alias for each in module.imports if not re.search(rf"\b{each.alias}\b", module.text)
            ]
            assert unused == [], module.path


def test_only_entries_do_something_when_they_are_loaded() -> None:
    declaration = re.compile(r"(?:async )?function\*? |class |const \w+ = |let \w+ = |[ /})\]]|$")
    for entry in ENTRIES:
        for module in link.order(entry):
            if module.path != entry:
                others = [line for line in module.text.splitlines() if not declaration.match(line)]
                assert others == [], module.path


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.js")), ids=lambda path: str(path.relative_to(SRC)))
def test_a_module_is_short_and_begins_with_its_subject(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    assert re.fullmatch(r"// [A-Z].*[.]", lines[0])


def test_types_have_the_versions_of_the_libraries_in_the_page() -> None:
    """The lints see the versions that `make vendor` fetches."""
    tools = json.loads((PLAYGROUND / "tools/package-lock.json").read_text(encoding="utf-8"))["packages"]
    editor = json.loads((PLAYGROUND / "editor/package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name in json.loads((PLAYGROUND / "editor/package.json").read_text(encoding="utf-8"))[
        "devDependencies"
    ]:
        if name != "esbuild":
            at = f"node_modules/{name}"
            assert tools[at]["version"] == editor[at]["version"], name
    plot = tools["node_modules/@observablehq/plot"]["version"]
    assert f"@observablehq/plot@{plot}:" in (PLAYGROUND.parent / "Makefile").read_text(encoding="utf-8")


def test_versions_of_tools_are_exact() -> None:
    asked = json.loads((PLAYGROUND / "tools/package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert [version for version in asked.values() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
