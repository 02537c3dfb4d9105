"""The same scenarios on real TCP: hosts and a marking switch in network namespaces of this machine.

Needs root, and the programs of `make linux`. It leaves no residual state, whatever ends it.
"""

from __future__ import annotations

from duetime import scenario
from duetime.errors import Failed, Missing
from duetime.results import Result
from duetime.run import simulate
from duetime.testbed import bench, measured, plan
from duetime.testbed.need import check
from duetime.testbed.plan import Options

__all__ = ["Failed", "Missing", "Options", "check", "run"]


def run(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: str | None = None,
    ipv6: bool = False,
    refuse_ecn: bool = False,
) -> Result:
    """Run a scenario on the testbed: the messages that `duetime.run` simulates, at the same times, for real.

    The result has the form of a simulated one; its ``data["testbed"]`` describes the machine. `source`,
    `seed`, `set`, `transport` are the same as for `duetime.run`; with `refuse_ecn` receivers do not negotiate
    ECN. Raises `Missing` where the machine lacks something, `Failed` where a part failed, and what
    `duetime.run` raises.
    """
    return beside(source, seed=seed, set=set, transport=transport, options=Options(ipv6, refuse_ecn))[1]


def beside(
    source: scenario.Source,
    *,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    transport: str | None = None,
    options: Options = plan.Options(),  # noqa: B008 (frozen)
) -> tuple[Result, Result]:
    """Return (simulated, real) of the same messages."""
    origin = measured.Origin(scenario.read(source), seed, set, transport)
    simulated = simulate(origin.read, seed, set, transport, None)
    planned = plan.make(simulated, options)
    return simulated, measured.result(origin, planned, bench.carry_out(planned))
