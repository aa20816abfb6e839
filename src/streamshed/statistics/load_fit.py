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
        kept: Sampling rates; shape (K, S).
        log_seconds: ln of how long they took; shape (K,).
        weights: How much each counts; shape (K,).
        noise_deviation: Standard deviation of ln(seconds) around a perfect prediction.
    """

    rows: Matrix
    kept: Matrix
    log_seconds: Vector
    weights: Vector
    noise_deviation: float


@dataclass(frozen=True, slots=True)
class PriorBelief:
    """What is believed of the coefficients φ without evidence: independent and normal.

    φ holds ln(fixed seconds), then for each stream ln(seconds per row), then for each stream the logit of its
    read share.

    Args:
        mean: Shape (1 + 2S,).
        deviations: Standard deviations; shape (1 + 2S,).
    """

    mean: Vector
    deviations: Vector


@dataclass(frozen=True, slots=True)
class Fit:
    """The likeliest coefficients.

    Args:
        mean: φ; shape (1 + 2S,).
        covariance: Its uncertainty; shape (1 + 2S, 1 + 2S).
        cost: What is left unexplained: −2 ln of the posterior density, but for a constant.
    """

    mean: Vector
    covariance: Matrix
    cost: float


def predicted(mean: Vector, rows: Matrix, kept: Matrix) -> tuple[Vector, Matrix]:
    """Predict micro-batches.

    Args:
        mean: φ.
        rows: Offered rows; shape (K, S).
        kept: Sampling rates; shape (K, S).

    Returns:
        ln(seconds), shape (K,), and its gradient by φ, shape (K, 1 + 2S): for a cost, its share in the total.

    Example:
        A fixed second, and 1000 rows of 2 ms of which a quarter is reading, kept at 0.5.

        >>> phi = np.array([0.0, math.log(0.002), math.log(1 / 3)])
        >>> log_seconds, gradient = predicted(phi, np.array([[1000.0]]), np.array([[0.5]]))
        >>> np.exp(log_seconds).round(3).tolist(), gradient.round(3).tolist()
        ([2.25], [[0.444, 0.556, 0.083]])
    """
    fixed, spent = _seconds(mean, rows, kept)
    streams = rows.shape[1]
    read_share = 1 / (1 + np.exp(-mean[1 + streams :]))
    full = rows * np.exp(mean[1 : 1 + streams])
    total = fixed + spent.sum(axis=1)
    gradient = np.empty((len(rows), len(mean)))
    gradient[:, 0] = fixed
    gradient[:, 1 : 1 + streams] = spent
    gradient[:, 1 + streams :] = full * (1 - kept) * (read_share * (1 - read_share))
    return np.log(total), gradient / total[:, np.newaxis]


def _seconds(mean: Vector, rows: Matrix, kept: Matrix) -> tuple[float, Matrix]:
    """Return the fixed seconds, and those spent on the rows of each stream, shape (K, S)."""
    streams = rows.shape[1]
    read_share = 1 / (1 + np.exp(-mean[1 + streams :]))
    return math.exp(mean[0]), rows * np.exp(mean[1 : 1 + streams]) * (read_share + (1 - read_share) * kept)


def fitted(evidence: Evidence, prior: PriorBelief, start: Vector) -> Fit:
    """Return the coefficients of highest posterior probability (Gauss-Newton with halved steps).

    In logarithms costs stay positive, an error of ×3 is the same either way, and noise of so many percent has
    the same weight at every load. What the evidence does not tell stays as the prior says: at a sampling rate
    of 1 the gradient by the read share is zero.

    Args:
        evidence: What was measured.
        prior: What is believed without it.
        start: Where to start from.
    """
    mean, cost = start, _cost(start, evidence, prior)
    for _ in range(ITERATIONS):
        slope, curvature = _normal_equations(mean, evidence, prior)
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), LARGEST_STEP))
        new_cost = _cost(mean + step, evidence, prior)
        while new_cost > cost and np.abs(step).max() > SETTLED:
            step = step / 2
            new_cost = _cost(mean + step, evidence, prior)
        if new_cost > cost:
            break
        mean, cost = mean + step, new_cost
        if np.abs(step).max() <= SETTLED:
            break
    _, curvature = _normal_equations(mean, evidence, prior)
    covariance: Matrix = np.linalg.inv(curvature).astype(np.float64)
    return Fit(mean, covariance, cost)


def dear_rows(evidence: Evidence, prior: PriorBelief) -> Vector:
    """Return coefficients under which half of every second goes to rows: somewhere to start a fit from.

    Where rows are believed to cost next to nothing, no small step shows that they cost a lot.

    Args:
        evidence: What was measured.
        prior: What is believed without it.

    Example:
        >>> evidence = Evidence(np.array([[1000.0]]), np.ones((1, 1)), np.log([2.0]), np.ones(1), 0.1)
        >>> np.exp(dear_rows(evidence, PriorBelief(np.zeros(3), np.ones(3)))).round(3).tolist()
        [1.0, 0.001, 1.0]
    """
    half = np.exp(evidence.log_seconds) / 2
    streams = evidence.rows.shape[1]
    mean = prior.mean.copy()
    mean[0] = math.log(np.median(half))
    for stream in range(streams):
        rows = evidence.rows[:, stream]
        if (rows > 0).any():
            mean[1 + stream] = math.log(np.median(half[rows > 0] / rows[rows > 0]) / streams)
    return mean


def _normal_equations(mean: Vector, evidence: Evidence, prior: PriorBelief) -> tuple[Vector, Matrix]:
    log_seconds, gradient = predicted(mean, evidence.rows, evidence.kept)
    residuals = (evidence.log_seconds - log_seconds) / evidence.noise_deviation
    robust = evidence.weights * GATE / np.maximum(GATE, np.abs(residuals))
    gradient = gradient / evidence.noise_deviation
    precision = prior.deviations**-2
    slope = gradient.T @ (robust * residuals) - precision * (mean - prior.mean)
    return slope, (gradient.T * robust) @ gradient + np.diag(precision)


def _cost(mean: Vector, evidence: Evidence, prior: PriorBelief) -> float:
    fixed, spent = _seconds(mean, evidence.rows, evidence.kept)
    log_seconds = np.log(fixed + spent.sum(axis=1))
    residuals = np.abs(evidence.log_seconds - log_seconds) / evidence.noise_deviation
    huber = np.where(residuals <= GATE, residuals**2, 2 * GATE * residuals - GATE**2)
    return float(evidence.weights @ huber + (((mean - prior.mean) / prior.deviations) ** 2).sum())
