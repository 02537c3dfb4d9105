"""polars, which ``duetime[tables]`` installs: importing it from here says so where it is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from duetime.errors import Missing

try:
    import polars as pl
except ModuleNotFoundError as error:
    if error.name != "polars":
        raise
    raise Missing(
        "tables of messages and Parquet files need polars, which is not installed: "
        "pip install 'duetime[all]' (or 'duetime[tables]', without pictures)"
    ) from None


def to_pandas(frame: pl.DataFrame) -> Any:
    """Return a table as a data frame of pandas, for which that of polars would need pyarrow too.

    Integers with gaps become floats, as pandas has them; `Missing` without pandas.
    """
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise Missing(
            "to_pandas() needs pandas, which is not installed: pip install 'duetime[pandas]'"
        ) from None
    return pandas.DataFrame(frame.to_dict(as_series=False))


__all__ = ["pl", "to_pandas"]
