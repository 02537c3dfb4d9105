"""Large networks link by link: slowdown and missed deadlines without simulating the whole.

The idea is Parsimon's (Zhao, Goyal, Alizadeh and Anderson, NSDI 2023). Each link is simulated alone with the
messages that cross it; of links with similar traffic only some are simulated. The delays of a message at the
links of its path are added up.

- `traffic` draws and routes the messages.
- `cluster` chooses links.
- `link` makes a scenario of each.
- `delays` transfers the results to all other links.
- `check` compares the estimate with a full run.
- `limits` gives the cases in which it cannot be used.
"""

from duetime.estimates.estimate import Estimate, estimated
from duetime.estimates.paths import of_links
from duetime.estimates.task import Runs, Task

__all__ = ["Estimate", "Runs", "Task", "estimated", "of_links"]
