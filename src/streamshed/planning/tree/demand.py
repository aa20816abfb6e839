"""What planners know of a query: how its error depends on its effective sampling rate, and how much that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from streamshed.network.terms.goal import ErrorGoal
from streamshed.planning.tree.quantization import code_of_at_least, sampling_rate_of

LEAST_WEIGHT = 1e-3
"""What a query of weight 0 counts: it gets what others leave, and those of lower priority what it leaves."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """One query.

    Sampled at rate P, an aggregate of N rows with mean μ and deviation σ has the relative variance c·(1−P)/P,
    c = (σ²+μ²)/(N·μ²). Of a set-valued query, which asks for rows, 1 − P of them are missing: that is its error ([B04]
    §4.2).

    Args:
        query: Its name.
        coefficient: c, that of its worst aggregate; for a query that asks for rows, 1.
        weight: How much its error counts beside that of others.
        priority: Those of higher priority are shed last.
        is_protected: Whether none of its rows may be shed.
        goal: The error that it should stay within; None: as little as the load allows.
        counts_for: The query for which rows are only counted; None: this is a query itself.
        is_set_valued: Whether it asks for rows.
        whole_because: Why what it asks needs every row; None: it does not, or that is said elsewhere.

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
    goal: ErrorGoal | None = None
    counts_for: str | None = None
    whole_because: str | None = None
    is_set_valued: bool = False

    def __post_init__(self) -> None:
        for field in ("coefficient", "weight"):
            value = getattr(self, field)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"query {self.query!r}: its {field} must be finite and at least 0, got {value}")

    def relative_error(self, sampling_rate: float) -> float:
        """Return the relative standard error at an effective sampling rate: sqrt(c·(1−P)/P), or 1 − P; 0 at P = 1."""
        if self.is_set_valued:
            return 1 - sampling_rate
        return math.sqrt(self.coefficient * (1 - sampling_rate) / sampling_rate)

    def error_within(self, sampling_rate: float, confidence: float) -> float:
        """Return the error not exceeded with a confidence: z·sqrt(c·(1−P)/P), z the normal quantile, or 1 − P."""
        return (1.0 if self.is_set_valued else _deviations(confidence)) * self.relative_error(sampling_rate)

    def meets_goal(self, sampling_rate: float) -> bool:
        """Return whether its goal is met at an effective sampling rate; without one it is met at any."""
        if self.goal is None:
            return True
        most = self.goal.relative_error * (1 + _ROUNDING)
        return sampling_rate > 0 and self.error_within(sampling_rate, self.goal.confidence) <= most

    @property
    def goal_rate(self) -> float:
        """The smallest representable sampling rate that meets its goal: P ≥ c/(c + (e/z)²), or 1 − e; 0 without one.

        Example:
            A count over 5,000 rows that should be off by 2 % at most, in 95 % of cases.

            >>> count = Demand(query="count", coefficient=1 / 5000, goal=ErrorGoal(0.02, 0.95))
            >>> round(count.goal_rate, 4), count.meets_goal(count.goal_rate), count.meets_goal(0.6)
            (0.6978, True, False)
        """
        if self.goal is None:
            return 0.0
        if self.is_set_valued:
            return sampling_rate_of(code_of_at_least(max(_ROUNDING, 1 - self.goal.relative_error)))
        deviation = self.goal.relative_error / _deviations(self.goal.confidence)
        return sampling_rate_of(code_of_at_least(self.coefficient / (self.coefficient + deviation**2)))

    def hoeffding_coefficient(self, exceeded_share: float) -> float:
        """Return C of [B04] §3.1.1: with probability 1 − δ the relative error is at most C/P.

        C = sqrt((σ²+μ²)/(2·N·μ²)·ln(2/δ)) = sqrt(c/2·ln(2/δ)); of a set-valued query 1 (§4.2).

        Args:
            exceeded_share: δ, in (0, 1).
        """
        if self.is_set_valued:
            return 1.0
        return math.sqrt(self.coefficient / 2 * math.log(2 / exceeded_share))


def _deviations(confidence: float) -> float:
    """z: within so many standard deviations are the values of a normal distribution with a probability."""
    return NormalDist().inv_cdf((1 + confidence) / 2)
