"""Errors that real machines cause."""

from __future__ import annotations


class Missing(RuntimeError):
    """Something cannot be done here; the message names the missing part and a remedy."""


class Failed(RuntimeError):
    """A process of ours failed; the message says with what."""


class Unusable(ValueError):
    """A cluster that cannot do the work; the message says why."""
