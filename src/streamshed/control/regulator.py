"""Feedback: a correction for what the load model gets wrong and does not learn fast enough."""

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class RegulatorSettings:
    """Gains and limits of the feedback.

    With e the model's log error and u the log correction in force, one step of the closed loop is

        I ← I + integral_gain · (e − u),    u = I + proportional_gain · (e − u)

    whose characteristic polynomial is λ² − (1 − p − i)·λ − p. It is stable for i + 2p < 2 and i > 0; with
    p + i well below 1 it does not ring, even when measurements come one micro-batch late.

    Args:
        proportional_gain: p.
        integral_gain: i.
        largest_error: Limit of a single error, as a factor: what one measurement may contribute.
        largest_correction: Limit of the correction, as a factor either way.

    Raises:
        ValueError: A gain is negative, or a limit is not above 1.
    """

    proportional_gain: float = 0.15
    integral_gain: float = 0.3
    largest_error: float = 1.15
    largest_correction: float = 3.0

    def __post_init__(self) -> None:
        if self.proportional_gain < 0 or self.integral_gain < 0:
            raise ValueError(f"regulator: gains must be at least 0, got {self.proportional_gain}, {self.integral_gain}")
        if not (self.largest_error > 1 and self.largest_correction > 1):
            raise ValueError(
                f"regulator: limits are factors above 1, got {self.largest_error} and {self.largest_correction}"
            )


@dataclass(frozen=True, slots=True)
class Regulator:
    """A PI controller of the load model's relative error, in logarithms.

    Its input is what the model, having just learned from a measurement, still cannot explain of it; so it
    does not add to what the model learns anyway. It is an error of prediction, not a distance from a set
    point: a plan at a limit (everything kept, or nothing left to shed) does not wind the integral up, and the
    clamp of the integral bounds what outliers leave behind.

    Args:
        settings: Gains and limits.
        integral: The integral part of the log correction.
        proportional: The part that reacts to the last error only.

    Example:
        >>> regulator = Regulator(RegulatorSettings(proportional_gain=0.1, integral_gain=0.4))
        >>> regulator.correction
        1.0
        >>> for _ in range(9):
        ...     in_force = regulator.correction
        ...     regulator = regulator.updated(
        ...         measured_seconds=1.2, predicted_seconds=1.0, correction=in_force)
        >>> round(regulator.correction, 2)
        1.2
    """

    settings: RegulatorSettings
    integral: float = 0.0
    proportional: float = 0.0

    @property
    def correction(self) -> float:
        """What predicted seconds have to be multiplied by."""
        limit = math.log(self.settings.largest_correction)
        return math.exp(_clamped(self.integral + self.proportional, limit))

    def updated(self, *, measured_seconds: float, predicted_seconds: float, correction: float) -> "Regulator":
        """Learn from one micro-batch.

        Args:
            measured_seconds: How long it took.
            predicted_seconds: What the model says, after having learned from it, without correction.
            correction: The correction that was in force when it was planned.
        """
        error = _clamped(
            math.log(measured_seconds / (predicted_seconds * correction)),
            math.log(self.settings.largest_error),
        )
        return replace(
            self,
            integral=_clamped(
                self.integral + self.settings.integral_gain * error,
                math.log(self.settings.largest_correction),
            ),
            proportional=self.settings.proportional_gain * error,
        )


def _clamped(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))
