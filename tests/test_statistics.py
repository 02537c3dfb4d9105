"""Means, intervals and differences over seeds."""

import json
import math
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from duetime.statistics import (
    degrees_of_rare,
    estimate,
    jackknife,
    most_unseen,
    of_figure,
    over_seeds,
    paired,
    share,
    t_quantile,
)
from duetime.verdict import verdicts

#: How often intervals are made of synthetic seeds, and three standard errors of what is then counted.
REPETITIONS = 3000
CHANCE = 3 * 100 * math.sqrt(0.95 * 0.05 / REPETITIONS)


def coverage(mean: float, percents: npt.NDArray[np.float64]) -> float:
    """Percent of the rows, each the shares of some seeds, whose interval has the true mean in it."""
    covered = 0
    for row in percents.tolist():
        found = share(row, [1000] * len(row))
        assert found is not None
        low, high = found["ci95"]
        if low is None:
            low = high = found["mean"]
        assert 0 <= low <= high <= 100
        covered += low <= 100 * mean <= high
    return 100 * covered / len(percents)


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


@pytest.mark.parametrize("seeds", [5, 10, 20])
@pytest.mark.parametrize(
    ("mean", "spread"),
    [(0.05, 0.0005), (0.05, 0.01), (0.2, 0.01), (0.2, 0.05), (0.5, 0.05), (0.5, 0.2), (0.9, 0.01)],
)
def test_an_interval_of_a_share_covers_what_it_says(seeds: int, mean: float, spread: float) -> None:
    """In 95 % of many repetitions, within 1 point beside three standard errors of their number."""
    assert abs(coverage(mean, clustered(seeds, mean, spread)) - 95) < 1 + CHANCE


@pytest.mark.parametrize("seeds", [5, 10, 20])
@pytest.mark.parametrize(
    ("mean", "spread"),
    [(0.005, 0.001), (0.005, 0.01), (0.01, 0.01), (0.01, 0.05), (0.02, 0.02), (0.05, 0.05)],
)
def test_an_interval_of_rare_misses_that_cluster_covers_at_least_what_it_says(
    seeds: int, mean: float, spread: float
) -> None:
    """Student's t on the scale of logits covers 83 to 92 % of the rarest. Too much is the lesser fault."""
    found = coverage(mean, clustered(seeds, mean, spread))
    assert 94 - CHANCE < found < 98 + CHANCE
    if seeds >= 10:
        assert abs(found - 95) < 1 + CHANCE


@pytest.mark.parametrize("seeds", [5, 10, 20])
@pytest.mark.parametrize(("mean", "size"), [(0.001, 1), (0.001, 10), (0.005, 10), (0.01, 40), (0.05, 40)])
def test_an_interval_of_misses_in_bursts_covers_at_least_what_it_says(
    seeds: int, mean: float, size: float
) -> None:
    """Too much where a seed sees one burst or two; with ten and more the interval is what it says."""
    found = coverage(mean, in_bursts(seeds, mean, size))
    assert 94 - CHANCE < found < 98 + CHANCE
    if 10_000 * mean / size >= 10:
        assert abs(found - 95) < 1 + CHANCE


def test_degrees_of_freedom_by_hand() -> None:
    # Of 5 seeds, with a variance of half the mean squared: kurtosis 3 * 0.98 * 0.5, 2 / (1.47 / 5 + 2 / 4).
    assert degrees_of_rare(5, 0.01, 0.01 * math.sqrt(0.5 / 5)) == pytest.approx(2 / (0.294 + 0.5))
    # What hardly varies has all of them, what was seen in one seed alone the least.
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
    """Student's t alone would give -3.1 to 5.1: one seed in five saw anything."""
    found = share([0.0, 0.0, 0.0, 0.0, 5.0])
    assert found is not None
    low, high = found["ci95"]
    assert 0 < low < 1 < high < 100
    mirrored = share([100.0, 100.0, 100.0, 100.0, 95.0])
    assert mirrored is not None
    assert mirrored["ci95"] == pytest.approx([100 - high, 100 - low])


def test_a_share_by_hand() -> None:
    # Mean 20, standard error 10/sqrt(3) = 5.7735, t = 4.3027: 24.84 points, 1.5526 on the scale of logits.
    found = share([10.0, 20.0, 30.0])
    assert found is not None
    logit, reach = math.log(0.2 / 0.8), 0.248417 / 0.16
    ends = [100 / (1 + math.exp(-(logit + sign * reach))) for sign in (-1, 1)]
    assert found["ci95"] == pytest.approx(ends, rel=1e-4)
    # Of five: error sqrt(2.5/5) = 0.7071 of a mean of 3, kurtosis 3 * 0.94 * 2.5/9, and so 3.048 degrees of
    # freedom for the far end.
    found = share([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found is not None
    logit, error = math.log(0.03 / 0.97), 0.0070711 / (0.03 * 0.97)
    ends = [100 / (1 + math.exp(-(logit + reach * error))) for reach in (-2.77645, t_quantile(3.0475))]
    assert found["ci95"] == pytest.approx(ends, rel=1e-3)


def test_nothing_in_many_is_not_nothing_for_certain() -> None:
    assert 100 * most_unseen(17_000) == pytest.approx(300 / 17_000, rel=0.002)
    found = share([0.0, 0.0], [10_000, 7_000])
    assert found is not None
    assert (found["mean"], found["ci95"][0]) == (0.0, 0.0)
    assert found["ci95"][1] == pytest.approx(0.01762, abs=1e-5)
    all_missed = share([100.0, 100.0], [10_000, 7_000])
    assert all_missed is not None
    assert all_missed["ci95"] == [pytest.approx(100 - 0.01762, abs=1e-5), 100.0]
    # Of how many is not known: nothing can be said.
    assert share([0.0, 0.0]) == {"mean": 0.0, "ci95": [None, None], "values": [0.0, 0.0]}


def run(seed: int, missed: int, fct: float) -> dict[str, Any]:
    summary = {"with_deadline": 1000, "undecided": 0, "missed": missed, "missed_percent": missed / 10}
    return {"seed": seed, "wall_s": seed / 10, "summary": {**summary, "fct_us": {"p99": fct}}}


def test_the_trials_of_a_share_stand_beside_it() -> None:
    merged = over_seeds([run(1, 0, 5.0), run(2, 0, 6.0)])
    assert merged["summary"]["missed_percent"]["ci95"] == [0.0, pytest.approx(300 / 2000, rel=0.01)]
    assert merged["seeds_differ"] is True


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
    assert verdict["sentence"].startswith("dctcp misses more than tcp, by 5.70 points ± 2.1")
    (turned,) = judged(DCTCP, TCP)
    assert turned["better"] == "dctcp"
    assert turned["sentence"].startswith("dctcp misses fewer than tcp")


def test_a_verdict_says_when_seeds_cannot_tell() -> None:
    (verdict,) = judged([10.0, 11.0, 12.0, 13.0, 14.0], [12.0, 9.0, 13.0, 11.0, 14.5])
    assert verdict["better"] is None
    assert verdict["sentence"].startswith("The seeds cannot tell dctcp from tcp in missed deadlines: -0.1 ±")
    (few,) = judged([10.0, 11.0], [12.0, 14.0])
    assert "Fewer than five seeds" in few["sentence"]
    (one,) = judged([10.0], [12.0])
    assert (one["better"], "only more seeds can tell" in one["sentence"]) == (None, True)


def test_several_at_once_need_more_than_one_alone() -> None:
    """A difference of 2.9 to 3.9 standard errors convinces alone (t = 2.776), not as one of three (3.96)."""
    base = [10.0, 10.0, 10.0, 10.0, 10.0]
    barely = [10.2, 10.4, 11.4, 11.3, 11.2]
    (alone,) = judged(base, barely)
    assert alone["better"] == "tcp"
    first, *_ = judged(base, barely, base, base)
    assert first["better"] is None
    assert "3 comparisons at once" in first["sentence"]


def test_what_does_not_differ_is_not_judged() -> None:
    (same,) = judged([3.0, 4.0], [3.0, 4.0])
    assert same["sentence"] == "dctcp and tcp do not differ in missed deadlines."
    (fixed,) = judged([3.0, 3.0], [4.0, 4.0], differ=False)
    assert (fixed["better"], "seeds add nothing" in fixed["sentence"]) == ("tcp", True)
    assert json.dumps(fixed)
