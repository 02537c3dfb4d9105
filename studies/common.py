"""What the studies share: runs side by side, tables, and the page that holds them."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from matplotlib.figure import Figure

T = TypeVar("T")
R = TypeVar("R")

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios"
PAGE = ROOT / "docs" / "studies.md"
IMAGES = ROOT / "docs" / "images"

#: One-way delays of a link in us around the 25 us of both studies. What a number does over them says how
#: much of it is chance: the runs are deterministic, but which packet meets which is not what is studied.
DELAYS = (24.6, 24.8, 25.0, 25.2, 25.4)


def each(work: Callable[[T], R], cases: Iterable[T]) -> list[R]:
    """The results of all cases, in their order; as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, cases))


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean."""
    listed = list(values)
    return sum(listed) / len(listed)


def span(values: Iterable[float], digits: int) -> str:
    """The least and the greatest, as text."""
    listed = list(values)
    return f"{min(listed):.{digits}f} to {max(listed):.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(name: str, text: str) -> None:
    """Put a text into its place on the page."""
    page = PAGE.read_text(encoding="utf-8")
    place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not place.search(page):
        raise LookupError(f"{PAGE} has no place named {name}")
    PAGE.write_text(place.sub(lambda match: match[1] + text + "\n" + match[2], page), encoding="utf-8")


def draw(figure: Figure, name: str) -> None:
    """Save a picture."""
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})
