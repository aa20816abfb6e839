"""How the command line says to other programs what became of a command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of all commands; `docs/cli.md` lists them."""

    DONE = 0
    """It did what it was asked, also when it was asked to stop a run."""

    REFUSED = 1
    """Nothing ran: what was asked for cannot be, and the message says why."""

    USAGE = 2
    """The command line itself is wrong."""

    FAILED = 3
    """It ran, and failed while running."""

    INTERRUPTED = 130
    """It was stopped by Ctrl-C before it was done."""
