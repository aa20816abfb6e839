"""Progress of what takes longer than two seconds: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from streamshed.cli.terminal.consoles import message_console

ShowProgress = Callable[[float, str], None]
"""Told the share that is done, in [0, 1], and a few words about where that is."""

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress_of(
    title: str, *, console: Console | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[ShowProgress]:
    """Show the progress of one thing.

    Args:
        title: What is done, such as `staging`.
        console: Where; None: standard error.
        clock: Seconds, for the time between lines.

    Yields:
        What has to be called with the progress, as often as one likes.
    """
    console = console or message_console()
    if not console.is_terminal:
        yield _lines(title, console, clock)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, refresh_per_second=4) as progress:
        task = progress.add_task(title, total=1.0, words="")

        def show(share: float, words: str) -> None:
            progress.update(task, completed=share, words=words)

        yield show


def _lines(title: str, console: Console, clock: Callable[[], float]) -> ShowProgress:
    last = clock()

    def show(share: float, words: str) -> None:
        nonlocal last
        if clock() - last >= _SECONDS_BETWEEN_LINES:
            last = clock()
            console.print(f"{title}: {share:.0%} {words}", soft_wrap=True)

    return show
