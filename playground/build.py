"""Puts the playground together: one page that holds the simulator, and needs no server and no network.

python playground/build.py MODULE.wasm out/playground/playground.html
"""

import base64
import gzip
import json
import re
import sys
import tomllib
from pathlib import Path

from link import link

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CHARTS = ROOT / "python/duetime/report/assets"
TEMPLATE = ROOT / "python/duetime/template.toml"
PALETTE = ROOT / "python/duetime/palette.json"
#: The workloads of the benchmarks are long, and none shows more than another here.
LEFT_OUT = {"w1", "w2", "w3"}
#: The entry of the page's script, and that of a worker's.
ENTRY, WORKER = HERE / "src/main.js", HERE / "src/worker.js"


def main(wasm: Path, page: Path) -> None:
    """Write the page and say how large it is."""
    packed = gzip.compress(wasm.read_bytes(), 9, mtime=0)
    vendored = [CHARTS / "d3.min.js", CHARTS / "plot.umd.min.js", HERE / "vendor/codemirror.min.js"]
    scripts = [*(path.read_text(encoding="utf-8") for path in vendored), link(ENTRY)]
    parts = {
        "style.css": (HERE / "style.css").read_text(encoding="utf-8") + transports(),
        "worker": as_script(link(WORKER)),
        "version": tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
            "version"
        ],
        "megabytes": f"{wasm.stat().st_size / 1e6:.1f}",
        "wasm": base64.b64encode(packed).decode(),
        "scenarios": as_data(scenarios()),
        "lessons": as_data(json.loads((HERE / "lessons.json").read_text(encoding="utf-8"))),
        "licences": licences(),
        "scripts": "\n".join(f"<script>\n{as_script(text)}\n</script>" for text in scripts),
    }
    template = (HERE / "page.html").read_text(encoding="utf-8")
    text = re.sub(r"\{\{ (.+?) \}\}", lambda marker: parts[marker[1]], template)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    sizes = {"the page": text.encode(), "of it the simulator": wasm.read_bytes()}
    for name, data in sizes.items():
        print(
            f"{name}: {len(data) / 1e6:.2f} MB, gzipped {len(gzip.compress(data, 9, mtime=0)) / 1e3:.0f} KB"
        )


def transports() -> str:
    """Return the colours of transports as CSS: the palette of figures and reports, by day and by night."""
    palette = json.loads(PALETTE.read_text(encoding="utf-8"))

    def named(which: str) -> str:
        return " ".join(f"--of-{name}: {colours[which]};" for name, colours in palette.items())

    night = f"@media (prefers-color-scheme: dark) {{ :root {{ {named('night')} }} }}"
    return f":root {{ {named('day')} }}\n{night}\n"


def scenarios() -> list[dict[str, str]]:
    """Each scenario that the page offers: its file's name, its title and its text.

    Scenarios that read another file are left out: the page has none.
    """
    paths = [TEMPLATE, *sorted((ROOT / "scenarios").glob("*.toml"))]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in paths if path.stem not in LEFT_OUT}
    texts = {name: text for name, text in texts.items() if not re.search(r"\bfile =", text)}
    return [
        {"name": name, "title": tomllib.loads(text)["title"], "text": text} for name, text in texts.items()
    ]


def as_script(text: str) -> str:
    """Return a script whose text cannot end its HTML element."""
    return text.replace("</script", r"<\/script")


def as_data(value: object) -> str:
    """Return JSON whose text cannot end its HTML element."""
    return json.dumps(value, ensure_ascii=False).replace("</", r"<\/")


def licences() -> str:
    """Of everything in the page that others wrote."""
    texts = [(folder / "LICENSES.txt").read_text(encoding="utf-8") for folder in (CHARTS, HERE / "vendor")]
    return "\n\n".join(texts).replace("</script", "")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
