"""Made requests in the formats of published traces, which are not shipped.

    python -m duetime.made azure-llm --requests 400 > requests.csv
    python -m duetime.made mooncake --requests 300 > requests.jsonl

Each has the statistics that are published of its trace, and none of its rows. Lengths are not drawn: they are
the quantiles of their distribution in a random order, so that a short file has the mean of a long one.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")

#: Tokens of a block of a prefix, as Mooncake's traces count them.
BLOCK = 512


@dataclass(frozen=True)
class LogNormal:
    """A distribution of whole numbers of tokens."""

    median: float
    sigma: float

    def spread(self, number: int, order: random.Random) -> list[int]:
        """Return the middles of `number` equal parts of the distribution, in a random order."""
        normal = NormalDist(math.log(self.median), self.sigma)
        parts = [round(math.exp(normal.inv_cdf((i + 0.5) / number))) for i in range(number)]
        return _shuffled([max(1, part) for part in parts], order)


@dataclass(frozen=True)
class Request:
    """A request about `source`, a document or a conversation, of which others may ask too."""

    source: int
    tokens: int
    #: Tokens at its beginning that all requests about this source share.
    shared: int


# Azure's trace of conversations of November 2023 (AzurePublicDataset: 19 366 requests in about 3 500 s). The
# medians are from Splitwise (ISCA 2024): 1 020 tokens in and 129 out. The widths are ours.
AZURE_PER_S = 5.5
AZURE_INPUT, AZURE_OUTPUT = LogNormal(1020, 0.85), LogNormal(129, 0.9)
AZURE_BEGIN = datetime(2023, 11, 16, 18, 15)

# Mooncake's synthetic trace. Its paper's table 2: a mean input of 15 325 tokens, a mean output of 149, and a
# share of 66 % that earlier requests had; arrivals are Poisson. The trace in the paper's repository has 3 993
# requests in 1 022 s. Two fifths are short, the others are about documents.
MOONCAKE_PER_S, MOONCAKE_INPUT = 3993 / 1022.0, 15_325
MOONCAKE_SHORT, MOONCAKE_SHORT_SHARE = LogNormal(87, 1.9), 0.4
MOONCAKE_DOCUMENT, MOONCAKE_OUTPUT = LogNormal(20_200, 0.667), LogNormal(69, 1.24)
#: Of the documents, the share with one request; the others have two and, on average, so many more.
MOONCAKE_ALONE, MOONCAKE_MORE = 0.6, 4.1
#: Largest number of tokens of one question about a document.
MOONCAKE_QUESTION = 60


def azure(number: int, seed: int) -> Iterator[str]:
    """Yield the lines of a CSV file in the format `azure-llm`."""
    draws = random.Random(seed)
    yield "TIMESTAMP,ContextTokens,GeneratedTokens"
    now = 0.0
    for tokens, output in zip(
        AZURE_INPUT.spread(number, draws), AZURE_OUTPUT.spread(number, draws), strict=True
    ):
        now += draws.expovariate(AZURE_PER_S)
        yield f"{AZURE_BEGIN + timedelta(seconds=now)},{tokens},{output}"


def mooncake(number: int, seed: int) -> Iterator[str]:
    """Yield the lines of a JSONL file in the format `mooncake`."""
    draws = random.Random(seed)
    requests = _requests(number, draws)
    outputs = MOONCAKE_OUTPUT.spread(number, draws)
    blocks: dict[int, list[int]] = {}
    fresh, now = 0, 0.0
    for request, output in zip(requests, outputs, strict=True):
        known = blocks.setdefault(request.source, [])
        more = range(fresh, fresh + math.ceil(request.tokens / BLOCK) - len(known))
        fresh = more.stop
        hashes = [*known, *more]
        blocks[request.source] = hashes[: request.shared // BLOCK]
        row = {"timestamp": round(1000 * now), "input_length": request.tokens, "output_length": output}
        yield json.dumps({**row, "hash_ids": hashes})
        now += draws.expovariate(MOONCAKE_PER_S)


def _requests(number: int, draws: random.Random) -> list[Request]:
    """Return requests in a random order, in which those about one document are where chance puts them."""
    short = round(MOONCAKE_SHORT_SHARE * number)
    requests = [Request(-1 - i, tokens, 0) for i, tokens in enumerate(MOONCAKE_SHORT.spread(short, draws))]
    counts = _questions(number - short, draws)
    alone = counts.count(1)
    spread = [MOONCAKE_DOCUMENT.spread(many, draws) for many in (alone, len(counts) - alone)]
    lengths = [tokens for part in spread for tokens in part]
    # Which documents have many questions is chance; the mean of all inputs is not.
    wanted = MOONCAKE_INPUT * number - sum(request.tokens for request in requests)
    scale = wanted / sum(tokens * count for tokens, count in zip(lengths, counts, strict=True))
    for source, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        shared = round(scale * length)
        asked = (draws.randint(1, MOONCAKE_QUESTION) for _ in range(count))
        requests += [Request(source, shared + tokens, shared) for tokens in asked]
    return _shuffled(requests, draws)


def _questions(number: int, draws: random.Random) -> list[int]:
    """Return how many requests each document has, the fewest first; together `number`."""
    documents = max(1, round(number / (MOONCAKE_ALONE + (1 - MOONCAKE_ALONE) * (2 + MOONCAKE_MORE))))
    alone = round(MOONCAKE_ALONE * documents)
    counts = [1] * alone + [2] * (documents - alone)
    stays = MOONCAKE_MORE / (1 + MOONCAKE_MORE)
    for i in range(alone, documents):
        # The middle of a part of the geometric distribution, as lengths are.
        counts[i] += int(math.log(1 - (i - alone + 0.5) / (documents - alone)) / math.log(stays))
    while (more := number - sum(counts)) != 0:
        i = draws.randrange(documents)
        counts[i] = max(1, counts[i] + (1 if more > 0 else -1))
    return sorted(counts)


def _shuffled(values: list[T], order: random.Random) -> list[T]:
    """Return the values in a random order that is the same in all versions of Python."""
    keys = [order.random() for _ in values]
    return [value for _, value in sorted(zip(keys, values, strict=True), key=lambda pair: pair[0])]


#: Format -> the lines of a file with so many requests, from a seed.
MADE: dict[str, Callable[[int, int], Iterator[str]]] = {"azure-llm": azure, "mooncake": mooncake}


def main() -> None:
    """Print a file of requests."""
    arguments = argparse.ArgumentParser(prog="python -m duetime.made", description="Print made requests.")
    arguments.add_argument("format", choices=sorted(MADE), help="the format of the file")
    arguments.add_argument("--requests", type=int, default=400, metavar="N", help="number of requests")
    arguments.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all draws")
    given = arguments.parse_args()
    if given.requests < 1:
        arguments.error(f"--requests: at least 1, not {given.requests}")
    for line in MADE[given.format](given.requests, given.seed):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
