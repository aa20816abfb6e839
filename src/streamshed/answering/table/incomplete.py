"""Answers that lack rows nobody can make up for: of joins that were done in part, and of rows that were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamshed.answering.table.output import Output
from streamshed.answering.table.shed_interval import ShedInterval, share_name
from streamshed.answering.table.window_partials import Doubles, Longs

PARTLY_JOINED, ROWS_LOST = "partly joined", "rows lost"


@dataclass(frozen=True)
class Incomplete:
    """Which answers lack rows, beside those that a sample left out: what is there is true, and more may be missing.

    Attributes:
        share: Per answer, the share of its rows that is expected to be there; 1: all are.
        reason: Per answer, why some are not.
    """

    share: Doubles
    reason: NDArray[np.str_]

    @property
    def is_part(self) -> NDArray[np.bool_]:
        """Which answers lack rows."""
        return self.share < 1.0


def incomplete(
    partly_joined: Sequence[ShedInterval],
    lost: Sequence[ShedInterval],
    outputs: Sequence[Output],
    which: Longs,
    windows: tuple[Longs, Longs],
) -> Incomplete:
    """Tell which answers lack rows.

    Args:
        partly_joined: Event times of results of joins that were not done fully, with rates by `share_name`.
        lost: Event times that rows may have had which were lost before they were read, with rates by stream.
        outputs: All of the network.
        which: Per answer, the place of its output among them.
        windows: Per answer, where its window starts and ends, microseconds.
    """
    joined = least_shares(partly_joined, outputs, which, *windows)
    is_by_count = np.array([output.is_by_count for output in outputs], np.bool_)[which]
    there = _least(lost, [output.stream for output in outputs], which, windows, is_by_count)
    return Incomplete(joined * there, np.where(there < 1.0, ROWS_LOST, PARTLY_JOINED))


def least_shares(
    intervals: Sequence[ShedInterval], outputs: Sequence[Output], which: Longs, start: Longs, end: Longs
) -> Doubles:
    """Return the least sampling rate that any interval has for each answer's window; 1 where none touches it.

    Args:
        intervals: What was shed of late, or not joined, with rates by `share_name`.
        outputs: All of the network.
        which: Per answer, the place of its output among them.
        start: Where its window starts, microseconds.
        end: Where it ends, not included.
    """
    shares = [share_name(output.definition_id, output.slot) for output in outputs]
    return _least(intervals, shares, which, (start, end), np.zeros(len(which), np.bool_))


def _least(
    intervals: Sequence[ShedInterval],
    names: Sequence[str],
    which: Longs,
    windows: tuple[Longs, Longs],
    always: NDArray[np.bool_],
) -> Doubles:
    """The least rates by the names of outputs; answers that have no place in time are touched by any interval."""
    start, end = windows
    least: Doubles = np.ones(len(which))
    for interval in intervals:
        of_outputs = np.array([interval.sampling_rates.get(name, 1.0) for name in names])
        touches = always | ((end > interval.start) & (start <= interval.until))
        least = np.where(touches, np.minimum(least, of_outputs[which]), least)
    return least
