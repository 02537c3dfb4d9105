"""The command `duetime`: one short module per group of commands, and what a shell sees of errors."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

import click

from duetime import InternalError, PluginError, ScenarioError, __version__
from duetime.cli import completion  # noqa: F401  (it brings its script for fish)
from duetime.engine import interrupt
from duetime.errors import Damaged, Failed, Missing, Refused, Unreadable, Unusable

if TYPE_CHECKING:
    from collections.abc import MutableMapping

#: Exit codes beside 0 and 1 (something failed on the way).
BAD_INPUT, BUG, INTERRUPTED = 2, 70, 130


#: The module of each command; the function is called as the command.
MODULES = {
    "run": "run",
    "compare": "compare",
    "sweep": "sweep",
    "tighten": "decide",
    "capacity": "decide",
    "need": "decide",
    "robust": "robust",
    "bound": "bound",
    "estimate": "estimate",
    "reproduce": "reproduce",
    "check": "scenario",
    "init": "scenario",
    "import": "importing",
    "schema": "scenario",
    "transports": "catalog",
    "topologies": "catalog",
    "patterns": "catalog",
    "faults": "catalog",
    "profiles": "catalog",
    "plot": "plot",
    "report": "report",
    "testbed": "testbed",
    "help": "about",
    "version": "about",
}
#: The function of a command, where it cannot have its name.
FUNCTIONS = {"help": "help_", "import": "import_"}


class Commands(Mapping[str, click.Command]):
    """Loads the module of a command when it is used: no command waits for the others' imports."""

    def __getitem__(self, name: str) -> click.Command:
        """Return the command of a name."""
        module = import_module(f"duetime.cli.{MODULES[name]}")
        command: click.Command = getattr(module, FUNCTIONS.get(name, name))
        return command

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the commands."""
        return iter(MODULES)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(MODULES)


@click.group(
    commands=cast("MutableMapping[str, click.Command]", Commands()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="duetime")
def commands() -> None:
    """Simulate deadline-aware datacenter transports packet by packet.

    Start with: duetime init && duetime compare scenario.toml
    """


def main() -> None:
    """Run the command line and end the process."""
    open_streams()

    def command() -> object:
        interrupt.loud()
        return commands.main(prog_name="duetime", standalone_mode=False)

    sys.exit(status(command))


def open_streams() -> None:
    """Put an empty stream where one was closed (``>&-``); what a stream cannot show is written as ``?``."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def status(command: Callable[[], object]) -> int:
    """Run `command`, report an error on standard error in one message, and return the exit code."""
    try:
        result = command()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        if isinstance(error, click.UsageError):
            # Loaded late: only a mistake needs a hint.
            from duetime.cli import hints

            error = hints.hinted(error, sys.argv[1:])
        error.show()
        return error.exit_code
    except ScenarioError as error:
        return _fail(BAD_INPUT, str(error))
    except (Unreadable, Refused, Unusable, Damaged, PluginError) as error:
        return _fail(BAD_INPUT, f"error: {error}")
    except Missing as error:
        return _fail(BAD_INPUT, f"error: {error}")
    except Failed as error:
        return _fail(1, f"error: {error}")
    except (click.Abort, KeyboardInterrupt) as error:
        return _fail(INTERRUPTED, f"Interrupted: {_kept(error)}.")
    except BrokenPipeError:
        # Whoever read has enough; Python must not complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(1, f"error: {_failed(error)}")
    except InternalError as error:
        return _fail(BUG, _report(str(error)))
    except Exception as error:
        if os.environ.get("DUETIME_TRACEBACK"):
            traceback.print_exc()
        return _fail(BUG, _report(f"{type(error).__name__}: {error}"))


def _fail(code: int, message: str) -> int:
    print(message.rstrip("\n"), file=sys.stderr)
    return code


def _failed(error: OSError) -> str:
    """Say what could not be read or written; a stream has no name."""
    what = "the output cannot be written" if error.filename is None else error.filename
    return f"{what}: {error.strerror or error}"


def _kept(interrupt: BaseException) -> str:
    cause = interrupt.__cause__ if isinstance(interrupt, click.Abort) else interrupt
    return str(cause) if cause is not None and str(cause) else "nothing was kept"


def _report(what: str) -> str:
    return f"This is a bug in duetime {__version__}, please report it with your scenario: {what}"
