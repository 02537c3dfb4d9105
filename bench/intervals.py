"""Coverage of the intervals of missed deadlines over 3 to 50 seeds: ``python bench/intervals.py``.

Each scenario in `bench/intervals` was run with many seeds under two transports. The table beside it has the
share that each missed, and the mean over the whole table is the truth. Seeds are drawn from it again and
again, as a comparison would have them, and the intervals of `duetime.statistics` are compared with the truth.
``--run N`` makes the tables anew, of N seeds (minutes). Without it the trial reads them, and writes
`bench/intervals/record.md`.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from duetime.statistics import difference, share

HERE = Path(__file__).parent / "intervals"
TRANSPORTS = ("tcp", "dctcp")
SEEDS = (3, 5, 10, 20, 50)
#: How often seeds are drawn.
DRAWS = 4000
#: Everything random is drawn from this.
CHANCE = 30


@dataclass(frozen=True)
class Held:
    """The outcome for the intervals of many draws, in percent."""

    #: The draws that gave an interval.
    printed: float
    #: Of these, the draws whose interval has the truth in it; none where there was no interval.
    covered: float | None
    #: Of all draws, the draws whose interval misses the truth.
    wrong: float


def tables() -> dict[str, list[list[float]]]:
    """The percentages that each transport missed, by scenario, with one for each seed."""
    found = {}
    for file in sorted(HERE.glob("*.csv")):
        with file.open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        found[file.stem] = [[float(row[name]) for row in rows] for name in TRANSPORTS]
    return found


def trial(values: Sequence[float], seeds: int, draws: int, *, shares: bool = False) -> Held:
    """Draw `draws` samples of `seeds` seeds; count how often the interval holds the mean of `values`."""
    dice = random.Random(f"{CHANCE} {seeds} {shares}")
    truth = sum(values) / len(values)
    printed = covered = 0
    for _ in range(draws):
        drawn = dice.sample(values, seeds)
        found = share(drawn) if shares else difference(drawn)
        low, high = found["ci95"] if found else (None, None)
        if low is not None and high is not None:
            printed += 1
            covered += low <= truth <= high
    wrong = 100 * (printed - covered) / draws
    return Held(100 * printed / draws, 100 * covered / printed if printed else None, wrong)


def run(file: Path, seeds: int) -> None:
    """Run a scenario under both transports, and write its table."""
    import duetime

    rows = []
    for seed in range(1, seeds + 1):
        summaries = [duetime.run(file, transport=name, seed=seed).summary for name in TRANSPORTS]
        missed = [each["missed_percent"] for each in summaries]
        # A seed in which no message has a deadline says nothing.
        if None not in missed:
            rows.append([seed, *(f"{each:.6g}" for each in missed)])
    with file.with_suffix(".csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([["seed", *TRANSPORTS], *rows])


def record(draws: int = DRAWS) -> str:
    """The table of the trial, in Markdown."""
    lines = [
        "| scenario | truth | seeds | difference printed | covers | wrong | share printed | covers | wrong |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, (one, other) in tables().items():
        apart = [b - a for a, b in zip(one, other, strict=True)]
        truth = f"{sum(one) / len(one):.2f} %, {sum(apart) / len(apart):+.2f} points"
        for seeds in SEEDS:
            cells = [
                cell
                for held in (trial(apart, seeds, draws), trial(one, seeds, draws, shares=True))
                for cell in (
                    f"{held.printed:.1f} %",
                    "-" if held.covered is None else f"{held.covered:.1f} %",
                    f"{held.wrong:.1f} %",
                )
            ]
            lines.append(f"| {name} | {truth} | {seeds} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the scenarios if asked to; try the intervals, and write the outcome into the record."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--run", type=int, metavar="N", help="make the tables anew, of so many seeds")
    given = arguments.parse_args()
    if given.run:
        for file in sorted(HERE.glob("*.toml")):
            run(file, given.run)
    found = record()
    (HERE / "record.md").write_text(found, encoding="utf-8")
    print(found, end="")


if __name__ == "__main__":
    main()
