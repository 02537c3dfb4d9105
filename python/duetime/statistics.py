"""From the results of several seeds to means and paired differences with their 95 % confidence intervals.

Seeds are independent runs, messages of one run are not. The independent draw is the seed, so every interval
rests on one value for each seed (Student's t, with one degree of freedom less than there are seeds).

- A share in percent is bounded. Its interval is made on the scale of log(p / (1 - p)) and turned back. So it
  stays within 0 and 100 and leans to the side where there is room. (Dean and Pagano, "Evaluating confidence
  interval methods for binomial proportions in clustered surveys", J. Survey Statistics and Methodology 3,
  2015.)
- Where a share is small and misses occur in bursts, the spread between few seeds is itself uncertain, and
  seeds that saw few bursts show too little of it. The end of the interval with more room then has fewer
  degrees of freedom (Satterthwaite, "An approximate distribution of estimates of variance components",
  Biometrics Bulletin 2, 1946).
- Where no event was seen in N trials, the share is below 1 - 0.05^(1/N), about 3/N, with 95 % confidence.
  This holds if trials are independent of each other ("rule of three": Hanley and Lippman-Hand, JAMA 249,
  1983).
- Two transports see the same traffic with the same seed, so their difference is taken seed by seed. Its
  interval is the hull of Student's and of Hall's, which leans to where the tail is ("On the removal of
  skewness by transformation", J. Royal Statistical Society B 54, 1992).
- Where few seeds saw a miss, or a difference, no such interval holds: those without too few of them are too
  short. With less than `MIN_EVENTS` independent events behind the seeds that differ there is none, and
  `seeds` says how many would do. `bench/intervals.py` tries all this.
- A message that had not arrived when a run ended (`at_least`) leaves a figure unknown, and so its mean and
  differences.
- A figure computed from the means of several transports has the interval of the jackknife over the seeds.
- One value has no interval, and neither have several that are all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from duetime.contract.runs import Mean, Merged, Run, Unknown

#: Where an object has lower bounds of its figures that are not known.
BOUNDS: Final = "at_least"
#: Keys that name a run or its parts and are no measurements.
NAMES = {"title", "transport", "seed", "src", "dst", "side", "method", "reason", "kernel", "stragglers"}
#: With fewer seeds an interval is wide and leans on the assumption that seeds differ normally.
FEW_SEEDS = 5
#: So many independent events a difference or a share rests on at least; with fewer its interval covers too
#: little.
MIN_EVENTS = 10.0
#: Up to so many seeds cannot show that many events: all of them must differ.
ALL_MUST_DIFFER = 4
#: Figures that two equal runs do not share.
WALL_CLOCK = ("wall_s",)
#: Of how many independent trials a share is one, as far as that is counted, by the keys beside it. Misses are
#: correlated, so that messages are none; answers to one query share its fate, and queries are;
#: so do the messages of a request, and requests are.
TRIALS = {
    "missed_percent": ("queries",),
    "complete_queries_percent": ("queries",),
    "inverted_flows_percent": ("flows",),
    "attainment_percent": ("judged",),
    "all_goals_percent": ("with_goals", "-undecided"),
    **{
        f"{name}_percent": ("requests",)
        for name in ("denied", "inverted", "overtaken", "displaceable", "refused", "passed_over")
    },
}


def over_seeds(objects: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Put objects of the JSON contract, one for each seed, into one.

    Each number becomes ``{"mean", "ci95": [low, high], "values": [one for each seed]}``; null where no seed
    has one. ``seeds`` lists the seeds, ``seed`` is the first of them; ``seeds_differ`` is false where all of
    several seeds gave the same, which leaves nothing to be said by an interval.
    """
    merged: dict[str, object] = {}
    differ = seeds_differ(objects)
    for key, value in objects[0].items():
        if key == "seed":
            merged["seed"] = value
            merged["seeds"] = [each["seed"] for each in objects]
            merged["seeds_differ"] = differ
        else:
            merged[key] = _merge(key, [each.get(key) for each in objects], list(objects), differ=differ)
    return merged


def merged_runs(runs: Sequence[Run[int, float]]) -> Merged:
    """Return the runs of one transport, one for each seed, as one object (`over_seeds`)."""
    return cast("Merged", over_seeds(with_trims(runs)))


def with_trims(runs: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return the runs with `trims` in all if it is in any: a run without trimmed packets leaves it out."""
    return (
        [{**run, "trims": run.get("trims", 0)} for run in runs]
        if any("trims" in run for run in runs)
        else [*runs]
    )


def seeds_differ(objects: Sequence[Mapping[str, object]]) -> bool:
    """Return whether the results of several seeds differ in anything; true of one."""
    apart = {"seed", *WALL_CLOCK}
    told = [{key: value for key, value in each.items() if key not in apart} for each in objects]
    return len(told) < 2 or any(each != told[0] for each in told)


def paired(
    objects: Sequence[Mapping[str, object]], others: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """Take each number of `others` from that of `objects`, seed by seed, and put the seeds into one.

    Both have one object for each seed, in the same order; the numbers become what `over_seeds` makes of them.
    """
    return {
        key: _paired([each.get(key) for each in objects], [each.get(key) for each in others])
        for key, value in objects[0].items()
        if key not in NAMES and isinstance(value, Mapping | int | float | None)
    }


def estimate(values: Sequence[float | None]) -> Mean | None:
    """Mean and 95 % confidence interval (Student's t) of the values that are there."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    mean = math.fsum(present) / len(present)
    half = half_width(present)
    return {
        "mean": mean,
        "ci95": [None, None] if half is None else [mean - half, mean + half],
        "values": list(values),
    }


def difference(values: Sequence[float | None]) -> Mean | None:
    """Return mean and 95 % confidence interval of differences, one for each seed; missing ones are left out.

    Where too few seeds differ there is no interval, and ``seeds`` says about how many would do.
    """
    present = [value for value in values if value is not None]
    if not present:
        return None
    mean = math.fsum(present) / len(present)
    found: Mean = {"mean": mean, "ci95": [None, None], "values": list(values)}
    ends = interval(present)
    if ends is not None:
        return {**found, "ci95": [*ends]}
    # Where all are the same more seeds may show the same.
    needed = None if standard_error(present) is None else seeds_needed(present)
    return found if needed is None else {**found, "seeds": needed}


def interval(values: Sequence[float], confidence: float = 0.95) -> list[float] | None:
    """Return the ends of the confidence interval of the mean of differences.

    None where too few of them are other than zero, or all are the same.
    """
    error = standard_error(values)
    if error is None or seeds_needed(values) is not None:
        return None
    n, mean = len(values), math.fsum(values) / len(values)
    reach = t_quantile(n - 1, confidence)
    # As n grows both become the same; with few events one of them is too short at either side.
    low, high = (_hall(values, mean, error, u) for u in (reach, -reach))
    return [min(mean - reach * error, low), max(mean + reach * error, high)]


def seeds_needed(values: Sequence[float], same: float = 0.0) -> int | None:
    """Return about how many seeds it takes for an interval of the mean; none where there are enough.

    Values other than `same` are due to events. These are taken for independent (Poisson): where a share q of
    n seeds saw none there were about -n log q. Where all saw some, q is taken for half a seed's share.
    """
    n = len(values)
    apart = sum(value != same for value in values)
    if n < 2 or (n <= ALL_MUST_DIFFER and apart == n):
        return None
    events = -n * math.log(max(n - apart, 0.5) / n)
    if events >= MIN_EVENTS:
        return None
    # Where none was seen there may have been one.
    needed = math.ceil(MIN_EVENTS * n / max(events, 1.0))
    return _rounded_up(max(needed, n + 1))


def _rounded_up(whole: int) -> int:
    """Round up to two digits."""
    unit: int = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // unit) * unit


def _hall(values: Sequence[float], mean: float, error: float, reach: float) -> float:
    """Return an end of Hall's interval: his cubic of the studentized mean, inverted."""
    n = len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / n
    skew = math.fsum((value - mean) ** 3 for value in values) / n / variance**1.5
    root = math.sqrt(n)
    if abs(skew) < 1e-6:
        return mean - reach * error
    cubed = 1 + skew * (reach / root - skew / (6 * n))
    return float(mean - error * root * 3 / skew * (math.copysign(abs(cubed) ** (1 / 3), cubed) - 1))


def of_figure(
    name: str, values: Sequence[float | None], trials: Sequence[float] = (), *, always: bool = False
) -> Mean | None:
    """Return `share` of figures that are shares, by their name, and `estimate` of others."""
    return share(values, trials, always=always) if _is_share(name, values) else estimate(values)


def seeds_of_share(name: str, values: Sequence[float | None]) -> int | None:
    """Return about how many seeds an interval of a share takes; None where there are enough.

    Other figures than shares have none. A share that is 0, or 100, with every seed counts as too few events.
    """
    present = [value for value in values if value is not None]
    if not present or not _is_share(name, values):
        return None
    return seeds_needed(present, 0.0 if sum(present) < 50 * len(present) else 100.0)


def _is_share(name: str, values: Sequence[float | None]) -> bool:
    return name.endswith("_percent") and all(value is None or 0 <= value <= 100 for value in values)


def share(
    percents: Sequence[float | None], trials: Sequence[float] = (), *, always: bool = False
) -> Mean | None:
    """Return mean and 95 % confidence interval of a share in percent, which is between 0 and 100.

    `trials`, of how many independent ones each is the share, say how far one of 0 or 100 is from being
    certain. Where few seeds are other than 0 (or 100) there is no interval, unless it is wanted `always`, and
    ``seeds`` says about how many would do.
    """
    found = estimate(percents)
    if found is None:
        return None
    mean = found["mean"] / 100
    if not 0 < mean < 1:
        many = sum(value is not None for value in percents) > 1 and sum(trials) > 0
        rest = 100 * max_unseen(sum(trials)) if many else None
        ends = [0.0, rest] if mean <= 0 else [None if rest is None else 100 - rest, 100.0]
        return {**found, "ci95": [None, None] if rest is None else ends}
    present = [value / 100 for value in percents if value is not None]
    error = standard_error(present)
    if error is not None:
        corner = 0.0 if mean < 0.5 else 1.0
        needed = None if always else seeds_needed(present, corner)
        if needed is not None:
            return {**found, "ci95": [None, None], "seeds": needed}
        middle, scaled = math.log(mean / (1 - mean)), error / (mean * (1 - mean))
        near = t_quantile(len(present) - 1) * scaled
        far = t_quantile(degrees_of_rare(len(present), mean, error)) * scaled
        below, above = (near, far) if mean < 0.5 else (far, near)
        low, high = _logistic(middle - below), _logistic(middle + above)
        if not always:
            # Of all samples of seeds, only the ones that saw a rare event often get an interval at all.
            straight = t_quantile(len(present) - 1) * error
            low, high = max(0.0, min(low, mean - straight)), min(1.0, max(high, mean + straight))
        found["ci95"] = [100 * low, 100 * high]
    return found


def degrees_of_rare(n: int, mean: float, error: float) -> float:
    """Return degrees of freedom of the standard error of the mean of `n` shares, from 2 to n - 1.

    The variance of a variance follows from the excess kurtosis (Satterthwaite: 2 / degrees = kurtosis / n + 2
    / (n - 1)). For misses in independent bursts of exponential size the kurtosis is three times the squared
    coefficient of variation; towards one half, where a share leans to neither side, it fades. Where less than
    2 degrees would be left, the seeds saw one or two bursts, and no interval can be relied on.
    """
    rest = min(mean, 1 - mean)
    kurtosis = 3 * (1 - 2 * rest) * n * (error / rest) ** 2
    return min(n - 1, max(2.0, 2 / (kurtosis / n + 2 / (n - 1))))


def jackknife(whole: float, without: Sequence[float]) -> list[float] | None:
    """Return the 95 % interval of a figure of all seeds, from its values without each of them in turn.

    It serves any smooth function of means over seeds, as a ratio of two, and accounts for correlations
    within a seed. (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 11.) None where no
    seed matters.
    """
    half = half_width(_pseudo_values(whole, without))
    return None if half is None else [whole - half, whole + half]


def jackknife_seeds(whole: float, without: Sequence[float]) -> int | None:
    """Return about how many seeds an interval of the jackknife takes; None where there are enough.

    A seed without events leaves a ratio of means as it is, and adds nothing to a sum or a difference.
    """
    pseudo = _pseudo_values(whole, without)
    least = 1e-9 * max((abs(value) for value in (whole, *pseudo)), default=0.0)
    return seeds_needed([float(min(abs(value), abs(value - whole)) > least) for value in pseudo])


def _pseudo_values(whole: float, without: Sequence[float]) -> list[float]:
    n = len(without)
    return [n * whole - (n - 1) * each for each in without]


def max_unseen(trials: float) -> float:
    """Return the upper limit of a share, with 95 % confidence, if this number of trials saw no event."""
    return float(-math.expm1(math.log(0.05) / trials))


def half_width(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Half of the interval of the mean; none of one value, or of several that are all the same."""
    error = standard_error(values)
    return None if error is None else t_quantile(len(values) - 1, confidence) * error


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of the mean; none of one value, or of several that are all the same."""
    n = len(values)
    if n < 2 or all(value == values[0] for value in values):
        return None
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return math.sqrt(variance / n)


def t_quantile(degrees: float, confidence: float = 0.95) -> float:
    """Return the t for which Student's t is between -t and t with this probability.

    Between whole degrees of freedom it is interpolated, and from 2 on too large by 1 % at most.
    """
    whole = int(degrees)
    low, high = _t_quantile(whole, confidence), _t_quantile(whole + 1, confidence)
    part = (1 / whole - 1 / degrees) * whole * (whole + 1)
    return math.exp((1 - part) * math.log(low) + part * math.log(high)) if part else low


@cache
def _t_quantile(degrees: int, confidence: float) -> float:
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        if _within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return high


def trials(figure: str, beside: Sequence[object]) -> list[float]:
    """Return the number of trials of each seed's share, from the objects beside it; 0: not counted."""
    parts = [part for part in beside if isinstance(part, Mapping)]
    signs = [(-1 if name.startswith("-") else 1, name.removeprefix("-")) for name in TRIALS.get(figure, ())]
    return [sum(sign * (_number(part.get(name)) or 0) for sign, name in signs) for part in parts]


def _merge(key: str, values: Sequence[object], beside: Sequence[object], *, differ: bool) -> object:
    first = values[0]
    parts = [value for value in values if isinstance(value, dict)]
    if parts:
        of_shares = key.endswith("_percent")
        return {
            k: _unknown(column, bounds)
            if any(bound is not None for bound in bounds)
            else _merge(f"{k}_percent" if of_shares else k, column, parts, differ=differ)
            for k, column, bounds in _columns(values)
        }
    if key in NAMES:
        return first if all(value == first for value in values) else values
    found = of_figure(key, _numbers(values), trials(key, beside))
    return found if differ or found is None else {**found, "ci95": [None, None]}


def _columns(values: Sequence[object]) -> list[tuple[str, list[object], list[object]]]:
    """Return each key of the objects of several seeds, its value in each, and its lower bound in each.

    Where a seed has no such object (no queue, say), it has no values in it either.
    """
    parts: list[Mapping[str, object]] = [value if isinstance(value, Mapping) else {} for value in values]
    names = [name for part in parts for name in part if name != BOUNDS]
    bounds = [_object(part.get(BOUNDS)) for part in parts]
    return [
        (name, [part.get(name) for part in parts], [bound.get(name) for bound in bounds])
        for name in dict.fromkeys(names)
    ]


def _unknown(values: Sequence[object], bounds: Sequence[object]) -> Unknown:
    """Return a figure that some seeds know a lower bound of only: its mean has one too."""
    known = [bound if value is None else value for value, bound in zip(values, bounds, strict=True)]
    present = [value for value in _numbers(known) if value is not None]
    return {
        "mean": None,
        "ci95": [None, None],
        "values": _numbers(values),
        BOUNDS: math.fsum(present) / len(present),
    }


def _paired(values: Sequence[object], others: Sequence[object]) -> object:
    if any(isinstance(value, Mapping) for value in (*values, *others)):
        ours, theirs = _columns(values), {name: columns for name, *columns in _columns(others)}
        nothing: list[list[object]] = [[None] * len(others)] * 2
        found: dict[str, object] = {}
        for name, column, bounds in ours:
            other, other_bounds = theirs.get(name, nothing)
            if name in NAMES:
                continue
            censored = [bound is not None for bound in (*bounds, *other_bounds)]
            found[name] = _of_unknown(column, other) if any(censored) else _paired(column, other)
        return found
    return difference(_subtracted(values, others))


def _of_unknown(values: Sequence[object], others: Sequence[object]) -> Unknown:
    """Return the difference of a figure that is not known in every seed: unknown as well."""
    return {"mean": None, "ci95": [None, None], "values": _subtracted(values, others)}


def _subtracted(values: Sequence[object], others: Sequence[object]) -> list[float | None]:
    numbers = int | float
    return [
        a - b if isinstance(a, numbers) and isinstance(b, numbers) else None
        for a, b in zip(values, others, strict=True)
    ]


def _numbers(values: Sequence[object]) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: object) -> float | None:
    assert value is None or isinstance(value, int | float), f"{value!r} is no figure"
    return value


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _within(t: float, degrees: int) -> float:
    """Return the probability that Student's t is within +-`t` (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    theta = math.atan(t / math.sqrt(degrees))
    cos, term, total = math.cos(theta), 1.0, 0.0
    if degrees % 2:
        term = cos
        for j in range(3, degrees + 1, 2):
            total += term
            term *= cos * cos * (j - 1) / j
        return 2 / math.pi * (theta + math.sin(theta) * total)
    for j in range(2, degrees + 1, 2):
        total += term
        term *= cos * cos * (j - 1) / j
    return math.sin(theta) * total
