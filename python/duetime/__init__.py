"""A deterministic packet-level simulator of deadline-aware datacenter transports.

>>> import duetime
>>> result = duetime.run("incast.toml", seed=3)
>>> result.summary["missed_percent"]
>>> result.flows.filter("missed")
>>> duetime.compare("incast.toml", transports=["dctcp", "d2tcp"]).table()

Everything that is measured is in the unit that its name ends with (``_us``, ``_s``, ``_mbps``, ``_percent``).
"""

from duetime._core import InternalError, ScenarioError, version
from duetime.compare import Comparison, compare
from duetime.results import Result, load
from duetime.run import bound, catalog, check, run, schema
from duetime.sweep import Swept, sweep

__all__ = [
    "Comparison",
    "InternalError",
    "Result",
    "ScenarioError",
    "Swept",
    "bound",
    "catalog",
    "check",
    "compare",
    "load",
    "run",
    "schema",
    "sweep",
]
__version__ = version()
