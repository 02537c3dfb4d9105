"""The scenario's settings of a port: K, and its buffer."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from matplotlib.axes import Axes

from duetime.contract.runs import SavedRun
from duetime.display.figures import as_count
from duetime.plots import style

#: Bytes on the wire of a full packet, for settings in bytes.
FRAME = 1500


def threshold(about: SavedRun, port: str) -> float | None:
    """K of a port ("switch to host 4") in packets; none without marking."""
    mark = _network(about).get("mark")
    if isinstance(mark, Mapping):
        mark = mark.get("host" if " to host " in port.replace("->", "to") else "uplink")
    return packets(mark)


def limit(about: SavedRun) -> float | None:
    """Return the limit of a port in packets, when the other ports are empty; none if not known."""
    network = _network(about)
    whole = packets(network.get("buffer"))
    if whole is None:
        return None
    if network.get("sharing") == "per-port":
        return whole
    if network.get("sharing") in ("dynamic", "abm"):
        alpha = float(str(network.get("dynamic_alpha", 1)))
        return whole * alpha / (1 + alpha)
    return None


def packets(amount: object) -> float | None:
    """Return a length of a queue in full packets; none for other text."""
    found = re.fullmatch(r"([\d.]+) (packets?|B|KB|MB|KiB|MiB)", amount) if isinstance(amount, str) else None
    if found is None:
        return None
    units = {"B": 1, "KB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2}
    number = float(found[1])
    return number if found[2].startswith("packet") else number * units[found[2]] / FRAME


def lines(axes: Axes, about: SavedRun, ports: Sequence[str], *, across: Literal["x", "y"]) -> None:
    """Draw K, if the ports share one, and the limit, if queues are near it; `across` is the other axis."""
    draw = axes.axvline if across == "y" else axes.axhline
    marks = {threshold(about, port) for port in ports}
    mark = marks.pop() if len(marks) == 1 else None
    end = (axes.get_xlim() if across == "y" else axes.get_ylim())[1]
    if mark is not None and mark <= 1.5 * end:
        draw(
            mark, color=style.VERMILLION, linewidth=1.2, linestyle=style.DASHES, label=f"K = {as_count(mark)}"
        )
    most = limit(about)
    if most is not None and most <= 1.5 * end:
        draw(
            most,
            color=style.INK,
            linewidth=1.2,
            linestyle=style.DOTS,
            label=f"port limit: {most:.0f} packets",
        )
    if across == "y" and axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="lower right", fontsize=style.points(8.5), frameon=True, edgecolor="none", framealpha=0.9
        )


def _network(about: SavedRun) -> Mapping[str, object]:
    scenario = about.get("scenario")
    network = scenario.get("network") if isinstance(scenario, Mapping) else None
    return network if isinstance(network, Mapping) else {}
