"""How Sphinx builds the site: `make site`. Every reference must lead somewhere, and warnings are errors."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from duetime import __version__

HERE = Path(__file__).parent
EXTRA = HERE.parent / "out" / "site-extra"

project = "duetime"
author = "the duetime authors"
copyright = "the duetime authors"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_click"]
source_suffix = {".md": "myst-nb"}
# The notebook is run anew, far from the sources, and an error in it fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300
exclude_patterns = ["record"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
# Two hyphens are two hyphens: options are copied from the pages.
smartquotes = False
with (HERE.parent / "Cargo.toml").open("rb") as file:
    SOURCE = tomllib.load(file)["workspace"]["package"]["repository"]
# Until there is a public address, that of the manifest is a placeholder, which no page offers as a link.
PUBLIC = "example.org" not in SOURCE
myst_substitutions = {
    "source": f"The source is at <{SOURCE}>." if PUBLIC else "The source has no public address yet."
}
myst_heading_anchors = 3

nitpicky = True
# Types of other packages: their sites are not asked.
nitpick_ignore_regex = [
    ("py:.*", r"(pl|polars|np|numpy|pathlib|os|collections|typing|click|matplotlib)\..*"),
    # Types of JSON objects: python.md names their modules.
    (
        "py:.*",
        r"(contract|comparisons)\.\w+|Resolved|Nothing|Summary|ClassSummary|Seeds|Limits|Search|Row|Judged",
    ),
    ("py:.*", r"Run(\[int)?|Catalog|Store|tuple\[str"),
    # A class of the user's own, or a name: howto/own-transport.md says which.
    ("py:.*", r"(duetime\.)?controllers\.(Controller|Transport)"),
    ("py:.*", r"(Path|Mapping|Sequence|Any|PathLike|R|pl.DataFrame|TypeVar|Generic)"),
    (
        "py:.*",
        r"(scenario\.)?(Source|Changes)|duetime\.scenario\.Scenario|Tables|duetime\.(results|comparison)\.(Tables|R)|duetime\.robustness\.\w+|duetime\.costs\.Limit|Reproduction",
    ),
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    "Picture": "duetime.plots.Picture",
    "Reproduction": "duetime.experiments.reproduce.Reproduction",
}
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"duetime {release}"
html_static_path: list[str] = []
html_extra_path = [str(EXTRA)]
html_copy_source = False
html_show_sourcelink = False


def write_report() -> None:
    """The interactive page of the recorded results, which the science page links to."""
    EXTRA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/record"
        subprocess.run([sys.executable, str(HERE / "generate.py"), "--expand", results], check=True)
        command = [sys.executable, "-m", "duetime", "report", results, "--out", str(EXTRA / "report.html")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def write_playground() -> None:
    """The page with the simulator in it, where `make playground` could build it; else one that says so."""
    built, page = HERE.parent / "out" / "playground" / "playground.html", EXTRA / "playground.html"
    if built.exists():
        page.write_bytes(built.read_bytes())
    else:
        why = "This site was built without the playground: run make playground, then make site."
        page.write_text(f'<!doctype html><html lang="en"><title>Playground</title><p>{why}', encoding="utf-8")


write_report()
write_playground()
