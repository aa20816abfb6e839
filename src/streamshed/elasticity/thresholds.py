"""Four thresholds of utilization: when to release workers, to shed, and to add workers ([E] Eq. 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamshed.elasticity.errors import InvalidElasticityError

SHED_FROM = 0.8
"""τ2 where nothing is said, and so the headroom of a run."""
_NAMES = ("release", "initial", "shed", "add")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Utilizations τ at which something happens: 0 < τ0 < τ1 < τ2 < τ3 ≤ 1.

    The text gives a default of τ1 only, τ1 = τ2/2: then load may double before anything is shed. Of the others it says
    no more than their order; ours are τ0 = τ1/2, so that releasing workers until τ1 halves their number, and load has
    to double again before any is missing, and τ3 = τ2 + (1 − τ2)·3/4.

    Args:
        release: τ0: at or below it, for long, workers are released; NaN: τ1/2.
        initial: τ1: what the first deployment, and each rescale, aims at; NaN: τ2/2.
        shed: τ2: from here on load is shed.
        add: τ3: at or above it, for a while, workers are added; NaN: three quarters of the way from τ2 to 1.

    Raises:
        InvalidElasticityError: They are out of order or out of range.

    Example:
        >>> Thresholds()
        Thresholds(release=0.2, initial=0.4, shed=0.8, add=0.95)
        >>> Thresholds(shed=0.6).initial
        0.3
        >>> Thresholds(shed=0.8, add=0.7)
        Traceback (most recent call last):
        streamshed.elasticity.errors.InvalidElasticityError: thresholds of utilization must be
        0 < release < initial < shed < add <= 1, got release 0.2, initial 0.4, shed 0.8, add 0.7
        (are shed and add the wrong way round?)
    """

    release: float = math.nan
    initial: float = math.nan
    shed: float = SHED_FROM
    add: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.initial):
            object.__setattr__(self, "initial", self.shed / 2)
        if math.isnan(self.release):
            object.__setattr__(self, "release", self.initial / 2)
        if math.isnan(self.add):
            object.__setattr__(self, "add", self.shed + 0.75 * (1 - self.shed))
        values = self.values
        if not (0 < values[0] < values[1] < values[2] < values[3] <= 1):
            values_text = ", ".join(f"{name} {value:g}" for name, value in zip(_NAMES, values, strict=True))
            raise InvalidElasticityError(
                f"thresholds of utilization must be 0 < release < initial < shed < add <= 1, got {values_text}"
                + self._question()
            )

    @property
    def values(self) -> tuple[float, float, float, float]:
        """The four of them, τ0 to τ3."""
        return self.release, self.initial, self.shed, self.add

    def _question(self) -> str:
        values = self.values
        if any(value > 1 for value in values):
            return " (they are shares: is one of them in percent?)"
        wrong = [place for place in range(3) if values[place] >= values[place + 1]]
        if len(wrong) != 1:
            return ""
        return f" (are {_NAMES[wrong[0]]} and {_NAMES[wrong[0] + 1]} the wrong way round?)"
