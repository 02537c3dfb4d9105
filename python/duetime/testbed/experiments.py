"""The experiments that have a name: a scenario each, and the arms to compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from duetime import scenario
from duetime.comparison import Comparison
from duetime.data import SCENARIOS as INCLUDED
from duetime.results import Result
from duetime.run import check
from duetime.testbed import Options, beside

SCENARIOS = INCLUDED / "testbed"
AS_IT_IS = Options()


@dataclass(frozen=True)
class Arm:
    """One of the configurations that are compared."""

    transport: str
    options: Options = AS_IT_IS
    #: Whether the simulator has the same: it knows no peer that refuses ECN.
    simulated: bool = True
    #: What it is called, if not as its transport.
    label: str | None = None
    #: Changes to the scenario for this one.
    set: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the arm."""
        return self.label or self.transport


@dataclass(frozen=True)
class Experiment:
    """A scenario and its arms."""

    name: str
    help: str
    file: str
    arms: tuple[Arm, ...]

    @property
    def scenario(self) -> Path:
        """The path of the scenario."""
        return SCENARIOS / self.file


#: With the least timeout of a kernel of 250 ticks a second, an ingredient of that mode. Times are 25-fold, as
#: in figure 7. The constants are the same as in the control (deploy/linux/bpf/plus.h).
PLUS = Arm(
    "d2tcp_wait",
    set=(
        "transport.rto_min=8 ms",
        "transport.start=2",
        "transport.growth=1",
        "transport.growth_later=0.25",
        "transport.floor_most=4",
        "transport.hold_share=0.7",
        "transport.hold_power=4",
        "transport.guard=0.5",
        "transport.guard_share=0.25",
        "transport.floor_horizon=250 ms",
        "transport.hold_most=500 ms",
        "transport.guard_most=250 ms",
        "transport.hopeless_hold=2500 ms",
    ),
)
EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment(
            "urgent",
            "one urgent message among three relaxed ones: d2tcp against the same control without deadlines",
            "urgent.toml",
            (Arm("dctcp"), Arm("d2tcp")),
        ),
        Experiment(
            "fig06",
            "figure 6 of D2TCP at 1/21 of the rate: four flows with different deadlines",
            "fig06.toml",
            (Arm("dctcp"), Arm("d2tcp")),
        ),
        Experiment(
            "fig07",
            "figure 7 of D2TCP at 1/50 of the rate: fan-in 20 to 40 beside two long flows",
            "fig07.toml",
            (Arm("dctcp"), Arm("d2tcp")),
        ),
        Experiment(
            "urgent-plus",
            "urgent, the control's mode plus against its mode d2tcp",
            "urgent.toml",
            (Arm("d2tcp"), PLUS),
        ),
        Experiment(
            "fig07-plus",
            "fig07 at one fan-in, the control's mode plus against its mode d2tcp",
            "fig07.toml",
            (Arm("d2tcp"), PLUS),
        ),
        Experiment(
            "coexistence",
            "d2tcp beside cubic and reno on one link",
            "coexistence.toml",
            (Arm("d2tcp"),),
        ),
        Experiment(
            "greedy",
            "a message that can never be in time among three plain flows, with and without a budget",
            "greedy.toml",
            (
                Arm("d2tcp", label="d2tcp without a budget"),
                Arm("d2tcp", Options(user_urgency=""), simulated=False, label="d2tcp with a budget"),
            ),
        ),
        Experiment(
            "pipeline",
            "a hurried message behind a relaxed one on one connection: with the truth and in silence",
            "pipeline.toml",
            (Arm("dctcp"), Arm("d2tcp")),
        ),
        Experiment(
            "ecn-refused",
            "the urgent message to a receiver that refuses ECN: it fares as under Reno",
            "urgent.toml",
            (
                Arm("tcp"),
                Arm("d2tcp", Options(refuse_ecn=True), simulated=False, label="d2tcp refused"),
            ),
        ),
        Experiment(
            "ipv6",
            "the urgent message over IPv6",
            "urgent.toml",
            (Arm("dctcp", Options(ipv6=True)), Arm("d2tcp", Options(ipv6=True))),
        ),
    )
}


def carry_out(
    source: scenario.Source,
    arms: tuple[Arm, ...],
    *,
    seeds: int | None = None,
    seed: int | None = None,
    set: scenario.Changes | None = None,
    advanced: Callable[[str], None] | None = None,
) -> Comparison[Result]:
    """Run a scenario under each arm, real and simulated, and compare all of them.

    Each is run `seeds` times, with seeds counted up; `advanced` is called for each run that begins. The arms
    take turns, so that a machine that becomes slower affects all of them.
    """
    first = seed if seed is not None else _seed(source, set, arms[0].transport)
    results: dict[str, list[Result]] = {}
    for number in range(first, first + (seeds or 1)):
        for arm in arms:
            if advanced is not None:
                advanced(f"{arm.name}, seed {number}")
            simulated, real = beside(
                source,
                seed=number,
                set=[*scenario.changes(set), *arm.set],
                transport=arm.transport,
                options=arm.options,
            )
            results.setdefault(f"{arm.name} real", []).append(real)
            if arm.simulated:
                results.setdefault(f"{arm.name} simulated", []).append(simulated)
    return Comparison(results, seeds, interrupted=False)


def _seed(source: scenario.Source, changes: scenario.Changes | None, transport: str) -> int:
    resolved, _ = check(source, set=changes, transport=transport)
    return int(resolved["run"]["seed"])
