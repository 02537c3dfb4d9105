"""polars, which ``duetime[tables]`` installs: importing it from here says so where it is missing."""

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

__all__ = ["pl"]
