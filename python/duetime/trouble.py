"""What can go wrong on a real machine."""

from __future__ import annotations


class Missing(RuntimeError):
    """Something cannot be done here; the message says what is missing and what would help."""


class Failed(RuntimeError):
    """A process of ours failed; the message says with what."""
