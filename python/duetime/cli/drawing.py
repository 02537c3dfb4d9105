"""The options of figures, which `plot` and `reproduce` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypedDict, TypeVar

import click

from duetime.cli import completion
from duetime.cli.options import Measure
from duetime.output import COLUMN, FONTS, FORMATS, SCREEN, STYLES, Output

F = TypeVar("F", bound=Callable[..., object])


class Drawing(TypedDict):
    """The arguments of these options."""

    formats: tuple[str, ...]
    width: float | None
    title: bool | None
    style: str
    font: str
    order: str | None


class Width(Measure):
    """A width on paper, in inches."""

    name = "width"
    UNITS: ClassVar = {"in": 1, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
    EXAMPLES = "3.3in, 8.4cm or 240pt"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a width from the command line."""
        inches = super().convert(value, param, ctx)
        if not 1 <= inches <= 40:
            self.fail(f"{value!r} is not between 1in and 40in", param, ctx)
        return inches


def options(formats: str) -> Callable[[F], F]:
    """Add the options of figures to a command; `formats` is the help of --format."""

    def add(command: F) -> F:
        for option in (
            click.option(
                "--order",
                metavar="NAMES",
                shell_complete=completion.transports,
                help="Draw these transports first, in this order, separated by commas "
                "(default: as they were named).",
            ),
            click.option(
                "--title/--no-title",
                default=None,
                help="With or without a headline (default: with one, but not in --style paper).",
            ),
            click.option(
                "--width",
                type=Width(),
                metavar="WIDTH",
                help="The width of the figure, as 3.3in, 8.4cm or 240pt (default: as wide as its panels "
                f"need; {COLUMN}in in --style paper).",
            ),
            click.option(
                "--font",
                type=click.Choice(FONTS),
                default=FONTS[0],
                show_default=True,
                help="Sans-serif or serif type; fonts are embedded.",
            ),
            click.option(
                "--style",
                type=click.Choice(STYLES),
                default=STYLES[0],
                show_default=True,
                help="paper: one column wide, small type, and line styles, markers and hatches that can "
                "be told apart in grey.",
            ),
            click.option("--format", "formats", type=click.Choice(FORMATS), multiple=True, help=formats),
        ):
            command = option(command)
        return command

    return add


def output(given: Drawing) -> Output:
    """Return how figures are written."""
    paper = given["style"] == "paper"
    title, order = given["title"], given["order"] or ""
    return Output(
        formats=given["formats"] or SCREEN.formats,
        width=given["width"] or (COLUMN if paper else None),
        title=not paper if title is None else title,
        paper=paper,
        serif=given["font"] == "serif",
        order=tuple(name.strip() for name in order.split(",") if name.strip()),
    )
