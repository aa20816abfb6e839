"""Answers over joins that were not done fully: what is there is true, and more may be missing than anybody knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.answering.table.output import Output
from streamshed.answering.table.shed_interval import ShedInterval, share_name
from streamshed.answering.table.window_partials import Doubles, Longs

PARTLY_JOINED = "partly joined"


def least_shares(
    intervals: Sequence[ShedInterval], outputs: Sequence[Output], which: Longs, start: Longs, end: Longs
) -> Doubles:
    """Return the least sampling rate that any interval has for each answer's window; 1 where none touches it.

    Args:
        intervals: What was shed of late, or not joined.
        outputs: All of the network.
        which: Per answer, the place of its output among them.
        start: Where its window starts, microseconds.
        end: Where it ends, not included.
    """
    least: Doubles = np.ones(len(which))
    shares = [share_name(output.definition_id, output.slot) for output in outputs]
    for interval in intervals:
        sampling_rates = interval.sampling_rates
        of_outputs = np.array([sampling_rates.get(share, 1.0) for share in shares])
        touches = (end > interval.start) & (start <= interval.until)
        least = np.where(touches, np.minimum(least, of_outputs[which]), least)
    return least
