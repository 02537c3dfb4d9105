"""The command `duetime`: one short module per group of commands, and what a shell sees of errors."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from duetime import InternalError, ScenarioError, __version__, interrupt
from duetime.cli import (
    bound,
    catalog,
    compare,
    decide,
    estimate,
    plot,
    report,
    reproduce,
    robust,
    run,
    scenario,
    sweep,
    testbed,
)
from duetime.files import Refused
from duetime.scenario import Unreadable
from duetime.trouble import Failed, Missing
from duetime.work import Unusable

#: Exit codes beside 0 and 1 (something failed on the way).
BAD_INPUT, BUG, INTERRUPTED = 2, 70, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="duetime")
def commands() -> None:
    """Simulate datacenter transports packet by packet, and see who meets the deadlines.

    Start with: duetime init && duetime compare scenario.toml --transports tcp,dctcp,d2tcp
    """


commands.add_command(run.run)
commands.add_command(compare.compare)
commands.add_command(sweep.sweep)
commands.add_command(decide.tighten)
commands.add_command(decide.capacity)
commands.add_command(decide.need)
commands.add_command(robust.robust)
commands.add_command(bound.bound)
commands.add_command(estimate.estimate)
commands.add_command(reproduce.reproduce)
commands.add_command(scenario.check)
commands.add_command(scenario.init)
commands.add_command(scenario.schema)
commands.add_command(catalog.transports)
commands.add_command(catalog.topologies)
commands.add_command(catalog.patterns)
commands.add_command(catalog.faults)
commands.add_command(plot.plot)
commands.add_command(report.report)
commands.add_command(testbed.testbed)


def main() -> None:
    """Run the command line and end the process."""
    open_streams()

    def command() -> Any:
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


def status(command: Callable[[], Any]) -> int:
    """Do it; give the exit code, and say on standard error in one message what went wrong."""
    try:
        result = command()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ScenarioError as error:
        return _fail(BAD_INPUT, str(error))
    except (Unreadable, Refused, Unusable) as error:
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
