"""Fit what micro-batches cost to a handful of measured ones: robust least squares with a prior."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

GATE = 2.0
"""Residuals beyond so many standard deviations count linearly instead of quadratically (Huber)."""

ITERATIONS = 20
SETTLED = 1e-4
LARGEST_STEP = 1.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """K measured micro-batches of S streams.

    Args:
        rows: Offered rows; shape (K, S).
        shares_done: Shares of the work on their rows that were done; shape (K, S).
        log_seconds: ln of how long they took; shape (K,).
        deviations: Standard deviation of each ln(seconds) around a perfect prediction; shape (K,).
    """

    rows: Matrix
    shares_done: Matrix
    log_seconds: Vector
    deviations: Vector


@dataclass(frozen=True, slots=True)
class PriorBelief:
    """What is believed of the coefficients φ without evidence: normal, and independent but for cheap rows.

    φ holds ln(fixed seconds), then for each stream ln(seconds to read a row), then for each stream ln(seconds of work
    on a row). Where work is cheaper than the mean, reading is believed to be cheaper in proportion, as on a machine
    that is faster; where it is dearer, that is the work's own. And it is rather dearer: if cheaper than the mean, it
    is off by twice as many deviations.

    Args:
        mean: Shape (1 + 2S,).
        deviations: Standard deviations; shape (1 + 2S,).
    """

    mean: Vector
    deviations: Vector

    @property
    def streams(self) -> int:
        """S."""
        return len(self.mean) // 2

    def deviates(self, mean: Vector) -> tuple[Vector, Matrix]:
        """Return how many deviations coefficients are off, shape (1 + 2S,), and its gradient by them.

        Example:
            Work at a tenth: that reading is at a fifth is twice as much as expected.

            >>> belief = PriorBelief(mean=np.log([1.0, 1e-6, 1e-5]), deviations=np.array([1.0, 1.0, 2.0]))
            >>> belief.deviates(np.log([2.0, 2e-7, 1e-6]))[0].round(2).tolist()
            [0.69, 0.69, -2.3]
        """
        reading, work = slice(1, 1 + self.streams), slice(1 + self.streams, None)
        off, gradient, deviations = mean - self.mean, np.eye(len(mean)), self.deviations.copy()
        is_cheaper = off[work] < 0
        gradient[reading, work] = -np.diag(is_cheaper.astype(float))
        off[reading] -= np.minimum(0.0, off[work])
        deviations[work] /= 1.0 + is_cheaper
        return off / deviations, gradient / deviations[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Fit:
    """The likeliest coefficients.

    Args:
        mean: φ; shape (1 + 2S,).
        cost: What is left unexplained: −2 ln of the posterior density, but for a constant.
    """

    mean: Vector
    cost: float


def predicted(mean: Vector, rows: Matrix, shares_done: Matrix) -> tuple[Vector, Matrix]:
    """Predict micro-batches.

    Args:
        mean: φ.
        rows: Offered rows; shape (K, S).
        shares_done: Shares of the work on their rows that are done; shape (K, S).

    Returns:
        ln(seconds), shape (K,), and its gradient by φ, shape (K, 1 + 2S): each cost's share in the total.

    Example:
        A fixed second, and 1000 rows that take 0.5 ms to read and 1.5 ms of work, which is done on half of them.

        >>> phi = np.log([1.0, 0.0005, 0.0015])
        >>> log_seconds, gradient = predicted(phi, np.array([[1000.0]]), np.array([[0.5]]))
        >>> np.exp(log_seconds).round(3).tolist(), gradient.round(3).tolist()
        ([2.25], [[0.444, 0.222, 0.333]])
    """
    seconds = np.exp(mean) * np.hstack([np.ones((len(rows), 1)), rows, rows * shares_done])
    total = seconds.sum(axis=1)
    return np.log(total), seconds / total[:, np.newaxis]


def fitted(evidence: Evidence, prior: PriorBelief, start: Vector) -> Fit:
    """Return the coefficients of highest posterior probability (Gauss-Newton with halved steps).

    In logarithms costs stay positive, an error of ×3 is the same either way, and noise of so many percent has
    the same weight at every load. What the evidence does not tell is as the prior says: while everything is kept,
    reading and work are only known together.

    Args:
        evidence: What was measured.
        prior: What is believed without it.
        start: Where to start from.
    """
    mean, cost = start, unexplained(start, evidence, prior)
    for _ in range(ITERATIONS):
        slope, curvature = _normal_equations(mean, evidence, prior)
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), LARGEST_STEP))
        new_cost = unexplained(mean + step, evidence, prior)
        while new_cost > cost and np.abs(step).max() > SETTLED:
            step = step / 2
            new_cost = unexplained(mean + step, evidence, prior)
        if new_cost > cost:
            break
        mean, cost = mean + step, new_cost
        if np.abs(step).max() <= SETTLED:
            break
    return Fit(mean, cost)


def covariance(mean: Vector, evidence: Evidence, prior: PriorBelief) -> Matrix:
    """Return how uncertain fitted coefficients are; shape (1 + 2S, 1 + 2S)."""
    _, curvature = _normal_equations(mean, evidence, prior)
    return np.linalg.inv(curvature).astype(np.float64)


def dear_work(evidence: Evidence, prior: PriorBelief) -> Vector:
    """Return coefficients under which half of every second goes to work on rows: somewhere to start a fit from.

    Where that is believed to cost next to nothing, no small step shows that it costs a lot.

    Args:
        evidence: What was measured.
        prior: What is believed without it.

    Example:
        >>> evidence = Evidence(np.array([[1000.0]]), np.ones((1, 1)), np.log([2.0]), np.ones(1))
        >>> np.exp(dear_work(evidence, PriorBelief(np.zeros(3), np.ones(3)))).round(3).tolist()
        [1.0, 1.0, 0.001]
    """
    half = np.exp(evidence.log_seconds) / 2
    streams = evidence.rows.shape[1]
    mean = prior.mean.copy()
    if len(half):
        mean[0] = math.log(np.median(half))
    for stream, done in enumerate((evidence.rows * evidence.shares_done).T):
        if (telling := done > _LEAST_DONE).any():
            mean[1 + streams + stream] = math.log(np.median(half[telling] / done[telling]) / streams)
    return mean


_LEAST_DONE = 1e-3
"""Of a row: less work than this tells nothing of what work costs."""


def _normal_equations(mean: Vector, evidence: Evidence, prior: PriorBelief) -> tuple[Vector, Matrix]:
    log_seconds, gradient = predicted(mean, evidence.rows, evidence.shares_done)
    residuals = (evidence.log_seconds - log_seconds) / evidence.deviations
    robust = GATE / np.maximum(GATE, np.abs(residuals))
    gradient = gradient / evidence.deviations[:, np.newaxis]
    off, prior_gradient = prior.deviates(mean)
    slope = gradient.T @ (robust * residuals) - prior_gradient.T @ off
    return slope, (gradient.T * robust) @ gradient + prior_gradient.T @ prior_gradient


def unexplained(mean: Vector, evidence: Evidence, prior: PriorBelief) -> float:
    """Return what coefficients leave unexplained of evidence and prior: `Fit.cost`."""
    log_seconds, _ = predicted(mean, evidence.rows, evidence.shares_done)
    residuals = np.abs(evidence.log_seconds - log_seconds) / evidence.deviations
    huber = np.where(residuals <= GATE, residuals**2, 2 * GATE * residuals - GATE**2)
    return float(huber.sum() + (prior.deviates(mean)[0] ** 2).sum())
