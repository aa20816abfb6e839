"""One step of recursive least squares for positive coefficients, robust to single outliers.

The state φ holds logarithms of costs (and logits of shares), the measurement z is the logarithm of a
duration: costs stay positive without clipping, an error of ×3 is the same distance either way, and noise of
so many percent has the same weight at every load. It is the iterated extended Kalman filter, i.e. recursive
least squares with forgetting (A. H. Jazwinski, Stochastic Processes and Filtering Theory, 1970, §8.3), where
φ walks at random instead of old measurements being forgotten: what a measurement cannot see keeps its mean.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

ITERATIONS = 4
"""Gauss-Newton steps; a log-sum of exponentials is close to linear, two already settle within 1 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """How much a filter believes its state and its measurements.

    Args:
        noise_deviation: Standard deviation of a measurement around its prediction (log: 0.1 is ±10 %).
        gate: Residuals beyond so many standard deviations are outliers.
    """

    noise_deviation: float = 0.1
    gate: float = 3.0


@dataclass(frozen=True, slots=True)
class FilterState:
    """A normal belief about φ, and whether the last measurement was an outlier.

    Args:
        mean: φ, one entry per coefficient.
        covariance: Its uncertainty.
        suspicion: +1 or −1 after a measurement beyond the gate (too long or too short), else 0.
    """

    mean: Vector
    covariance: Matrix
    suspicion: int = 0


def updated(
    state: FilterState,
    measured: float,
    predict: Callable[[Vector], tuple[float, Vector]],
    *,
    may_jump: Vector,
    settings: FilterSettings,
) -> FilterState:
    """Learn from one measurement.

    A first outlier is clipped to the gate, so a single pause of the garbage collector moves little. A second
    one in a row on the same side is no accident: the belief about coefficients that may jump is widened until
    it explains the measurement.

    Args:
        state: What is believed, including the random walk since the last measurement.
        measured: z.
        predict: φ → (h(φ), gradient of h at φ).
        may_jump: 1 for each coefficient that may change at once, 0 for those that only drift.
        settings: Noise and gate.

    Returns:
        The new belief.

    Example:
        A scalar, believed to be 0 ± 1, measured as 1 ± 1: half way.

        >>> prior = FilterState(np.zeros(1), np.eye(1))
        >>> identity = lambda mean: (float(mean[0]), np.ones(1))
        >>> settings = FilterSettings(noise_deviation=1.0)
        >>> updated(prior, 1.0, identity, may_jump=np.ones(1), settings=settings).mean.tolist()
        [0.5]
    """
    predicted, gradient = predict(state.mean)
    residual = measured - predicted
    noise = settings.noise_deviation**2
    explained = float(gradient @ state.covariance @ gradient)
    widest = settings.gate * math.sqrt(explained + noise)
    side = 0 if abs(residual) <= widest else int(math.copysign(1, residual))
    covariance = state.covariance
    if side and side == state.suspicion and explained > 0:
        widening = 1 + may_jump * max(0.0, abs(residual) / math.sqrt(explained) - 1)
        covariance = covariance * np.outer(widening, widening)
        target = measured
    else:
        target = predicted + max(-widest, min(widest, residual))
    mean, covariance = _solved(state.mean, covariance, target, predict, noise)
    return FilterState(mean, covariance, side)


def _solved(
    prior_mean: Vector,
    prior_covariance: Matrix,
    target: float,
    predict: Callable[[Vector], tuple[float, Vector]],
    noise: float,
) -> tuple[Vector, Matrix]:
    mean = prior_mean
    for _ in range(ITERATIONS):
        predicted, gradient = predict(mean)
        spread = prior_covariance @ gradient
        gain = spread / (float(gradient @ spread) + noise)
        mean = prior_mean + gain * (target - predicted - float(gradient @ (prior_mean - mean)))
    covariance = prior_covariance - np.outer(gain, spread)
    return mean, (covariance + covariance.T) / 2
