"""The files of a new plug-in, for `duetime init --plugin`."""

from __future__ import annotations

import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from duetime import files
from duetime.cli import options

#: Language -> how its plug-in is built in its folder, and the module that this makes.
LANGUAGES = {
    "rust": (
        "cargo build --release --target wasm32-unknown-unknown",
        "target/wasm32-unknown-unknown/release/{file}.wasm",
    ),
    "assemblyscript": ("npm install && npm run build", "{name}.wasm"),
    "wat": ("", "{name}.wat"),
}
#: What the templates are called.
TEMPLATE = "mine"


def write(folder: Path, language: str) -> None:
    """Write a template into a folder that does not exist yet, and say what to do next."""
    name = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()).strip("-")
    if not name or not name[0].isalpha():
        raise options.Mistake(f"{folder}: a plug-in's folder has a name that begins with a letter")
    if folder.exists():
        raise options.Mistake(f"{folder} exists already and is left as it is; choose another name")
    template = resources.files("duetime") / "templates" / "plugin" / language
    try:
        for path, content in _files(template):
            target = folder / re.sub(rf"\b{TEMPLATE}\.wat$", f"{name}.wat", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            files.create(target, _renamed(content, name).encode())
    except OSError as error:
        if error.errno in files.FULL:
            raise
        raise options.Mistake(f"{folder} cannot be written: {error.strerror}") from None
    command, module = LANGUAGES[language]
    module = (folder / module.format(name=name, file=name.replace("-", "_"))).as_posix()
    print(f"Wrote {folder}.")
    if command:
        print(f"Build:   cd {folder} && {command}")
    print(f"Compare: duetime compare scenario.toml --transports dctcp,{module}")


def _renamed(content: str, name: str) -> str:
    """Put the plug-in's name in place of the template's, where it names a package or a module."""
    content = re.sub(rf'(?m)^(\s*"?name"?\s*[=:]\s*)"{TEMPLATE}"', rf'\1"{name}"', content)
    return content.replace(f"{TEMPLATE}.wasm", f"{name}.wasm")


def _files(folder: Traversable, before: str = "") -> list[tuple[str, str]]:
    found = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        path = before + each.name
        if each.is_dir():
            found += _files(each, f"{path}/")
        else:
            found.append((path, each.read_text(encoding="utf-8")))
    return found
