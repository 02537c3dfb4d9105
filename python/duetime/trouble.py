"""What can go wrong on real machines."""

from __future__ import annotations


class Missing(RuntimeError):
    """Something cannot be done here; the message says what is missing and what would help."""


class Failed(RuntimeError):
    """A process of ours failed; the message says with what."""


class Unusable(ValueError):
    """A cluster that cannot do the work; the message says why."""
