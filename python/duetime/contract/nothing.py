"""The object of a run that failed."""

from typing import TypedDict, final


@final
class Nothing(TypedDict):
    """An object without keys."""
