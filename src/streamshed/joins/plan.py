"""What a micro-batch of a join is to do."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.joins.yields import Yields


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
        fractions: Per cell, the share of its lags that new rows are compared over; None: all.
        full_share: r·γ, the share of new rows that are compared over all lags, so that yields are known.
        keep_share: The share of new rows that is kept at all (policy `random_drop`).
        key_share: The share P of keys whose rows are compared, the same on both sides: a sample of the results, each of
            which stands for 1/P. Only for conditions of equality.
        seed: What the choice of rows depends on.
        memory: None: windows are as large as they are.
    """

    watermark_microseconds: int | None = None
    fractions: tuple[float, ...] | None = None
    full_share: float = 0.0
    keep_share: float = 1.0
    key_share: float = 1.0
    seed: int = 0
    memory: MemoryLimit | None = None

    def __post_init__(self) -> None:
        shares = {"full": self.full_share, "keep": self.keep_share, "key": self.key_share}
        for name, share in shares.items():
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"{name}_share of a join plan is {share}, expected a share in [0, 1]")
        if not self.key_share:
            raise ValueError("key_share of a join plan is 0, expected more: a sample without keys stands for nothing")
        if any(not 0.0 <= fraction <= 1.0 for fraction in self.fractions or ()):
            raise ValueError(f"fractions of a join plan are {self.fractions}, expected shares in [0, 1]")


EVERYTHING = JoinPlan()
"""The full join, no row late."""
