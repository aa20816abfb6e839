"""The command `streamshed`."""

import click

from streamshed import __version__
from streamshed.cli.checkpoint.command import checkpoint
from streamshed.cli.compact import compact
from streamshed.cli.ctl.command import ctl
from streamshed.cli.demo.command import demo
from streamshed.cli.explain import explain
from streamshed.cli.page import page
from streamshed.cli.predict import predict
from streamshed.cli.profile import profile
from streamshed.cli.replay import replay
from streamshed.cli.run import run
from streamshed.cli.schema import schema
from streamshed.cli.simulate import simulate
from streamshed.cli.terminal.group import CommandGroup
from streamshed.cli.validate import validate


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done, 1 refused before anything ran, 2 wrong command line, 3 failed while running,"
    " 130 interrupted.",
)
@click.option("--debug", is_flag=True, help="Show where an error was raised.")
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli(*, debug: bool) -> None:
    """Continuous queries on Spark that shed load when overloaded."""


COMMANDS = (
    demo,
    validate,
    explain,
    profile,
    run,
    predict,
    compact,
    replay,
    simulate,
    ctl,
    page,
    checkpoint,
    schema,
)
for command in COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command line of this process."""
    cli()
