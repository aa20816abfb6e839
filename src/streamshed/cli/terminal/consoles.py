"""Where the command line writes: results to standard output, all else to standard error."""

from contextlib import AbstractContextManager, nullcontext

from rich.console import Console

_WIDTH_OF_FILES = 120


def message_console() -> Console:
    """The console for what a person watches: progress, the live view, notes."""
    return Console(stderr=True, highlight=False)


def result_console() -> Console:
    """The console for results."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH_OF_FILES)


def waiting(text: str) -> AbstractContextManager[object]:
    """Show that something is being waited for; on a terminal only.

    Args:
        text: What, such as `starting Spark`.
    """
    console = message_console()
    return console.status(f"{text} ...") if console.is_terminal else nullcontext()
