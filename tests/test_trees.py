"""Trees of several levels, and queries as the root sees them."""

from typing import Any

import polars as pl
import pytest

import duetime as dt
from conftest import SCENARIOS


@pytest.fixture(scope="module")
def tree() -> dt.Result:
    return dt.run(SCENARIOS / "tree.toml", transport="tcp")


def test_the_summary_follows_from_the_queries(tree: dt.Result) -> None:
    counted = tree.queries.filter("counted")
    assert tree.queries.columns == [
        *("class", "query", "parent", "start_us", "deadline_us"),
        *("answers", "in_time", "completion_us", "met", "counted"),
    ]
    assert tree.queries["answers"].unique().to_list() == [72]
    summary = tree.summary
    assert 30 < counted.height == summary["queries"]
    assert 0 < counted["met"].sum() < counted.height
    assert summary["complete_queries_percent"] == pytest.approx(100 * counted["met"].mean())  # type: ignore[operator]
    shares = counted["in_time"] / counted["answers"] * 100
    assert summary["answers_in_time_percent"]["mean"] == pytest.approx(shares.mean())
    assert summary["query_us"]["max"] == pytest.approx(counted["completion_us"].max())


def test_a_query_is_met_when_all_leaves_came_to_the_root_in_time(tree: dt.Result) -> None:
    queries = tree.queries.filter("counted")
    assert (queries["met"] == (queries["in_time"] == 72)).all()
    assert (queries.filter("met")["completion_us"] <= queries.filter("met")["deadline_us"]).all()
    # 15 ms to 22.5 ms for the whole query.
    assert queries["deadline_us"].is_between(15_000, 22_500).all()
    # The root's link alone takes six answers of 40 KB at 1 Gbps, after the aggregation.
    assert queries["completion_us"].min() > 6 * 40_000 * 8 / 1000 + 200  # type: ignore[operator]


def test_one_level_tells_the_same_by_answers() -> None:
    run = dt.run(SCENARIOS / "oldi.toml", set={"run.duration": "400 ms", "network.buffer": "20 KB"})
    own = run.flows.group_by("class", "query").agg(
        (~pl.col("missed")).sum().alias("met_answers"), pl.len().alias("all_answers")
    )
    both = run.queries.filter("counted").join(own, on=["class", "query"])
    assert both.height > 100
    assert (both["in_time"] == both["met_answers"]).all()
    assert (both["answers"] == both["all_answers"]).all()
    assert not both["met"].all()


def test_a_share_of_the_deadline_moves_the_misses() -> None:
    def missed(split: list[str]) -> dict[str, Any]:
        run = dt.run(SCENARIOS / "tree.toml", transport="tcp", set={"traffic.search.split": str(split)})
        leaves = run.flows.filter(pl.col("bytes") != 40_000)["missed"].mean()
        return {"leaves": leaves, "in time": run.summary["answers_in_time_percent"]["mean"]}

    hurried, easy = missed(["5%", "95%"]), missed(["60%", "40%"])
    # 5 % of 15 to 22.5 ms is about the 0.96 ms that 120 KB take at 1 Gbps.
    assert hurried["leaves"] > 0.3 > 0.05 > easy["leaves"]
    assert hurried["in time"] < 80 < easy["in time"]
