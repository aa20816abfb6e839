"""`streamshed page`: shows a run, or what a run has left, as a page."""

from __future__ import annotations

import click

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.parameters import ADDRESS


@click.command(short_help="Show a page of a run, also after it has ended.")
@click.argument("checkpoint")
@click.option(
    "--at",
    "address",
    type=ADDRESS,
    default="127.0.0.1:0",
    help="Address to listen at; port 0: any free one.  [default: 127.0.0.1:0]",
)
def page(*, checkpoint: str, address: tuple[str, int]) -> ExitCode:
    """Show a page of the run with the checkpoint CHECKPOINT until Ctrl-C, while it runs or after it has ended.

    It prints the address, which beyond loopback has a token. It only reads the checkpoint and needs neither Spark nor
    Java.
    """
    from streamshed.cli.terminal.stopping import Stopping
    from streamshed.errors import SourceUnavailableError
    from streamshed.page.serving import PageServer

    host, port = address
    with PageServer(checkpoint, host=host, port=port) as server, Stopping() as stopping:
        if server.is_empty:
            raise SourceUnavailableError(
                f'"{checkpoint}" has no journal: is it the checkpoint of a network that has finished a micro-batch?'
            )
        click.echo(server.url)
        while not stopping.wait(1.0):
            pass
    return ExitCode.DONE
