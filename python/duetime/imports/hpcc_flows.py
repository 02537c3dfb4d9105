"""Flow files of the HPCC simulator and of its descendants: PowerTCP, ConWeave.

The first line is the number of flows. A line has source, destination, priority group, port, bytes and the
start in seconds; ConWeave's have no port. Lines behind the announced flows are remarks.
"""

from __future__ import annotations

from duetime.imports.model import Flow, Flows, Format, Options, Part, counted
from duetime.imports.text import Text, Word

COLUMNS = "source, destination, priority group, port (ConWeave: none), bytes, start in seconds"


def is_it(text: Text) -> bool:
    """Return whether a number is alone in the first line, and a flow is in the second."""
    rows = [row for row, _ in zip(text.rows(), range(2), strict=False)]
    return len(rows) > 0 and len(rows[0]) == 1 and rows[0][0].text.isdigit() and all(map(_is_flow, rows[1:]))


def read(text: Text, _: Options) -> Part:
    """Read the announced flows, and say how many follow them."""
    rows = text.rows()
    header = next(rows, None)
    if header is None or len(header) != 1:
        raise text.fault(header[0] if header else 1, "the number of flows is expected in the first line")
    announced = text.whole(header[0], "the number of flows")
    if announced == 0:
        raise text.fault(header[0], "the file announces no flows")
    flows: list[Flow] = []
    last = -1.0
    more = 0
    for row in rows:
        if len(flows) == announced:
            more += _is_flow(row)
            continue
        flow, start = _flow(text, row)
        if start < last:
            message = f"this flow starts at {start:.12g} s, before the one above it ({last:.12g} s)"
            raise text.fault(row[-1], message, "the simulator takes flows in the order of their starts")
        last = start
        flows.append(flow)
    if len(flows) < announced:
        raise text.fault(
            header[0], f"the first line announces {counted(announced, 'flow')}, the file has {len(flows)}"
        )
    notes = []
    if more:
        announces = f"the first line announces {counted(announced, 'flow')}"
        notes.append(f"{announces}: {more} behind them are not read, as in HPCC")
    if any(group != "3" for group in _groups(text, announced)):
        notes.append("priority groups are not imported: all flows have the same priority")
    return Part(f"HPCC flows: {counted(len(flows), 'flow')}", traffic=Flows(text, flows), notes=notes)


def _groups(text: Text, announced: int) -> set[str]:
    rows = text.rows()
    next(rows)
    return {row[2].text for row, _ in zip(rows, range(announced), strict=False)}


def _is_flow(row: list[Word]) -> bool:
    try:
        [float(word.text) for word in row]
    except ValueError:
        return False
    return len(row) in (5, 6)


def _flow(text: Text, row: list[Word]) -> tuple[Flow, float]:
    if len(row) not in (5, 6):
        raise text.fault(row[0].line, f"six columns are expected, not {len(row)}", COLUMNS)
    src, dst, group, *port, size, start = row
    text.whole(src, "the source")
    text.whole(dst, "the destination")
    text.whole(group, "the priority group")
    for word in port:
        text.whole(word, "the port")
    if src.text == dst.text:
        raise text.fault(dst, f"node {src} would send to itself")
    flow = Flow(src, dst, text.whole(size, "the bytes", least=1), start.text)
    return flow, text.number(start, "the start")


FORMAT = Format("hpcc-flows", "a flow file of the HPCC simulator, PowerTCP or ConWeave", is_it, read)
