"""What a micro-batch of a join is to do."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.joins.windows.yields import Yields

_SMALLEST = 255
"""The code of the smallest rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """How much of the windows may be kept.

    Args:
        bytes: Of all basic windows of a partition.
        yields: What tells which are released first.
    """

    bytes: int
    yields: Yields


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlan:
    """What of the full join is done; by default all of it.

    Args:
        watermark_microseconds: Rows older than this are late; what only they could join is forgotten. None: nothing is.
        fractions: Per cell, the share of the new rows that are compared over its lags; None: all. Rows that are
            compared over one cell are so over all cells that have a larger share.
        keep_share: The share of new rows that is kept at all (policy `random_drop`).
        sampling_code: Of the sampled side (`JoinSpecification.sampled`) those rows take part that pass the rate P of
            this code, 10^(−code/32): a sample of the results, of which `JoinResult.strata` tells what each stands for.
        seed: What the choice of rows depends on.
        memory: None: windows are as large as they are.
        basic_multiple: Rows are stored in basic windows of so many times the join's size; None: as they are stored.
    """

    watermark_microseconds: int | None = None
    fractions: tuple[float, ...] | None = None
    keep_share: float = 1.0
    sampling_code: int = 0
    seed: int = 0
    memory: MemoryLimit | None = None
    basic_multiple: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.keep_share <= 1.0:
            raise ValueError(f"keep_share of a join plan is {self.keep_share}, expected a share in [0, 1]")
        if not 0 <= self.sampling_code <= _SMALLEST:
            raise ValueError(f"sampling_code of a join plan is {self.sampling_code}, expected one in 0 to {_SMALLEST}")
        if self.basic_multiple is not None and self.basic_multiple < 1:
            raise ValueError(f"basic_multiple of a join plan is {self.basic_multiple}, expected at least 1")
        if any(not 0.0 <= fraction <= 1.0 for fraction in self.fractions or ()):
            raise ValueError(f"fractions of a join plan are {self.fractions}, expected shares in [0, 1]")


EVERYTHING = JoinPlan()
"""The full join, no row late."""
