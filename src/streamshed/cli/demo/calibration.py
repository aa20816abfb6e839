"""Finding out what the machine sustains: files are fed as fast as micro-batches take them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streamshed.cli.demo.capacity import Capacity, Sample, capacity_of, is_settled, loaded_samples, next_rows
from streamshed.cli.terminal.failure import RunFailedError, failure_text

if TYPE_CHECKING:
    import pandas as pd

    from streamshed.cli.terminal.progress_bar import ShowProgress
    from streamshed.traces.staged_feed import StagedFeed

_SECONDS_BETWEEN_LOOKS = 0.1
_FEWEST_SAMPLES, _PATIENCE = 3, 2


class Journaled(Protocol):
    """A run, as far as calibration needs it."""

    @property
    def is_active(self) -> bool:
        """Whether it runs."""

    @property
    def exception(self) -> Exception | None:
        """What stopped it, if something did."""

    def journal(self) -> pd.DataFrame:
        """One row per finished micro-batch."""


class FilePlacer:
    """Places staged files, so many rows at a time.

    Args:
        feed: What was staged.
        watched: The folder.
    """

    def __init__(self, feed: StagedFeed, watched: Path) -> None:
        self._left = list(feed.files)
        self._watched = watched

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not self._left

    def place(self, rows: int) -> int:
        """Place files with about so many rows, at least one file.

        Returns:
            The rows placed; 0 when nothing is left.
        """
        placed = 0
        while self._left and (placed == 0 or placed + self._left[0].rows <= rows):
            file = self._left.pop(0)
            file.path.rename(self._watched / file.path.name)
            placed += file.rows
        return placed


def calibrate(
    run: Journaled,
    placer: FilePlacer,
    *,
    limit_seconds: float,
    show: ShowProgress = lambda _share, _words: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Capacity:
    """Feed a run flat out, with micro-batches that grow until they take one trigger interval.

    Args:
        run: A run that sheds nothing.
        placer: What can be fed.
        limit_seconds: End after so long; after twice as long, if fewer than three micro-batches had rows by then, or
            one is under way.
        show: Told the progress.
        clock: Seconds.
        sleep: Waits for seconds.

    Returns:
        The capacity.

    Raises:
        RunFailedError: The run failed, or no micro-batch with rows was through in time.
    """
    begin = clock()
    fed = 0
    while run.is_active:
        samples = samples_of(run)
        loaded = loaded_samples(samples)
        elapsed = clock() - begin
        if sum(sample.rows for sample in loaded) >= fed:
            if is_settled(samples) or placer.is_empty:
                break
            if elapsed > limit_seconds and len(loaded) >= _FEWEST_SAMPLES:
                break
            fed += placer.place(next_rows(samples))
        if elapsed > _PATIENCE * limit_seconds:
            break
        show(min(1.0, elapsed / limit_seconds), f"{len(loaded)} micro-batch{'' if len(loaded) == 1 else 'es'}")
        sleep(_SECONDS_BETWEEN_LOOKS)
    if run.exception is not None:
        raise RunFailedError(failure_text(run.exception)) from run.exception
    samples = samples_of(run)
    if not loaded_samples(samples):
        raise RunFailedError(
            f"no micro-batch was through within {clock() - begin:.0f} s:"
            " this machine is too slow, or too busy, for the demo (are other programs running?)"
        )
    return capacity_of(samples)


def samples_of(run: Journaled) -> list[Sample]:
    """Take sizes and times out of a run's journal."""
    journal = run.journal()
    if not len(journal):
        return []
    pairs = zip(journal["offered_rows"], journal["processing_seconds"], strict=True)
    return [Sample(rows=int(rows), seconds=float(seconds)) for rows, seconds in pairs]
