"""In a kernel of Jupyter long calls show a bar, and leave nothing of it; elsewhere they are silent."""

import io
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from rich.console import Console

from conftest import SCENARIOS, SMALL
from duetime.engine import progress

ROOT = SCENARIOS.parent
START = f"""
import duetime, tomllib
from duetime.engine import progress
progress.REDRAWN_S = 0  # every step is drawn, however short the runs are
small = {SMALL!r}
sizes = {{"scenario": tomllib.loads(small), "grid": {{"network.hosts": [6, 7]}}}}
"""
#: A call, and the text of its bar at its end.
CALLS = {
    "duetime.run(small)": "0.01 of 0.01 s simulated",
    "duetime.compare(small, ['tcp', 'd2tcp'], seeds=2)": "0.04 of 0.04 s simulated",
    "duetime.sweep(sizes, out='swept')": "2 of 2 runs",
    "duetime.compare(small, ['tcp'], progress=False)": None,
}


class Client(NotebookClient):
    """Keeps all outputs, also replaced ones, which the notebook does not."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.drawn: dict[int, list[str]] = {}

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.drawn.setdefault(cell_index, []).append(msg["content"]["data"]["text/html"])
        return super().process_message(msg, cell, cell_index)


@pytest.mark.filterwarnings("default")
def test_a_notebook_shows_a_bar_that_goes(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in (START, *CALLS)]
    client = Client(nbformat.v4.new_notebook(cells=cells), resources={"metadata": {"path": tmp_path}})
    done = client.execute()
    for number, (call, told) in enumerate(CALLS.items(), start=1):
        drawn = client.drawn.get(number, [])
        assert (told is None and not drawn) or any(told in each for each in drawn), f"{call}: {drawn}"
        outputs = done.cells[number].outputs
        result = next(each for each in outputs if each.output_type == "execute_result")
        assert "<table>" in result.data["text/html"], call
        left = [each for each in outputs if each is not result]
        assert all(each.output_type == "display_data" and each.data["text/html"] == "" for each in left), left


def test_a_program_hears_nothing(tmp_path: Path) -> None:
    sizes = {"scenario": tomllib.loads(SMALL), "grid": {"network.hosts": [6, 7]}}
    calls = f"import duetime; duetime.compare({SMALL!r}, ['tcp', 'd2tcp']); duetime.sweep({sizes!r}, out='o')"
    done = subprocess.run(
        [sys.executable, "-c", calls], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 160])
@pytest.mark.parametrize(
    "words",
    [
        ("9.99e+04 of 1e+05 s simulated", "999.99 M packets/s"),
        ("99 of 99 runs, 98 of them kept before, 9 failed",),
    ],
)
def test_a_bar_cuts_nothing(width: int, words: tuple[str, ...]) -> None:
    written = io.StringIO()
    console = Console(file=written, width=width)
    shown = progress._progress(len(words), console)
    progress._updating(shown, len(words))(99, 100, words)
    console.print(shown.get_renderable())
    assert "…" not in written.getvalue()
    assert "99%" in written.getvalue()
    assert (words[-1] in written.getvalue()) == (width >= 80)


def test_notebooks_are_those_of_the_pages() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
    for name, page in made["NOTEBOOKS"].items():
        assert (ROOT / name).read_text(encoding="utf-8") == made["written"](page), (
            "`make docs` writes them anew"
        )
    assert {f"notebooks/{path.name}" for path in (ROOT / "notebooks").iterdir()} == set(made["NOTEBOOKS"])


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "outputs are cleared"
    done = NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in done.cells for output in cell.get("outputs", ())]
    assert any("image/png" in each.get("data", {}) for each in shown)
    assert any("<table>" in each.get("data", {}).get("text/html", "") for each in shown)
