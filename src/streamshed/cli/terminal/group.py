"""The group of all commands: near misses for their names, and errors told in one line."""

import traceback
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

import click

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.failure import RunFailedError
from streamshed.errors import MissingExtraError, StreamshedError, near_miss

_ENTRY_POINTS = "streamshed.commands"
_EXTRAS = MappingProxyType({"bench": "bench"})
"""Commands that come with an extra, and its name."""


class CommandGroup(click.Group):
    """Runs a command, and turns what it returns or raises into an exit code.

    A `StreamshedError` is told without traceback unless `--debug` was given. Any other error is a bug of
    streamshed and keeps its traceback. Packages bring commands as entry points of the group `streamshed.commands`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name its commands, and those that installed packages bring."""
        return sorted({*super().list_commands(ctx), *entry_points(group=_ENTRY_POINTS).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, its module being loaded where a package brings it."""
        command = super().get_command(ctx, cmd_name)
        for entry_point in entry_points(group=_ENTRY_POINTS, name=cmd_name):
            command = command or entry_point.load()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command asked for; where there is none, ask whether a similar one was meant."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            if name in _EXTRAS:
                raise MissingExtraError(
                    f"`streamshed {name}` is not installed: pip install 'streamshed[{_EXTRAS[name]}]'"
                )
            ctx.fail(f"No such command {name!r}{near_miss(name, {*self.list_commands(ctx), *_EXTRAS}) or '.'}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for, and exit."""
        try:
            code = super().invoke(ctx)
        except StreamshedError as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            show_error(str(error))
            code = ExitCode.FAILED if isinstance(error, RunFailedError) else ExitCode.REFUSED
        except KeyboardInterrupt:
            show_error("interrupted")
            code = ExitCode.INTERRUPTED
        ctx.exit(ExitCode.DONE if code is None else code)


def show_error(message: str) -> None:
    """Tell an error on standard error."""
    click.echo(click.style("error: ", fg="red", bold=True) + message, err=True)


def show_note(message: str) -> None:
    """Tell on standard error what is not an error, but should be known."""
    click.echo(click.style("note: ", fg="yellow") + message, err=True)
