"""The place of these errors in former versions; they are in `duetime.errors`."""

from duetime.errors import Failed, Missing, Unusable

__all__ = ["Failed", "Missing", "Unusable"]
