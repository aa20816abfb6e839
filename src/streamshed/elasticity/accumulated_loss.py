"""What has been lost for want of workers: the rent that is paid before a rescale is bought."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccumulatedLoss:
    """Loss over time, in seconds of losing everything; it fades while nothing is lost.

    Rent or buy: nobody knows how long an overload lasts. Shedding is rent, a rescale is the price. Who rents until the
    rent paid equals the price, and then buys, pays at most twice the best cost in hindsight. Loss fades: short
    overloads far between are shed, and a lasting one, however slight, is worth workers some day.

    Args:
        half_life_seconds: After so long without any, half of a loss is forgotten.
        seconds: Lost until now.
        at_seconds: When that was; None: nothing was observed yet.

    Example:
        >>> loss = AccumulatedLoss(half_life_seconds=600.0).observed(0.0, 0.5).observed(10.0, 0.5)
        >>> loss.seconds
        5.0
        >>> round(loss.observed(610.0, 0.0).seconds, 3)
        2.5
    """

    half_life_seconds: float
    seconds: float = 0.0
    at_seconds: float | None = None

    def observed(self, now_seconds: float, loss_share: float) -> AccumulatedLoss:
        """Take in the share that was lost since the observation before.

        Args:
            now_seconds: Not earlier than then.
            loss_share: In [0, 1].
        """
        elapsed = 0.0 if self.at_seconds is None else max(0.0, now_seconds - self.at_seconds)
        if loss_share > 0:
            return AccumulatedLoss(self.half_life_seconds, self.seconds + loss_share * elapsed, now_seconds)
        faded_seconds = self.seconds * 0.5 ** (elapsed / self.half_life_seconds)
        return AccumulatedLoss(self.half_life_seconds, faded_seconds, now_seconds)

    def settled(self) -> AccumulatedLoss:
        """Return it once the rescale was bought."""
        return AccumulatedLoss(self.half_life_seconds, 0.0, self.at_seconds)
