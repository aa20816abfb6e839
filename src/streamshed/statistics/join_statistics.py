"""What is known of a join: the rows that come to its sides, and what the parts of its work take."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from streamshed.joins.learn.learned_prices import GUESSED_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStatistics:
    """What is known of a join; what is not is guessed, and is what a join that runs believes to begin with.

    Args:
        left_rows_per_second: λ1, rows that come to the left side, behind the operators there; None: as many as what is
            known of its stream and of these says.
        right_rows_per_second: λ2, likewise.
        compared_share: Of the λ1·λ2·(w1 + w2) pairs a second whose lag is right, the share that is compared, up to 1:
            rows that lie in different partitions, as their keys differ, are not.
        fixed_seconds: What a micro-batch without rows takes.
        seconds_per_row: What a row takes that comes in.
        seconds_per_basic_window: What it takes to read one.
        seconds_per_comparison: What a comparison takes, whatever an index saves of it.
        seconds_per_result: What a result takes.
        results_per_comparison: How many results a comparison has.

    Raises:
        ValueError: A value is negative or not finite, or more than everything is compared.

    Example:
        >>> known = JoinStatistics(seconds_per_comparison=2e-9, seconds_per_result=1e-6, results_per_comparison=0.001)
        >>> round(known.comparing_seconds(1e8), 3), round(known.overhead_seconds(rows=10_000, basic_windows=20), 3)
        (0.3, 0.017)
    """

    left_rows_per_second: float | None = None
    right_rows_per_second: float | None = None
    compared_share: float = 1.0
    fixed_seconds: float = GUESSED_SECONDS["fixed"]
    seconds_per_row: float = GUESSED_SECONDS["row"]
    seconds_per_basic_window: float = GUESSED_SECONDS["read"]
    seconds_per_comparison: float = GUESSED_SECONDS["comparison"]
    seconds_per_result: float = GUESSED_SECONDS["result"]
    results_per_comparison: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"join: {name} must be finite and at least 0, got {value}")
        if self.compared_share > 1:
            raise ValueError(f"join: compared_share must be at most 1, got {self.compared_share}")

    def overhead_seconds(self, *, rows: float, basic_windows: int) -> float:
        """Return what a micro-batch takes before anything is compared.

        Args:
            rows: That come in, of both sides.
            basic_windows: That are read.
        """
        reading = self.seconds_per_basic_window * basic_windows
        return self.fixed_seconds + self.seconds_per_row * rows + reading

    def comparing_seconds(self, comparisons: float) -> float:
        """Return what comparisons take, with their results."""
        return comparisons * (self.seconds_per_comparison + self.seconds_per_result * self.results_per_comparison)
