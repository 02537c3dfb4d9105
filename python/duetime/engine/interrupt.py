"""Ctrl-C while the command is still being loaded: it ends at once, with nothing to say."""

from __future__ import annotations

import signal
import sys


def quiet_start() -> None:
    """Let Ctrl-C end the process without a traceback, if it is the command and not a user's program.

    It must be called before the imports, which take most of a short command's time. `loud` undoes it.
    """
    named = sys.argv[0].replace("\\", "/").rpartition("/")[2] in ("duetime", "duetime.exe")
    if (named or sys.orig_argv[1:3] == ["-m", "duetime"]) and _handler() is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def loud() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    if _handler() is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _handler() -> object:
    return signal.getsignal(signal.SIGINT)
