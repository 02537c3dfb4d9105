"""The reach of a conclusion: a scenario over the settings that its description leaves open.

A paper names its network and its traffic. It leaves open how answers are spread in time, the first window,
its floor, the timeout's, the stack and its recovery. It also leaves open how a switch shares its buffer, how
ACKs are sent and the order of simultaneous packets. Each of them is a `Dimension`; a variant takes another
value in one of them, or in two drawn at random.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from duetime import _core, errors, files, scenario
from duetime import transports as selection
from duetime.contract.figures import at, bound_at
from duetime.engine.points import Kept, Point, run_points
from duetime.run import resolve, resolve_each
from duetime.statistics import BOUNDS

if TYPE_CHECKING:
    from duetime.contract import variants as contract
    from duetime.contract.runs import Run
    from duetime.contract.scenarios import Resolved
    from duetime.plots import Picture


@dataclass(frozen=True)
class Dimension:
    """Something that descriptions leave open."""

    name: str
    #: Why it is open, and where the values are from.
    source: str
    #: The values, in order where they have one.
    values: tuple[str, ...]
    #: The changes that set a value in a scenario; none where the scenario has no such thing.
    changes: Callable[[Resolved, str], tuple[str, ...]]
    #: Whether the values grow.
    ordered: bool = True


@dataclass(frozen=True)
class Choice:
    """A value of a dimension."""

    dimension: str
    value: str
    changes: tuple[str, ...]

    @property
    def words(self) -> str:
        """The dimension and the value, for people."""
        return f"{self.dimension} {self.value}"


@dataclass(frozen=True)
class Variant:
    """A scenario with other values in one dimension or two; as written with none."""

    choices: tuple[Choice, ...]

    @property
    def changes(self) -> tuple[str, ...]:
        """As ``--set`` takes them."""
        return tuple(
            itertools.chain(*(choice.changes for choice in self.choices if choice.dimension != SEED))
        )

    @property
    def words(self) -> str:
        """The changed dimensions and their values, for people."""
        return ", ".join(choice.words for choice in self.choices) or "as written"

    def seed(self, written: int) -> int:
        """The seed that it runs with."""
        found = [int(choice.value) for choice in self.choices if choice.dimension == SEED]
        return found[0] if found else written


SEED = "seed"


def _of_fan_ins(key: str) -> Callable[[Resolved, str], tuple[str, ...]]:
    def changes(resolved: Resolved, value: str) -> tuple[str, ...]:
        names = [each["name"] for each in resolved["traffic"] if each["pattern"] == "fan-in"]
        return tuple(f"traffic.{name}.{key}={value}" for name in names)

    return changes


def _phase(resolved: Resolved, value: str) -> tuple[str, ...]:
    """Spread the starts of traffic that begins at regular times."""
    found = []
    for each in resolved["traffic"]:
        if "start" not in each or each["pattern"] not in ("fan-in", "long", "periodic"):
            continue
        if each["pattern"] == "fan-in" and each["parents"] == 1:
            continue
        counter = "parent" if each["pattern"] == "fan-in" else "index"
        found.append(f"traffic.{each['name']}.start={counter} * {value}")
    return tuple(found)


def _of_transport(key: str) -> Callable[[Resolved, str], tuple[str, ...]]:
    def changes(resolved: Resolved, value: str) -> tuple[str, ...]:
        return (f"transport.{key}={value}",) if "transport" in resolved else ()

    return changes


def _each_of_transport(values: Mapping[str, str]) -> Callable[[Resolved], tuple[str, ...]]:
    return lambda resolved: tuple(
        change for key, value in values.items() for change in _of_transport(key)(resolved, value)
    )


#: Ways to find losses, and the keys that select them.
RECOVERIES = {
    "newreno": {"recovery": "newreno", "loss_detection": "dupacks", "tlp": "false"},
    "sack": {"recovery": "sack", "loss_detection": "dupacks", "tlp": "false"},
    "rack": {"recovery": "sack", "loss_detection": "rack"},
}
#: Ways to acknowledge, and the keys that select them.
ACKS = {
    "each": {"ack_every": "1"},
    "every 2nd, 1 ms": {"ack_every": "2", "ack_delay": "1 ms"},
    "every 2nd, 40 ms": {"ack_every": "2", "ack_delay": "40 ms"},
}


def _of_network(key: str) -> Callable[[Resolved, str], tuple[str, ...]]:
    return lambda _, value: (f"network.{key}={value}",)


#: The varied dimensions, in this order.
DIMENSIONS = (
    Dimension(
        "answer jitter",
        "D2TCP 2.2 wants answers spread without saying how far; applications add up to some milliseconds",
        ("0 us", "10 us", "50 us", "200 us", "1 ms"),
        lambda resolved, value: _of_fan_ins("jitter")(
            resolved, "0 us" if value == "0 us" else f"uniform(0 us, {value})"
        ),
    ),
    Dimension(
        "phase",
        "whether what repeats begins together; the papers do not say",
        ("0 us", "100 us", "1 ms"),
        _phase,
    ),
    Dimension(
        "initial window",
        "1 to 3 segments in 2012 (RFC 3390), 10 today (RFC 6928)",
        ("1", "3", "10"),
        _of_transport("initial_window"),
    ),
    Dimension(
        "window floor",
        "1 segment in the papers' simulators, 2 in Linux (RFC 5681 eq. 4)",
        ("1", "2"),
        _of_transport("cwnd_floor"),
    ),
    Dimension(
        "RTO floor",
        "1 ms (Vasudevan 2009), 10 and 20 ms in the papers, 200 ms in Linux",
        ("1 ms", "10 ms", "20 ms", "200 ms"),
        _of_transport("rto_min"),
    ),
    Dimension(
        "buffer sharing",
        "the papers give a size and not how ports share it",
        ("dynamic", "static", "per-port"),
        _of_network("sharing"),
        ordered=False,
    ),
    Dimension(
        "profile",
        "which stack: the kernel with timers of a datacenter or as installed, or the papers' simulators",
        ("datacenter", "linux", "classic"),
        lambda _, value: (f"profile={value}",),
        ordered=False,
    ),
    Dimension(
        "recovery",
        "NewReno in ns-3 of 2011 (RFC 6582), SACK (RFC 6675), RACK in today's Linux (RFC 8985)",
        tuple(RECOVERIES),
        lambda resolved, value: _each_of_transport(RECOVERIES[value])(resolved),
        ordered=False,
    ),
    Dimension(
        "initial RTO",
        "open in the papers; 1 s in RFC 6298 and Linux",
        ("1 ms", "10 ms", "20 ms", "200 ms", "1 s"),
        _of_transport("rto_initial"),
    ),
    Dimension(
        "delayed ACKs",
        "an ACK for each segment or every second (RFC 5681 4.2); held back by 40 ms at most in Linux",
        tuple(ACKS),
        lambda resolved, value: _each_of_transport(ACKS[value])(resolved),
        ordered=False,
    ),
    Dimension(
        "host queue",
        "unlimited in ns-2; bounded, and served in turn by fq, in Linux",
        ("fair", "fifo", "unlimited"),
        _of_network("host_queue"),
        ordered=False,
    ),
    Dimension(
        "host jitter",
        "how evenly hosts send; ns-2's overhead_ and real hosts differ",
        ("0 us", "1 us", "10 us"),
        _of_network("host_jitter"),
    ),
    Dimension(SEED, "chance", ("+1", "+2", "+3", "+4"), lambda _, __: ("seed",), ordered=False),
)

#: As many variants as are run unless one says otherwise.
VARIANTS = 48


@dataclass(frozen=True)
class Measure:
    """The figure that decides which transport is better."""

    name: str
    unit: str
    path: tuple[str, ...]
    less_is_better: bool
    #: Differences below this, or this share of the larger value, count as equal.
    least: float
    least_share: float

    @property
    def margin(self) -> str:
        """The largest difference that counts as equal, in words."""
        share = f"within {100 * self.least_share:g} %"
        return f"{share} or {self.least:g} points" if self.least else share

    def of(self, result: Run[int, float]) -> float | None:
        """Look it up in a run's result."""
        found = at(result, self.path)
        return float(found) if isinstance(found, int | float) else None

    def bound(self, result: Run[int, float]) -> float | None:
        """Return its lower bound in a run's result that does not know it."""
        return bound_at(result, self.path)


#: The first that all runs have decides.
MEASURES = (
    Measure("missed deadlines", "%", ("summary", "missed_percent"), True, 0.1, 0.01),
    Measure("completion time (p99)", "us", ("summary", "fct_us", "p99"), True, 0.0, 0.01),
    Measure("goodput", "Mbit/s", ("summary", "goodput_mbps"), False, 0.0, 0.01),
)


@dataclass(frozen=True)
class Outcome:
    """A variant's value under each transport; none where a run failed, or ended before it was known."""

    variant: Variant
    values: dict[str, float | None]
    error: str | None
    #: Lower bounds of the values that are not known.
    at_least: dict[str, float] = field(default_factory=dict)

    def words(self, transport: str) -> str:
        """Format a transport's value for people."""
        value = self.values[transport]
        if value is not None:
            return f"{value:,.4g}"
        bound = self.at_least.get(transport)
        return "failed" if bound is None else f">= {bound:,.4g}"


@dataclass(frozen=True, repr=False)
class Robustness:
    """The results of all variants."""

    title: str
    transports: tuple[str, ...]
    measure: Measure
    #: The first is the scenario as written.
    outcomes: tuple[Outcome, ...]

    def __repr__(self) -> str:
        """Give the number of variants and the verdicts."""
        verdicts = " ".join(each.sentence for each in self.verdicts)
        return f"<Robustness of {self.title!r}: {len(self.outcomes)} variants. {verdicts}>"

    def _repr_html_(self) -> str:
        """Show the table of ``duetime robust`` in a notebook."""
        # Loaded late: it takes time to load, and only a notebook shows it.
        from duetime.display import grid
        from duetime.display import variants as display

        return grid.html(*display.table(self))

    def plot(self) -> Picture:
        """Draw every variant under each transport; `Missing` without matplotlib."""
        from duetime.plots import picture

        return picture(self._save)

    def _save(self, folder: Path) -> None:
        folder.mkdir()
        self._write(folder)

    def _write(self, folder: Path) -> None:
        record = json.dumps(self.record(), indent=1, ensure_ascii=False) + "\n"
        with files.sealing(folder, ["robust.json"]):
            files.write(folder / "robust.json", record.encode())

    def against(self, other: str) -> Verdict:
        """Compare the first transport with another."""
        return verdict(self, self.transports[0], other)

    @property
    def verdicts(self) -> list[Verdict]:
        """The first transport against each of the others."""
        return [self.against(other) for other in self.transports[1:]]

    def record(self) -> contract.Robustness:
        """Return the object of ``robust.json`` and of ``duetime robust --json``."""
        measure = {key: value for key, value in asdict(self.measure).items() if key != "path"}
        return {
            "version": _core.version(),
            "title": self.title,
            "transports": list(self.transports),
            "measure": cast("contract.Measure", measure),
            "verdicts": [each.record() for each in self.verdicts],
            "variants": [
                {
                    "choices": {choice.dimension: choice.value for choice in each.variant.choices},
                    "set": list(each.variant.changes),
                    "values": each.values,
                    BOUNDS: each.at_least,
                    "error": each.error,
                }
                for each in self.outcomes
            ],
        }


@dataclass(frozen=True)
class Verdict:
    """The better transport of two, and the variants where it is."""

    better: str
    other: str
    wins: int
    equal: int
    reversed: int
    failed: int
    #: Of the failed runs, the ones that ended before the compared figure was known.
    unknown: int
    #: How far apart two may be that count as equal, in words.
    margin: str
    #: Where it is reversed, in words: "answer jitter up to 50 us (3 of 3)".
    where: tuple[str, ...]

    def record(self) -> contract.Verdict:
        """Return its object in ``robust.json``."""
        return {
            "better": self.better,
            "other": self.other,
            "wins": self.wins,
            "equal": self.equal,
            "reversed": self.reversed,
            "failed": self.failed,
            "unknown": self.unknown,
            "margin": self.margin,
            "where": self.where,
            "sentence": self.sentence,
        }

    @property
    def variants(self) -> int:
        """The number of decided variants."""
        return self.wins + self.equal + self.reversed

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        parts = [f"{self.failed - self.unknown} failed"] if self.failed > self.unknown else []
        parts += [f"{self.unknown} not compared: messages were in flight at the end"] if self.unknown else []
        failed = f" ({'; '.join(parts)})" if parts else ""
        if self.equal and self.equal == self.variants:
            alike = f"{self.better} and {self.other} are indistinguishable"
            return f"{alike} ({self.margin}) in all {self.variants} variants" + failed
        text = f"{self.better} beats {self.other} in {self.wins} of {self.variants} variants"
        if self.equal:
            text += f", indistinguishable ({self.margin}) in {self.equal}"
        if self.reversed:
            text += f", reversed in {self.reversed}"
            text += f": where {'; '.join(self.where)}" if self.where else ""
        return text + failed


def verdict(found: Robustness, one: str, other: str) -> Verdict:
    """Compare two transports over all variants; the first is the winner as written, or else more often."""
    signs = [_sign(found.measure, each, one, other) for each in found.outcomes]
    leads = signs[0] or sum(sign or 0 for sign in signs)
    if leads < 0:
        one, other, signs = other, one, [None if sign is None else -sign for sign in signs]
    decided = [sign for sign in signs if sign is not None]
    return Verdict(
        one,
        other,
        decided.count(1),
        decided.count(0),
        decided.count(-1),
        signs.count(None),
        sum(each.error is None and None in (each.values[one], each.values[other]) for each in found.outcomes),
        found.measure.margin,
        tuple(_where(found.outcomes, signs)),
    )


def _sign(measure: Measure, outcome: Outcome, one: str, other: str) -> int | None:
    """1: the one is better, -1: the other, 0: indistinguishable; none where a run failed."""
    a, b = outcome.values[one], outcome.values[other]
    if a is None or b is None:
        return None
    if abs(a - b) <= max(measure.least, measure.least_share * max(abs(a), abs(b))):
        return 0
    return 1 if (a < b) == measure.less_is_better else -1


def _where(outcomes: Sequence[Outcome], signs: Sequence[int | None]) -> Iterator[str]:
    """Yield where it is reversed: values that reverse alone, then pairs that these do not explain."""
    alone = {
        each.variant.choices[0]: sign
        for each, sign in zip(outcomes, signs, strict=True)
        if len(each.variant.choices) == 1
    }
    guilty = {choice for choice, sign in alone.items() if sign == -1}
    names = {dimension.name: dimension for dimension in DIMENSIONS}
    for name, group in itertools.groupby(
        sorted(guilty, key=lambda choice: list(names).index(choice.dimension)),
        key=lambda choice: choice.dimension,
    ):
        values = {choice.value for choice in group}
        involved = [
            sign
            for each, sign in zip(outcomes, signs, strict=True)
            if any(choice.dimension == name and choice.value in values for choice in each.variant.choices)
        ]
        words = _range(names[name], values)
        yield f"{name} is {words} ({involved.count(-1)} of {len(involved)})"
    for each, sign in zip(outcomes, signs, strict=True):
        if sign == -1 and len(each.variant.choices) > 1 and not guilty & set(each.variant.choices):
            yield " with ".join(choice.words for choice in each.variant.choices)


def _range(dimension: Dimension, values: set[str]) -> str:
    """Write values of a dimension, as a range where they are all from one end of the tried values."""
    if not dimension.ordered:
        return " or ".join(sorted(values))
    inside = [value for value in dimension.values if value in values]
    if 1 < len(inside) < len(dimension.values):
        if inside == list(dimension.values[: len(inside)]):
            return f"{inside[-1]} or less"
        if inside == list(dimension.values[-len(inside) :]):
            return f"{inside[0]} or more"
    return " or ".join(inside)


def variants(
    resolved: Resolved, accepted: Callable[[Sequence[str]], bool], many: int = VARIANTS
) -> list[Variant]:
    """Return the scenario as written, each other value alone, and pairs of them drawn with its seed.

    `accepted` says whether changes make a valid scenario that differs from the one as written.
    """
    seed = int(resolved["run"]["seed"])
    choices = []
    for dimension in DIMENSIONS:
        for value in dimension.values:
            written = str(seed + int(value)) if dimension.name == SEED else value
            changes = dimension.changes(resolved, value)
            if not changes or (dimension.name != SEED and not accepted(changes)):
                continue
            choices.append(Choice(dimension.name, written, changes))
    found = [Variant(()), *(Variant((choice,)) for choice in choices)]
    pairs = [Variant((a, b)) for a, b in itertools.combinations(choices, 2) if a.dimension != b.dimension]
    random.Random(seed).shuffle(pairs)
    while len(found) < many and pairs:
        pair = pairs.pop()
        if accepted(pair.changes) or not pair.changes:
            found.append(pair)
    return found[:many]


def robust(
    source: scenario.Source,
    transports: Sequence[str],
    *,
    out: str | os.PathLike[str],
    set: scenario.Changes | None = None,
    seed: int | None = None,
    many: int = VARIANTS,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Robustness:
    """Run a scenario's variants under two transports or more, and say whose lead holds where.

    `source`, `set` and `seed` are the same as for `run`, and `progress` as for `compare`. Finished runs are
    kept in ``out/runs``, so that a call that was stopped resumes. `jobs`, `cluster` and the errors are the
    same as for `points.run_points` and `duetime.check`.
    """
    if len(transports) < 2 or len({*transports}) < len(transports):
        raise errors.Unreadable("name two different transports or more")
    folder, given = Path(out), tuple(scenario.changes(set))
    files.check_growing(folder, PARTS)
    read = scenario.read(source)
    named = selection.named(selection.located(transports, read.folder))
    transports = list(named.values())

    written = {name: found for name, (found, _) in resolve_each(read, seed, given, transports).items()}

    def accepted(changes: Sequence[str]) -> bool:
        try:
            return any(
                resolve(read, seed, [*given, *changes], name)[0] != written[name] for name in transports
            )
        except _core.ScenarioError:
            return False

    first = written[transports[0]]
    chosen = variants(first, accepted, many)
    number = int(first["run"]["seed"])
    points = [
        Point(read, (*given, *variant.changes), name, variant.seed(number))
        for variant in chosen
        for name in transports
    ]
    kept = run_points(points, store=folder / RUNS, jobs=jobs, cluster=cluster, progress=progress)
    measure = _measure(kept)
    each = len(transports)
    outcomes = tuple(
        _outcome(variant, measure, kept[i * each : (i + 1) * each]) for i, variant in enumerate(chosen)
    )
    found = Robustness(str(first["title"]), tuple(named), measure, outcomes)
    found._write(folder)
    return found


RUNS = "runs"
#: What a folder of ours holds.
PARTS = {RUNS, "robust.json", "robust.png", "robust.svg", "report.html"}


def _measure(kept: Sequence[Kept]) -> Measure:
    results = [each.run for each in kept if each.error is None]
    for measure in MEASURES:
        known = (measure.of(result) is not None or measure.bound(result) is not None for result in results)
        if results and all(known):
            return measure
    return MEASURES[-1]


def _outcome(variant: Variant, measure: Measure, kept: Sequence[Kept]) -> Outcome:
    errors = [f"{each.point.name}: {each.error}" for each in kept if each.error is not None]
    values = {str(each.point.name): measure.of(each.run) if each.error is None else None for each in kept}
    bounds = {str(each.point.name): measure.bound(each.run) for each in kept if each.error is None}
    at_least = {name: bound for name, bound in bounds.items() if bound is not None}
    return Outcome(variant, values, "; ".join(errors) or None, at_least)
