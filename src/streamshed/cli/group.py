"""The group of all commands: near misses for their names, and errors told in one line."""

import traceback
from typing import Any

import click

from streamshed.cli.exit_code import ExitCode
from streamshed.cli.failure import RunFailedError
from streamshed.errors import StreamshedError, near_miss


class CommandGroup(click.Group):
    """Runs a command, and turns what it returns or raises into an exit code.

    A `StreamshedError` is told without traceback unless `--debug` was given. Any other error is a bug of
    streamshed and keeps its traceback.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command asked for; where there is none, ask whether a similar one was meant."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}{near_miss(name, self.list_commands(ctx)) or '.'}")
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
