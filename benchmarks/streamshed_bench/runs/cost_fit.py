"""What a micro-batch costs: a fixed part and a part per row, fitted to measurements."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from streamshed_bench.errors import UnmeasurableCostError
from streamshed_bench.runs.micro_batches import MicroBatchTime


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearCost:
    """Seconds of a micro-batch of n rows: fixed_seconds + n · seconds_per_row.

    Args:
        fixed_seconds: What it costs without rows.
        seconds_per_row: What each row adds.
    """

    fixed_seconds: float
    seconds_per_row: float

    def seconds(self, rows: float) -> float:
        """Return how long a micro-batch of so many rows takes."""
        return self.fixed_seconds + rows * self.seconds_per_row

    def rows_within(self, seconds: float) -> float:
        """Return the rows of a micro-batch that takes so long; 0 where the fixed cost alone takes longer.

        Example:
            >>> LinearCost(fixed_seconds=0.5, seconds_per_row=1e-6).rows_within(1.5)
            1000000.0
        """
        return max(seconds - self.fixed_seconds, 0.0) / self.seconds_per_row


def fit_cost(micro_batches: Sequence[MicroBatchTime], *, least_seconds_per_row: float = 0.0) -> LinearCost:
    """Fit a line through the measurements, after Theil and Sen, so that a few disturbed ones do not matter.

    The cost per row is the median slope between micro-batches of different sizes; the fixed cost the median rest,
    at least 0.

    Args:
        micro_batches: Of at least two clearly different sizes.
        least_seconds_per_row: What a row costs at least, however little is measured of it.

    Raises:
        UnmeasurableCostError: All are of about one size, or more rows do not take more time.

    Example:
        >>> times = [(100, 1.1), (300, 1.3), (100, 1.1), (300, 9.0), (300, 1.3)]
        >>> cost = fit_cost([MicroBatchTime(rows=n, started_at_seconds=0.0, seconds=s) for n, s in times])
        >>> round(cost.fixed_seconds, 6), round(cost.seconds_per_row, 6)
        (1.0, 0.001)
    """
    slopes = [
        (many.seconds - few.seconds) / (many.rows - few.rows)
        for pair in itertools.combinations(micro_batches, 2)
        for few, many in [sorted(pair, key=lambda micro_batch: micro_batch.rows)]
        if many.rows >= max(1.5 * few.rows, 1)
    ]
    if not slopes:
        sizes = sorted({micro_batch.rows for micro_batch in micro_batches})
        raise UnmeasurableCostError(f"a cost per row needs micro-batches of clearly different sizes, got {sizes}")
    seconds_per_row = max(statistics.median(slopes), least_seconds_per_row)
    if seconds_per_row <= 0:
        raise UnmeasurableCostError(
            f"more rows took no more time ({seconds_per_row:.3g} s per row): was the machine busy?"
        )
    rest = statistics.median(each.seconds - each.rows * seconds_per_row for each in micro_batches)
    return LinearCost(fixed_seconds=max(rest, 0.0), seconds_per_row=seconds_per_row)
