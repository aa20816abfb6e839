"""Finished micro-batches of one streaming query or of several, and the speed at which they went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchTime:
    """When one micro-batch ran.

    Args:
        rows: Rows it read.
        started_at_seconds: Seconds since the epoch.
        seconds: How long it took.
    """

    rows: int
    started_at_seconds: float
    seconds: float

    @property
    def ended_at_seconds(self) -> float:
        """When it was finished."""
        return self.started_at_seconds + self.seconds


def rows_per_second(micro_batches: Sequence[MicroBatchTime], *, skipped: int) -> float:
    """Return the speed of one query: all rows ÷ all seconds, without the first micro-batches.

    Args:
        micro_batches: In order.
        skipped: How many of the first do not count.

    Example:
        >>> cold = MicroBatchTime(rows=100, started_at_seconds=0.0, seconds=9.0)
        >>> warm = MicroBatchTime(rows=100, started_at_seconds=9.0, seconds=2.0)
        >>> rows_per_second([cold, warm, warm], skipped=1)
        50.0
    """
    counted = micro_batches[skipped:]
    if not counted:
        raise ValueError(f"all {len(micro_batches)} micro-batches are skipped, expected more of them")
    return sum(one.rows for one in counted) / sum(one.seconds for one in counted)


def joint_rows_per_second(queries: Sequence[Sequence[MicroBatchTime]], *, skipped: int) -> float:
    """Return the speed of several queries that run side by side over the same rows.

    A micro-batch is through when it is through in every query; the clock runs from when the skipped ones are.

    Args:
        queries: The micro-batches of each, in order; all over the same rows.
        skipped: How many of the first do not count.

    Example:
        >>> fast = [MicroBatchTime(rows=100, started_at_seconds=2.0 * n, seconds=2.0) for n in range(3)]
        >>> slow = [MicroBatchTime(rows=100, started_at_seconds=4.0 * n, seconds=4.0) for n in range(3)]
        >>> joint_rows_per_second([fast, slow], skipped=1)
        25.0
    """
    lengths = {len(micro_batches) for micro_batches in queries}
    if len(lengths) != 1 or not 0 <= skipped < min(lengths):
        raise ValueError(f"queries ran through {sorted(lengths)} micro-batches, expected one number above {skipped}")
    last = _through(queries, -1)
    begin = _through(queries, skipped - 1) if skipped else min(query[0].started_at_seconds for query in queries)
    return sum(one.rows for one in queries[0][skipped:]) / (last - begin)


def _through(queries: Sequence[Sequence[MicroBatchTime]], number: int) -> float:
    """When a micro-batch was through in every query."""
    return max(micro_batches[number].ended_at_seconds for micro_batches in queries)
