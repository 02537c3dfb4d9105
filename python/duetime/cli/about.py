"""`duetime version` and `duetime help`."""

from __future__ import annotations

import click

from duetime import __version__


@click.command(short_help="Print the version.")
def version() -> None:
    """Print the version, as `duetime --version` does."""
    print(f"duetime, version {__version__}")


@click.command("help", short_help="Print the help of a command.")
@click.argument("command", required=False)
@click.pass_context
def help_(context: click.Context, command: str | None) -> None:
    """Print the help of COMMAND, or of duetime, as `duetime COMMAND --help` does."""
    group = context.parent
    assert group is not None
    assert isinstance(group.command, click.Group)
    if command is None:
        print(group.get_help())
        return
    # An unknown name is an error with the nearest one.
    name, found, _ = group.command.resolve_command(group, [command])
    assert found is not None
    print(found.get_help(click.Context(found, info_name=name, parent=group)))
