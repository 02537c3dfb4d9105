"""Means, intervals and differences over seeds."""

import importlib.util
import json
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from duetime.statistics import (
    degrees_of_rare,
    difference,
    estimate,
    interval,
    jackknife,
    jackknife_seeds,
    max_unseen,
    of_figure,
    over_seeds,
    paired,
    seeds_needed,
    seeds_of_share,
    share,
    t_quantile,
)
from duetime.verdict import verdicts

_SPEC = importlib.util.spec_from_file_location(
    "intervals", Path(__file__).parents[1] / "bench" / "intervals.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
intervals = importlib.util.module_from_spec(_SPEC)
# Data classes look for the module of their annotations here.
sys.modules["intervals"] = intervals
_SPEC.loader.exec_module(intervals)

#: The number of intervals of synthetic seeds, and three standard errors of their coverage.
REPETITIONS = 3000
CHANCE = 3 * 100 * math.sqrt(0.95 * 0.05 / REPETITIONS)


def coverage(mean: float, percents: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Percent of rows, each the shares of some seeds, with an interval; of those, whose holds the mean.

    Their mean is the true one.
    """
    covered = printed = 0
    for row in percents.tolist():
        found = share(row)
        assert found is not None
        low, high = found["ci95"]
        if low is None:
            assert found.get("seeds", len(row) + 1) > len(row)
            continue
        assert 0 <= low <= high <= 100
        printed += 1
        covered += low <= 100 * mean <= high
    return 100 * printed / len(percents), 100 * covered / max(printed, 1)


def clustered(seeds: int, mean: float, spread: float) -> npt.NDArray[np.float64]:
    """Shares of 1000 messages in runs whose own chance differs (beta, intra-class correlation `spread`)."""
    dice = np.random.default_rng(7)
    a, b = mean * (1 - spread) / spread, (1 - mean) * (1 - spread) / spread
    missed = dice.binomial(1000, dice.beta(a, b, (REPETITIONS, seeds)))
    return 100 * missed / 1000


def in_bursts(seeds: int, mean: float, size: float) -> npt.NDArray[np.float64]:
    """Shares of 10 000 messages of which bursts miss together, each a geometric number around `size`."""
    dice = np.random.default_rng(8)
    bursts = dice.poisson(10_000 * mean / size, (REPETITIONS, seeds))
    beyond = dice.negative_binomial(np.maximum(bursts, 1), 1 / size)
    missed = np.where(bursts > 0, bursts + beyond, 0)
    return 100 * np.minimum(missed, 10_000) / 10_000


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize(
    ("mean", "spread"),
    [(0.05, 0.0005), (0.05, 0.01), (0.2, 0.01), (0.2, 0.05), (0.5, 0.05), (0.5, 0.2), (0.9, 0.01)],
)
def test_an_interval_of_a_share_covers_what_it_says(seeds: int, mean: float, spread: float) -> None:
    """In 95 % of many repetitions, within 2 points beside three standard errors of their number."""
    printed, covered = coverage(mean, clustered(seeds, mean, spread))
    assert printed > 95
    assert abs(covered - 95) < 2 + CHANCE


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize(
    ("mean", "spread"),
    [(0.005, 0.001), (0.005, 0.01), (0.01, 0.01), (0.01, 0.05), (0.02, 0.02), (0.05, 0.05)],
)
def test_an_interval_of_rare_misses_that_cluster_covers_what_it_says_or_is_not_given(
    seeds: int, mean: float, spread: float
) -> None:
    """Without the rule for few events 28 to 97 %, as seeds without any tell nothing of those with many."""
    held(*coverage(mean, clustered(seeds, mean, spread)))


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize(("mean", "size"), [(0.001, 1), (0.001, 10), (0.005, 10), (0.01, 40), (0.05, 40)])
def test_an_interval_of_misses_in_bursts_covers_what_it_says_or_is_not_given(
    seeds: int, mean: float, size: float
) -> None:
    held(*coverage(mean, in_bursts(seeds, mean, size)))


def held(printed: float, covered: float) -> None:
    """Within 2 points; where few draws have an interval too much is the lesser fault, and chance is more."""
    if printed > 99.5:
        assert abs(covered - 95) < 2 + CHANCE
    elif printed > 2:
        assert covered > 93 - CHANCE * math.sqrt(100 / printed)
    assert printed * (100 - covered) / 100 < 5 + CHANCE


#: The trial of `bench/intervals.py`, reduced: three standard errors of the coverage are 2 points.
DRAWS = 1000


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize("name", sorted(intervals.tables()))
def test_an_interval_of_a_difference_covers_what_it_says_or_is_not_given(name: str, seeds: int) -> None:
    """Of recorded runs: Student's t alone covers 70 to 89 % where misses are rare."""
    one, other = intervals.tables()[name]
    apart = intervals.trial([b - a for a, b in zip(one, other, strict=True)], seeds, DRAWS)
    # Intervals of shares are wider where misses are rare.
    assert apart.covered is None or apart.printed <= 50 or apart.covered < 95 + 2 + 2
    for found in (apart, intervals.trial(one, seeds, DRAWS, shares=True)):
        assert found.wrong < 5 + 2 + 2
        if found.covered is not None and found.printed > 50:
            assert found.covered > 95 - 2 - 2


def test_few_seeds_that_differ_have_no_interval_and_say_how_many_would_do() -> None:
    """Of 20 seeds 4 differ: 20 log(20 / 16) = 4.46 events; 10 take 20 * 10 / 4.46 = 44.8 seeds."""
    found = difference([0.0] * 16 + [1.0, 2.0, -1.0, 2.0])
    assert found is not None
    assert (found["mean"], found["ci95"], found["seeds"]) == (0.2, [None, None], 45)
    # One of 3: 3 log(3 / 2) = 1.216, 24.7 seeds. None of 5: as if there had been one event, 50 seeds.
    assert seeds_needed([0.0, 0.0, 7.0]) == 25
    assert seeds_needed([0.0] * 5) == 50
    # 7 of 10 are 12 events, 6 are 9.2; all of 5 are 11.5; and all of 3 may be.
    assert seeds_needed([1.0] * 7 + [0.0] * 3) is None
    assert seeds_needed([1.0] * 6 + [0.0] * 4) == 11
    assert seeds_needed([1.0, 2.0, 3.0]) is None
    # All of 4, too, though that is 4 log 8 = 8.3 events. One of 2: 20 / (2 log 2) = 14.4 seeds.
    assert seeds_needed([1.0, 2.0, 3.0, 4.0]) is None
    assert seeds_needed([0.0, 7.0]) == 15
    assert seeds_needed([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert seeds_needed([1.0, 2.0, 3.0, 4.0, 0.0]) == 7
    # Of many they are told in two digits: one of 300 takes 2995.
    assert seeds_needed([1.0] + [0.0] * 299) == 3000
    assert share([0.0, 0.0, 7.0]) == {"mean": 7 / 3, "ci95": [None, None], "values": [0, 0, 7], "seeds": 25}
    mirrored = share([100.0, 100.0, 93.0])
    assert mirrored is not None
    assert (mirrored["ci95"], mirrored["seeds"]) == ([None, None], 25)


def test_the_interval_of_a_difference_by_hand() -> None:
    """1 to 5 have no skewness: Student's, 3 ± 2.77645 * sqrt(2.5 / 5)."""
    even = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert even == pytest.approx([3 - 1.96325, 3 + 1.96325], abs=1e-4)
    assert interval([101.0, 102.0, 103.0, 104.0, 105.0]) == pytest.approx(
        [103 - 1.96325, 103 + 1.96325], abs=1e-4
    )
    # 1, 1, 1, 1, 6: mean 2, s = sqrt(5), error 1, skewness 1.5. Hall's upper end: 1 + 1.5 (-2.77645 / sqrt(5)
    # - 0.05) = -0.93750, cube root -0.97872, and 2 - sqrt(5) * 2 * (-1.97872) = 10.849; below it is
    # Student's.
    leaning = interval([1.0, 1.0, 1.0, 1.0, 6.0])
    assert leaning == pytest.approx([2 - 2.77645, 10.849], abs=1e-3)
    mirrored = interval([-1.0, -1.0, -1.0, -1.0, -6.0])
    assert mirrored == pytest.approx([-10.849, -2 + 2.77645], abs=1e-3)
    assert interval([2.0, 2.0, 2.0]) is None
    assert interval([2.0]) is None


def test_degrees_of_freedom_by_hand() -> None:
    # Of 5 seeds, with a variance of half the mean squared: kurtosis 3 * 0.98 * 0.5, 2 / (1.47 / 5 + 2 / 4).
    assert degrees_of_rare(5, 0.01, 0.01 * math.sqrt(0.5 / 5)) == pytest.approx(2 / (0.294 + 0.5))
    # A share that hardly varies has all of them, one seen in one seed alone the least.
    assert degrees_of_rare(5, 0.2, 1e-6) == pytest.approx(4)
    assert degrees_of_rare(5, 0.01, 0.01) == 2
    assert degrees_of_rare(2, 0.01, 0.01) == 1
    # A share near one half leans to neither side.
    assert degrees_of_rare(5, 0.5, 0.1) == 4


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.30265), (2.5, 3.57465), (3.5, 2.94008), (9.5, 2.24413), (19, 2.09302)],
)
def test_quantiles_between_whole_degrees_of_freedom(degrees: float, quantile: float) -> None:
    assert (
        quantile * (1 - 1e-5)
        < t_quantile(degrees)
        < quantile * (1.00001 if degrees == int(degrees) else 1.01)
    )


def test_an_interval_of_a_difference_covers_what_it_says() -> None:
    dice, repetitions, covered = random.Random(3), 4000, 0
    for _ in range(repetitions):
        found = estimate([2.0 + dice.gauss(0, 1.5) for _ in range(5)])
        assert found is not None
        covered += found["ci95"][0] <= 2.0 <= found["ci95"][1]
    assert abs(100 * covered / repetitions - 95) < 1


def test_a_share_stays_between_0_and_100() -> None:
    """Student's t alone would give -1.0 to 4.2 for the first."""
    found = share([0.1, 0.2, 0.1, 2.5, 5.0])
    assert found is not None
    low, high = found["ci95"]
    assert 0 == low < 1.58 < 10 < high < 100
    mirrored = share([99.9, 99.8, 99.9, 97.5, 95.0])
    assert mirrored is not None
    assert mirrored["ci95"] == pytest.approx([100 - high, 100 - low])


def test_a_share_by_hand() -> None:
    # Mean 20, standard error 10/sqrt(3) = 5.7735, t = 4.3027: 24.84 points, 1.5526 on the scale of logits.
    found = share([10.0, 20.0, 30.0])
    assert found is not None
    logit, reach = math.log(0.2 / 0.8), 0.248417 / 0.16
    upper = 100 / (1 + math.exp(-(logit + reach)))
    # Below, 20 - 24.84 is less than nothing.
    assert found["ci95"] == pytest.approx([0, upper], rel=1e-4)
    # Of five: error sqrt(2.5/5) = 0.7071 of a mean of 3, kurtosis 3 * 0.94 * 2.5/9, and so 3.048 degrees of
    # freedom for the far end.
    found = share([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found is not None
    logit, error = math.log(0.03 / 0.97), 0.0070711 / (0.03 * 0.97)
    upper = 100 / (1 + math.exp(-(logit + t_quantile(3.0475) * error)))
    assert found["ci95"] == pytest.approx([3 - 2.77645 * 0.70711, upper], rel=1e-3)
    # A claim of an experiment is judged by the scale of logits alone.
    (lower, _) = share([1.0, 2.0, 3.0, 4.0, 5.0], always=True)["ci95"]  # type: ignore[index]
    assert lower == pytest.approx(100 / (1 + math.exp(-(logit - 2.77645 * error))), rel=1e-3)


def test_nothing_in_many_is_not_nothing_for_certain() -> None:
    assert 100 * max_unseen(17_000) == pytest.approx(300 / 17_000, rel=0.002)
    found = share([0.0, 0.0], [10_000, 7_000])
    assert found is not None
    assert (found["mean"], found["ci95"][0]) == (0.0, 0.0)
    assert found["ci95"][1] == pytest.approx(0.01762, abs=1e-5)
    all_missed = share([100.0, 100.0], [10_000, 7_000])
    assert all_missed is not None
    assert all_missed["ci95"] == [pytest.approx(100 - 0.01762, abs=1e-5), 100.0]
    # Of how many is not known: nothing can be said.
    assert share([0.0, 0.0]) == {"mean": 0.0, "ci95": [None, None], "values": [0.0, 0.0]}
    # One seed has no interval, whatever it counts.
    alone = share([0.0], [1000])
    assert alone is not None
    assert alone["ci95"] == [None, None]


def run(seed: int, missed: int, fct: float, queries: int = 50) -> dict[str, Any]:
    summary = {"with_deadline": 1000, "undecided": 0, "missed": missed, "missed_percent": missed / 10}
    summary |= {"queries": queries}
    return {"seed": seed, "wall_s": seed / 10, "summary": {**summary, "fct_us": {"p99": fct}}}


def test_the_trials_of_a_share_stand_beside_it() -> None:
    merged = over_seeds([run(1, 0, 5.0), run(2, 0, 6.0)])
    # Answers to one query share its fate: 1 - 0.05^(1/100), of 100 queries and not of 2000 messages.
    assert merged["summary"]["missed_percent"]["ci95"] == [0.0, pytest.approx(2.951, abs=1e-3)]
    assert merged["seeds_differ"] is True
    # Where messages are not part of queries it is not known how many of them share one fate.
    merged = over_seeds([run(1, 0, 5.0, 0), run(2, 0, 6.0, 0)])
    assert merged["summary"]["missed_percent"]["ci95"] == [None, None]


def test_one_value_and_equal_values_have_no_interval() -> None:
    for values in ([4.0], [4.0, 4.0, 4.0]):
        for found in (estimate(values), share(values)):
            assert found is not None
            assert (found["mean"], found["ci95"]) == (4.0, [None, None])


def test_seeds_that_change_nothing_are_told() -> None:
    merged = over_seeds([run(seed, 0, 5.0) for seed in range(10)])
    assert merged["seeds_differ"] is False
    assert merged["summary"]["missed_percent"]["ci95"] == [None, None], "ten times the same run is one run"


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    values = [3.0, 4.5, 1.0, 7.0, 2.5]
    without = [(sum(values) - each) / 4 for each in values]
    found = estimate(values)
    assert found is not None
    assert jackknife(found["mean"], without) == pytest.approx(found["ci95"])
    assert jackknife(2.0, [2.0, 2.0, 2.0]) is None


def test_the_jackknife_of_a_ratio_sees_what_seeds_share() -> None:
    """Both double from seed to seed, their ratio hardly moves."""
    one, other = [1.0, 2.0, 4.0, 8.0], [2.1, 3.9, 8.2, 15.9]

    def gain(a: list[float], b: list[float]) -> float:
        return 100 * (1 - sum(a) / sum(b))

    without = [gain(one[:i] + one[i + 1 :], other[:i] + other[i + 1 :]) for i in range(4)]
    found = jackknife(gain(one, other), without)
    assert found is not None
    assert 45 < found[0] < gain(one, other) < found[1] < 55


def test_figures_that_are_no_shares_are_not_bounded() -> None:
    found = of_figure("gain_percent", [-10.0, 0.0, 40.0])
    assert found is not None
    assert found["ci95"][0] < -10


def test_students_t() -> None:
    # Two-sided, from the usual tables.
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 10: 2.228, 30: 2.042, 120: 1.980}
    for degrees, quantile in table.items():
        assert t_quantile(degrees) == pytest.approx(quantile, abs=6e-4)
    assert t_quantile(4, 0.99) == pytest.approx(4.604, abs=6e-4)


#: Misses in percent of the issue's tutorial: the two intervals overlap, the difference is far from nothing.
TCP = [12.0, 14.1, 15.0, 16.2, 18.2]
DCTCP = [16.0, 19.0, 21.5, 21.0, 26.5]


def summaries(values: list[float]) -> list[dict[str, Any]]:
    return [{"summary": {"missed_percent": value}} for value in values]


def test_what_seeds_share_falls_out_of_a_difference() -> None:
    one, other = share(TCP), share(DCTCP)
    assert one is not None
    assert other is not None
    assert one["ci95"][1] > other["ci95"][0], "the intervals overlap"
    found = paired(summaries(DCTCP), summaries(TCP))["summary"]["missed_percent"]
    assert found["mean"] == pytest.approx(5.7)
    assert found["ci95"][0] > 3
    assert found["values"] == pytest.approx([4.0, 4.9, 6.5, 4.8, 8.3])


def judged(*columns: list[float], differ: bool = True) -> list[dict[str, Any]]:
    names = ["tcp", "dctcp", "d2tcp", "cubic"]
    runs = {name: summaries(values) for name, values in zip(names, columns, strict=False)}
    differences = {name: paired(runs[name], runs["tcp"]) for name in list(runs)[1:]}
    of_runs = {name: [each["summary"] for each in of_one] for name, of_one in runs.items()}
    return verdicts("tcp", of_runs, differences, seeds_differ=differ)


def test_a_verdict_says_who_is_better_and_by_how_much() -> None:
    (verdict,) = judged(TCP, DCTCP)
    assert verdict["better"] == "tcp"
    # Hall's end leans to 8.3, the largest of five.
    assert (
        verdict["sentence"] == "dctcp misses more than tcp, by 5.70 points, 3.57 to 9.23 (paired, 5 seeds)."
    )
    (turned,) = judged(DCTCP, TCP)
    assert turned["better"] == "dctcp"
    assert turned["sentence"].startswith("dctcp misses fewer than tcp")


def test_a_verdict_says_when_seeds_cannot_tell() -> None:
    (verdict,) = judged([10.0, 11.0, 12.0, 13.0, 14.0], [12.0, 9.0, 13.0, 11.0, 14.5])
    assert verdict["better"] is None
    assert verdict["sentence"] == (
        "dctcp and tcp are indistinguishable in missed deadlines: -0.1 points ± 2.33 (paired, 5 seeds); "
        "a difference of up to 2.50 points is not excluded."
    )
    (few,) = judged([10.0, 11.0], [12.0, 14.0])
    assert "Fewer than five seeds" in few["sentence"]
    (one,) = judged([10.0], [12.0])
    assert (one["better"], "Confirm with --seeds 5." in one["sentence"]) == (None, True)


def test_several_at_once_need_more_than_one_alone() -> None:
    """A difference of 2.9 to 3.9 standard errors convinces alone (t = 2.776), not as one of three (3.96)."""
    base = [10.0, 10.0, 10.0, 10.0, 10.0]
    barely = [10.2, 10.4, 11.4, 11.3, 11.2]
    (alone,) = judged(base, barely)
    assert alone["better"] == "tcp"
    first, *_ = judged(base, barely, base, base)
    assert first["better"] is None
    assert "not significant across 3 comparisons" in first["sentence"]


def test_too_few_misses_are_not_compared() -> None:
    (rare,) = judged([0.0, 3.0, 0.0, 0.0, 1.0], [0.0, 4.0, 0.0, 0.0, 1.0])
    assert rare["better"] is None
    assert rare["sentence"] == (
        "Too few misses to compare dctcp with tcp: they differ in 1 of 5 seeds, by +0.2 points on average; "
        "use --seeds 45."
    )
    assert rare["difference"]["ci95"] == [None, None]
    assert rare["difference"]["seeds"] == 45


def completed(values: list[float | None], bounds: list[float | None], left: int) -> list[dict[str, Any]]:
    parts = [
        {"p99": value, **({} if bound is None else {"at_least": {"p99": bound}})}
        for value, bound in zip(values, bounds, strict=True)
    ]
    return [{"summary": {"missed_percent": None, "fct_us": part, "censored": left}} for part in parts]


def test_completion_times_that_are_not_known_are_not_compared() -> None:
    ours, theirs = completed([None, 5.0], [9.0, None], 3), completed([2.0, 3.0], [None, None], 0)
    merged = over_seeds([{"seed": seed, **each} for seed, each in enumerate(ours)])["summary"]
    assert merged["fct_us"] == {
        "p99": {"mean": None, "ci95": [None, None], "values": [None, 5.0], "at_least": 7.0}
    }
    differences = {"cubic": paired(ours, theirs)}
    assert differences["cubic"]["summary"]["fct_us"]["p99"] == {
        "mean": None, "ci95": [None, None], "values": [None, 2.0]
    }  # fmt: skip
    summaries = {"cubic": [each["summary"] for each in ours], "dctcp": [each["summary"] for each in theirs]}
    (verdict,) = verdicts("dctcp", summaries, differences, seeds_differ=True)
    assert (verdict["better"], verdict["figure"]) == (None, "fct_us.p99")
    assert verdict["sentence"].startswith(
        "cubic and dctcp are not compared in p99 completion time: 6 and 0 messages had not arrived"
    )
    # Even where no seed knows any: goodput is no way round.
    none = completed([None], [9.0], 1)
    found = verdicts(
        "a",
        {"a": [none[0]["summary"]], "b": [none[0]["summary"]]},
        {"b": paired(none, none)},
        seeds_differ=True,
    )
    assert found[0]["figure"] == "fct_us.p99"


def test_misses_that_the_undecided_could_turn_are_not_compared() -> None:
    def of(missed: int, undecided: int) -> dict[str, Any]:
        share = 100 * missed / (100 - undecided)
        parts = {"with_deadline": 100, "missed": missed, "undecided": undecided, "missed_percent": share}
        return {"summary": parts}

    def found(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        summaries = {"a": [one["summary"]], "b": [other["summary"]]}
        return verdicts("a", summaries, {"b": paired([other], [one])}, seeds_differ=True)[0]

    # 10 to 15 against 14 of 100, and 10 to 13 against 14 of 100.
    assert "5 messages were undecided" in found(of(10, 5), of(14, 0))["sentence"]
    assert found(of(10, 3), of(14, 0))["sentence"].startswith(
        "With one seed, b misses 3.69 points more than a. Confirm"
    )


def test_what_does_not_differ_is_not_judged() -> None:
    (same,) = judged([3.0, 4.0], [3.0, 4.0])
    assert same["sentence"] == (
        "No difference between dctcp and tcp in missed deadlines with 2 seeds; other seeds may differ."
    )
    of_queries = [{"summary": {"missed_percent": 0.0, "queries": 100}} for _ in range(2)]
    runs = {name: [each["summary"] for each in of_queries] for name in ("tcp", "dctcp")}
    (bounded,) = verdicts("tcp", runs, {"dctcp": paired(of_queries, of_queries)}, seeds_differ=True)
    # 1 - 0.05^(1/200) of the queries.
    assert "up to 1.49 points is not excluded (assuming independent queries)" in bounded["sentence"]
    (fixed,) = judged([3.0, 3.0], [4.0, 4.0], differ=False)
    assert (fixed["better"], "nothing in the scenario is random" in fixed["sentence"]) == ("tcp", True)
    assert json.dumps(fixed)


def test_the_jackknife_counts_seeds_that_change_something() -> None:
    """One of five seeds saw a miss: 5 ln(5/4) = 1.1 events, so 10 / 1.1 * 5 seeds."""
    ours, theirs = [0.0, 0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0, 0.0]

    def without(figure: Callable[[list[float], list[float]], float]) -> list[float]:
        return [figure(ours[:i] + ours[i + 1 :], theirs[:i] + theirs[i + 1 :]) for i in range(5)]

    def apart(a: list[float], b: list[float]) -> float:
        return (sum(b) - sum(a)) / len(a)

    assert jackknife_seeds(apart(ours, theirs), without(apart)) == 45
    # A ratio: without the seed that saw it there is none, so two of six see other things here.
    assert jackknife_seeds(2.0, [2.0, 2.0, 2.0, 2.0, 1.0, 3.0]) == 25
    assert jackknife_seeds(2.0, [1.9, 2.1, 2.2, 1.8, 2.05]) is None
    # Nothing but an error of rounding differs, or nothing at all: as if there had been one event.
    assert jackknife_seeds(1e6, [1e6] * 4 + [1e6 + 1e-5]) == 50
    assert jackknife_seeds(0.0, [0.0] * 5) == 50


def test_a_share_that_few_seeds_have_takes_more_seeds() -> None:
    assert seeds_of_share("missed_percent", [0.0, 0.0, 3.0, 0.0, 0.0]) == 45
    assert seeds_of_share("missed_percent", [0.0] * 5) == 50
    assert seeds_of_share("met_percent", [100.0, 100.0, 97.0, 100.0, 100.0]) == 45
    assert seeds_of_share("missed_percent", [1.0, 2.0, 3.0, 1.0, 2.0]) is None
    assert seeds_of_share("gain_percent", [-1.0, 0.0, 0.0, 0.0, 0.0]) is None
    assert seeds_of_share("fct_us", [0.0, 0.0, 3.0, 0.0, 0.0]) is None
    assert seeds_of_share("missed_percent", [None, 0.0]) is None
    # 3 of 5 are not 0, and the mean is nearer to that: 5 log(5 / 2) = 4.58 events, 10.9 seeds.
    assert seeds_of_share("missed_percent", [0.0, 30.0, 30.0, 0.0, 30.0]) == 11
    # With a mean of 50 seeds other than 100 count, here and for the interval: 4 of 5, 8.05 events, 6.2 seeds.
    half = [0.0, 0.0, 75.0, 75.0, 100.0]
    found = share(half)
    assert found is not None
    assert (found["seeds"], seeds_of_share("missed_percent", half)) == (7, 7)
