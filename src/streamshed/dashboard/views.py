"""Ways to show a run: live in a terminal, as lines of a log, as lines of JSON."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.live import Live

from streamshed.closing import Closable
from streamshed.dashboard.live_view import live_view
from streamshed.dashboard.log_line import log_line

if TYPE_CHECKING:
    from streamshed.dashboard.run_history import RunHistory

_REFRESHES_PER_SECOND = 2


class View(Closable):
    """Shows a run while a `with` block is in it; what was shown last stays visible."""

    def close(self) -> None:
        """Leave the last state visible."""

    @abstractmethod
    def show(self, history: RunHistory, *, note: str = "") -> None:
        """Show the run after one more micro-batch, or after a while without."""


class TerminalView(View):
    """Redraws one panel in place.

    Args:
        console: A terminal.
        title: What runs.
        clock: Seconds, for the time elapsed.
    """

    def __init__(self, console: Console, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._clock = clock
        self._begin = clock()
        self._live = Live(console=console, auto_refresh=False, transient=False)
        self._drawn_seconds = -1.0
        self._drawn_note = ""
        self._left_out: tuple[RunHistory, str] | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def close(self) -> None:
        """Draw the last state, if it was left out."""
        if self._left_out is not None:
            self._draw(*self._left_out)
        self._live.stop()

    def show(self, history: RunHistory, *, note: str = "") -> None:
        """Redraw, at most twice a second but for a new note; the last state is drawn at the end at the latest."""
        since = self._clock() - self._begin - self._drawn_seconds
        if note == self._drawn_note and self._drawn_seconds >= 0 and since < 1 / _REFRESHES_PER_SECOND:
            self._left_out = history, note
        else:
            self._draw(history, note)

    def _draw(self, history: RunHistory, note: str) -> None:
        elapsed = self._clock() - self._begin
        self._drawn_seconds, self._drawn_note, self._left_out = elapsed, note, None
        view = live_view(history, title=self._title, elapsed_seconds=elapsed, note=note)
        self._live.update(view, refresh=True)


class LogView(View):
    """Prints a line per micro-batch, and a line for each new note.

    Args:
        console: Where.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = 0
        self._note = ""

    def show(self, history: RunHistory, *, note: str = "") -> None:
        """Print what is new."""
        if note != self._note:
            self._note = note
            if note:
                self._print(note)
        if history.micro_batches > self._shown:
            self._shown = history.micro_batches
            self._print(log_line(history))

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


class NoView(View):
    """Shows nothing, where the log says it."""

    def show(self, history: RunHistory, *, note: str = "") -> None:
        """Show nothing."""


class JsonView(View):
    """Prints a JSON object per micro-batch.

    Args:
        output: Where.
    """

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._shown = 0

    def show(self, history: RunHistory, *, note: str = "") -> None:  # noqa: ARG002 - notes are for people
        """Print the state after the latest micro-batch, once."""
        latest = history.latest
        if latest is None or history.micro_batches == self._shown:
            return
        self._shown = history.micro_batches
        line = json.dumps({**asdict(latest), "utilization": latest.utilization})
        print(line, file=self._output, flush=True)
