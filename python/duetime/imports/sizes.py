"""Distributions of sizes: two columns, ns-2's three, or Homa's, which begin with their mean.

The scenario names the file itself; it is read, and mistakes in it are refused, wherever the scenario is.
"""

from __future__ import annotations

from duetime.imports.model import Format, Options, Part, Sizes, counted
from duetime.imports.text import Text


def is_it(text: Text) -> bool:
    """Return whether all lines have two or three numbers, and the last one ends at 1 or 100."""
    rows = [row[0].text if len(row) == 1 else " ".join(word.text for word in row) for row in text.rows()]
    rows = [row.replace(",", " ").replace(";", " ") for row in rows]
    if len(rows) > 1 and len(rows[0].split()) == 1:
        rows = rows[1:]
    widths = {len(row.split()) for row in rows}
    if len(rows) < 2 or widths not in ({2}, {3}):
        return False
    try:
        numbers = [[float(part) for part in row.split()] for row in rows]
    except ValueError:
        return False
    return numbers[-1][-1] in (1.0, 100.0)


def read(text: Text, options: Options) -> Part:
    """Return a distribution whose file the scenario names."""
    shape = {}
    if options.scale is not None:
        shape["scale"] = f'"{options.scale}"'
    if options.steps is not None:
        shape["steps"] = str(options.steps).lower()
    rows = list(text.rows())
    if options.scale is None and rows and len(rows[0]) != 2 and "," not in rows[0][0].text:
        what = "begins with its mean (Homa's)" if len(rows[0]) == 1 else "has three columns (ns-2's)"
        message = f"this file {what}, and does not say whether it counts bytes or packets"
        raise text.fault(rows[0][0].line, message, 'say it: --scale "1 B", or for example --scale "1460 B"')
    points = sum(1 for row in rows if len(row) > 1 or "," in row[0].text)
    return Part(f"distribution of sizes: {counted(points, 'point')}", traffic=Sizes(text, shape))


FORMAT = Format(
    "cdf", "a distribution of sizes: two columns, ns-2's three, or Homa's with the mean first", is_it, read
)
