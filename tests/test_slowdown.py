"""Slowdown by size of message, by hand."""

import polars as pl
import pytest

from duetime.slowdown import by_size, table


def messages(*rows: tuple[int, float | None]) -> pl.DataFrame:
    """Messages of so many bytes, each with its slowdown; none where it did not finish."""
    return pl.DataFrame(rows, schema={"bytes": pl.UInt64, "slowdown": pl.Float64}, orient="row")


def test_each_size_is_a_group_where_there_are_few() -> None:
    found = by_size(messages((1000, 1.0), (1000, 3.0), (1000, 2.0), (9000, 5.0)))
    assert found.rows() == [(1000, 1000, 3, 2.0, 3.0), (9000, 9000, 1, 5.0, 5.0)]


def test_many_sizes_make_groups_of_equal_number() -> None:
    found = by_size(messages(*((size, float(size)) for size in range(1, 101))), groups=4)
    assert found["messages"].to_list() == [26, 25, 25, 24]
    assert found["up_to"].to_list() == [26, 51, 76, 100]
    assert found["p50"].to_list() == [14.0, 39.0, 64.0, 89.0]


def test_what_did_not_finish_is_slower_than_all_others() -> None:
    found = by_size(messages(*[(1000, 2.0)] * 98, (1000, None), (1000, None)))
    assert (found["p50"][0], found["p99"][0]) == (2.0, None)
    found = by_size(messages(*[(1000, 2.0)] * 199, (1000, None)))
    assert found["p99"][0] == 2.0


@pytest.mark.parametrize("groups", [1, 10])
def test_no_messages_make_no_groups(groups: int) -> None:
    assert by_size(messages(), groups).height == 0


def test_a_table_names_transports() -> None:
    own = pl.lit("web").alias("class")
    given = {"tcp": messages((10, 1.0)), "dctcp": messages((10, 2.0), (20, 1.0))}
    found = table({name: each.with_columns(own) for name, each in given.items()}, ["web"])
    assert found["transport"].to_list() == ["tcp", "dctcp", "dctcp"]
    assert found.columns == ["transport", "class", "bytes", "up_to", "messages", "p50", "p99"]


def test_a_table_has_the_rows_of_each_class_and_of_all() -> None:
    small = messages((10, 1.0), (10, 3.0)).with_columns(pl.lit("small").alias("class"))
    large = messages((500, 2.0)).with_columns(pl.lit("all").alias("class"))
    found = table({"tcp": pl.concat([small, large])}, ["small", "all"])
    rows = found.select("class", "bytes", "messages", "p99").rows()
    # A class that is called `all` is told from all together.
    assert rows == [
        ("all", 10.0, 2, 3.0),
        ("all", 500.0, 1, 2.0),
        ("small", 10.0, 2, 3.0),
        ("class all", 500.0, 1, 2.0),
    ]
