"""How figures are written: their formats, width, style and order of transports."""

from __future__ import annotations

from dataclasses import dataclass

#: The width of a column of a paper, in inches.
COLUMN = 3.3
FORMATS = ("pdf", "svg", "png")
STYLES = ("screen", "paper")
FONTS = ("sans", "serif")


@dataclass(frozen=True)
class Output:
    """How figures are written; by default for a screen, as wide as each needs, as PNG and SVG."""

    formats: tuple[str, ...] = ("png", "svg")
    #: Inches; none: as wide as the figure needs.
    width: float | None = None
    #: Whether there is a headline; panels keep their titles.
    title: bool = True
    #: Small type, and hatches and markers by which transports differ in grey too.
    paper: bool = False
    serif: bool = False
    #: Transports that are drawn first, in this order; the others follow as they were named.
    order: tuple[str, ...] = ()


#: For a screen.
SCREEN = Output()
