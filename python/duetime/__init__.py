"""A deterministic packet-level simulator of deadline-aware datacenter transports.

>>> import duetime
>>> result = duetime.run("incast.toml", seed=3)
>>> result.summary["missed_percent"]
>>> result.flows.filter("missed")
>>> duetime.compare("incast.toml", transports=["dctcp", "d2tcp"]).table()

Everything that is measured is in the unit that its name ends with (``_us``, ``_s``, ``_mbps``, ``_percent``).
"""

from duetime.interrupt import quiet_start

quiet_start()

from duetime._core import InternalError, ScenarioError, version
from duetime.compare import Comparison, compare
from duetime.functions import estimate, plot, reproduce
from duetime.load import load
from duetime.results import Bound, Result
from duetime.robust import Robustness, robust
from duetime.run import bound, catalog, check, run, schema
from duetime.sweep import Sweep, Swept, sweep

__all__ = [
    "Bound",
    "Comparison",
    "InternalError",
    "Result",
    "Robustness",
    "ScenarioError",
    "Sweep",
    "Swept",
    "bound",
    "catalog",
    "check",
    "compare",
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
