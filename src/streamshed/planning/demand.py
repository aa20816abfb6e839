"""What planners know of a query: how its error depends on its effective sampling rate, and how much that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """One query.

    Sampled at rate P, an aggregate of N rows with mean μ and deviation σ has the relative variance c·(1−P)/P,
    c = (σ²+μ²)/(N·μ²).

    Args:
        query: Its name.
        coefficient: c, that of its worst aggregate; for a query that asks for rows, 1.
        weight: How much its error counts beside that of others.
        priority: Those of higher priority are shed last.
        is_protected: Whether none of its rows may be shed.

    Raises:
        ValueError: The coefficient or the weight is below 0 or not finite.

    Example:
        A count over 500 rows.

        >>> count = Demand(query="count", coefficient=1 / 500)
        >>> round(count.relative_error(0.5), 4), round(count.hoeffding_coefficient(0.01), 4)
        (0.0447, 0.0728)
    """

    query: str
    coefficient: float
    weight: float = 1.0
    priority: int = 0
    is_protected: bool = False

    def __post_init__(self) -> None:
        for field in ("coefficient", "weight"):
            value = getattr(self, field)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"query {self.query!r}: its {field} must be finite and at least 0, got {value}")

    def relative_error(self, sampling_rate: float) -> float:
        """Return the relative standard error at an effective sampling rate: sqrt(c·(1−P)/P), 0 at P = 1."""
        return math.sqrt(self.coefficient * (1 - sampling_rate) / sampling_rate)

    def hoeffding_coefficient(self, exceeded_share: float) -> float:
        """Return C of [B04] §3.1.1: with probability 1 − δ the relative error is at most C/P.

        C = sqrt((σ²+μ²)/(2·N·μ²)·ln(2/δ)) = sqrt(c/2·ln(2/δ)).

        Args:
            exceeded_share: δ, in (0, 1).
        """
        return math.sqrt(self.coefficient / 2 * math.log(2 / exceeded_share))
