"""Watching a run until it ends or somebody asks it to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from streamshed.dashboard.run_history import RunHistory

if TYPE_CHECKING:
    from streamshed.dashboard.views import View
    from streamshed.spark.run_status import RunStatus

_SECONDS_BETWEEN_LOOKS = 0.2


class Watched(Protocol):
    """A run, as far as watching needs it."""

    @property
    def is_active(self) -> bool:
        """Whether it runs."""

    def status(self) -> RunStatus:
        """Its state after the latest micro-batch."""


def watch(
    run: Watched,
    view: View,
    *,
    wait: Callable[[float], bool],
    note: Callable[[RunHistory], str] = lambda _history: "",
    until: Callable[[RunHistory], bool] = lambda _history: False,
) -> RunHistory:
    """Show a run until it ends, or until somebody says that it is enough.

    Args:
        run: The run.
        view: Where it is shown.
        wait: Waits for seconds; True ends the watching.
        note: What else to show.
        until: True ends the watching, too.

    Returns:
        What the run has done.
    """
    history = RunHistory()
    while run.is_active:
        history = history.after(run.status())
        view.show(history, note=note(history))
        if until(history) or wait(_SECONDS_BETWEEN_LOOKS):
            break
    return history.after(run.status())
