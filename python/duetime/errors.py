"""Errors with a message for the user; `ScenarioError` and `InternalError` are in `duetime._core`."""

from __future__ import annotations


class Missing(RuntimeError):
    """Something cannot be done here; the message names the missing part and a remedy."""


class Failed(RuntimeError):
    """A process of ours failed; the message says with what."""


class Refused(OSError):
    """A place where no result can be written; the message says why."""


class Unreadable(ValueError):
    """A scenario that cannot be read at all: no such file, a folder, not text."""


class TooLarge(Unreadable):
    """Runs that need more memory than there is; the message says how much, and how to run them anyway."""


class NoExperiments(Unreadable):
    """No folder of experiments was found."""


class UnknownExperiment(Unreadable):
    """No experiment has this name."""


class Mistaken(Unreadable):
    """A mistake in the file of an experiment."""


class MistakenCondition(ValueError):
    """A condition of ``--fail-if`` that means nothing; the message shows where."""


class NoResults(ValueError):
    """The folder holds nothing that can be drawn."""


class NoReport(ValueError):
    """The folder holds nothing to report; the message lists the expected kinds."""


class Unusable(ValueError):
    """A cluster that cannot do the work; the message says why."""


class Damaged(RuntimeError):
    """A saved file that differs from its checksum, or is missing; the message names it."""


class TimeUp(RuntimeError):
    """The time for some runs was up before all of them were made; finished ones are in the store."""


class OtherBuild(RuntimeError):
    """A worker would simulate with something else than the process that asks."""
