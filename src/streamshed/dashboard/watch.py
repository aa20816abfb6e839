"""Watching a run until it ends or somebody asks it to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from streamshed.dashboard.run_history import RunHistory

if TYPE_CHECKING:
    from streamshed.dashboard.views import View
    from streamshed.spark.loop.run_status import RunStatus

_SECONDS_BETWEEN_LOOKS = 0.2


class Watched(Protocol):
    """A run, as far as watching needs it."""

    @property
    def is_active(self) -> bool:
        """Whether it runs."""

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> Sequence[RunStatus]:
        """The states after the micro-batches that finished later than those, by clock."""


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
        What the run has done; all of it was shown.
    """
    history = RunHistory()
    while run.is_active:
        history = shown(run, view, history, note=note)
        if until(history) or wait(_SECONDS_BETWEEN_LOOKS):
            break
    return shown(run, view, history, note=note)


def shown(
    run: Watched, view: View, history: RunHistory, *, note: Callable[[RunHistory], str] = lambda _history: ""
) -> RunHistory:
    """Show each micro-batch that has finished meanwhile; the same state again where none has.

    Args:
        run: The run.
        view: Where it is shown.
        history: What is known, and was shown.
        note: What else to show.

    Returns:
        What the run has done.
    """
    for status in run.statuses_since(history.micro_batch_ids):
        history = history.after(status)
        view.show(history, note=note(history))
    view.show(history, note=note(history))
    return history
