"""How far all sampling rates can be raised together until the load is tight: λ of [B04] §3.2.1."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


class TightScale:
    """Σ seconds · min(1, max(floor, s · slope)) as a function of s, to be solved for any budget.

    The sum is linear between the points where a node leaves its floor or reaches 1, so sorting these points once solves
    it exactly for every budget, by bisection. Rates that reach 1 stay there and leave more to the others: the jump of
    [B04] §3.2.1, where the rest is solved again.

    Args:
        seconds: What each node takes if nothing is shed, at least 0.
        slopes: How fast its sampling rate rises, at least 0.
        floors: Its least sampling rate, in [0, 1].
    """

    def __init__(self, seconds: Vector, slopes: Vector, floors: Vector) -> None:
        rising = (slopes > 0) & (floors < 1) & (seconds > 0)
        self._least_seconds = float(seconds @ floors)
        growth = (seconds * slopes)[rising]
        points = np.concatenate((floors[rising] / slopes[rising], 1 / slopes[rising]))
        order = np.argsort(points, kind="stable")
        self._points = points[order]
        self._steepness = np.cumsum(np.concatenate((growth, -growth))[order])
        risen = np.cumsum(self._steepness[:-1] * np.diff(self._points))
        self._loads = self._least_seconds + np.concatenate(([0.0], risen))

    def within(self, budget_seconds: float) -> float:
        """Return the largest s that fits a budget; 0 where even the floors do not; infinity where everything fits."""
        if self._least_seconds > budget_seconds:
            return 0.0
        if not len(self._points) or self._loads[-1] <= budget_seconds:
            return math.inf
        last = int(np.searchsorted(self._loads, budget_seconds, side="right")) - 1
        return float(self._points[last] + (budget_seconds - self._loads[last]) / self._steepness[last])


def tight_scale(seconds: Vector, slopes: Vector, floors: Vector, budget_seconds: float) -> float:
    """Return the largest s at which Σ seconds · min(1, max(floor, s · slope)) fits a budget.

    Args:
        seconds: What each node takes if nothing is shed, at least 0.
        slopes: How fast its sampling rate rises, at least 0.
        floors: Its least sampling rate, in [0, 1].
        budget_seconds: What all of them may take.

    Returns:
        s; 0 where even the floors do not fit; infinity where everything fits.

    Example:
        >>> seconds, slopes = np.array([1.0, 2.0]), np.array([1.0, 0.5])
        >>> tight_scale(seconds, slopes, np.zeros(2), 1.0), tight_scale(seconds, slopes, np.zeros(2), 2.5)
        (0.5, 1.5)
        >>> tight_scale(seconds, slopes, np.zeros(2), 3.0)
        inf
    """
    return TightScale(seconds, slopes, floors).within(budget_seconds)
