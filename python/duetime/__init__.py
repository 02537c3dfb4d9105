"""A deterministic packet-level simulator of deadline-aware datacenter transports.

>>> import duetime
>>> result = duetime.run("incast.toml", seed=3)
>>> result.summary["missed_percent"]
>>> result.flows.filter("missed")
>>> duetime.compare("incast.toml", transports=["dctcp", "d2tcp"]).table()

Everything that is measured is in the unit that its name ends with (``_us``, ``_s``, ``_mbps``, ``_percent``).
"""

from duetime.engine.interrupt import quiet_start

quiet_start()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from duetime._core import InternalError, PluginError, ScenarioError, version
from duetime.functions import estimate, plot, reproduce
from duetime.language import catalog, schema
from duetime.results import Bound, Result
from duetime.run import bound, check, run

if TYPE_CHECKING:
    from duetime.comparison import Comparison, compare
    from duetime.controllers import controller
    from duetime.loading import load
    from duetime.network import Completed, Network
    from duetime.robustness import Robustness, robust
    from duetime.sweeping import Sweep, Swept, sweep

__all__ = [
    "Bound",
    "Comparison",
    "Completed",
    "InternalError",
    "Network",
    "PluginError",
    "Result",
    "Robustness",
    "ScenarioError",
    "Sweep",
    "Swept",
    "bound",
    "catalog",
    "check",
    "compare",
    "controller",
    "estimate",
    "load",
    "plot",
    "reproduce",
    "robust",
    "run",
    "schema",
    "sweep",
]
__version__ = version()

#: Names that one run does not need, and their modules: loaded on first use. No module has the name of its
#: content, or it would take its place here.
_LATER = {
    "Comparison": "comparison",
    "Completed": "network",
    "Network": "network",
    "Robustness": "robustness",
    "Sweep": "sweeping",
    "Swept": "sweeping",
    "compare": "comparison",
    "controller": "controllers",
    "load": "loading",
    "robust": "robustness",
    "sweep": "sweeping",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'duetime' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(f"duetime.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
