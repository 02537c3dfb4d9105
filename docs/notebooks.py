"""Write the pages that are notebooks as ``.ipynb`` too, without outputs, into `notebooks/`.

`make docs` writes them. The page is the source: a text in MyST can be read in a diff.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: File -> the page that it is made of.
NOTEBOOKS = {"notebooks/first-steps.ipynb": "docs/notebook.md"}
#: A cell of code in a page.
CODE = re.compile(r"```\{code-cell\} \w+\n(.*?)```\n", re.DOTALL)


def written(page: str) -> str:
    """Return a page as a notebook."""
    text = (ROOT / page).read_text(encoding="utf-8").split("\n---\n", 1)[1]
    # What only the built page has, and links that start from its folder.
    text = re.sub(r"(?<=\. )[^.]*\{nb-download\}`[^`]*`[^.]*\.\s", "", text)
    text = re.sub(r"\]\((?!https?:)([\w/-]+\.md)", r"](../docs/\1", text)
    cells: list[dict[str, object]] = []
    for number, part in enumerate(CODE.split(text)):
        source = part.strip("\n")
        if source:
            code: dict[str, object] = {"execution_count": None, "outputs": []} if number % 2 else {}
            kind = "code" if number % 2 else "markdown"
            lines = source.splitlines(keepends=True)
            # No random names: the same page gives the same file.
            about = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}}
            cells.append({**about, **code, "source": lines})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write each of `NOTEBOOKS` from its page."""
    for name, page in NOTEBOOKS.items():
        path = ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main()
