"""Fit what micro-batches cost to a handful of measured ones."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

ITERATIONS = 20
SETTLED = 1e-4
LARGEST_STEP = 1.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measured micro-batches, one row each, for S streams.

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
class Gaussian:
    """A normal belief about the coefficients φ.

    φ holds ln(fixed seconds), then for each stream ln(seconds per row), then for each stream the logit of its
    read share; shape (1 + 2S,). Deviations are standard deviations, entry by entry.
    """

    mean: Vector
    deviations: Vector


@dataclass(frozen=True, slots=True)
class Fit:
    """The likeliest coefficients, their covariance, and what is left unexplained (−2 ln likelihood)."""

    mean: Vector
    covariance: Matrix
    cost: float


def predicted(mean: Vector, rows: Matrix, kept: Matrix) -> tuple[Vector, Matrix]:
    """Return ln(seconds) of micro-batches, shape (K,), and its gradient by the coefficients, shape (K, 1 + 2S).

    Each entry of the gradient is the share that a coefficient has in the total (its elasticity).
    """
    count = rows.shape[1]
    fixed = math.exp(mean[0])
    full = rows * np.exp(mean[1 : 1 + count])
    read_share = 1 / (1 + np.exp(-mean[1 + count :]))
    spent = full * (read_share + (1 - read_share) * kept)
    total = fixed + spent.sum(axis=1)
    by_read_share = full * (1 - kept) * read_share * (1 - read_share)
    gradient = np.column_stack((np.full(len(rows), fixed), spent, by_read_share))
    return np.log(total), gradient / total[:, np.newaxis]


def fitted(evidence: Evidence, prior: Gaussian, start: Vector, *, gate: float) -> Fit:
    """Return the coefficients of highest posterior probability (Gauss-Newton with step halving).

    Logarithms keep costs positive and weigh an error of ×3 alike either way. Residuals beyond the gate count
    linearly instead of quadratically (Huber), so a pause of the garbage collector moves little.

    Args:
        evidence: What was measured.
        prior: What is believed without it; what the evidence does not tell stays there.
        start: Where to start from.
        gate: In standard deviations of the noise.
    """
    mean = start
    cost = _cost(mean, evidence, prior, gate)
    for _ in range(ITERATIONS):
        slope, curvature = _normal_equations(mean, evidence, prior, gate)
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        while (new_cost := _cost(mean + step, evidence, prior, gate)) > cost and np.abs(step).max() > SETTLED:
            step /= 2
        if new_cost > cost:
            break
        mean, cost = mean + step, new_cost
        if np.abs(step).max() <= SETTLED:
            break
    _, curvature = _normal_equations(mean, evidence, prior, gate)
    return Fit(mean, np.linalg.inv(curvature), cost)


def _normal_equations(
    mean: Vector, evidence: Evidence, prior: Gaussian, gate: float
) -> tuple[Vector, Matrix]:
    log_seconds, gradient = predicted(mean, evidence.rows, evidence.kept)
    residuals = (evidence.log_seconds - log_seconds) / evidence.noise_deviation
    robust = evidence.weights * gate / np.maximum(gate, np.abs(residuals))
    gradient = gradient / evidence.noise_deviation
    precision = prior.deviations**-2
    slope = gradient.T @ (robust * residuals) - precision * (mean - prior.mean)
    return slope, (gradient.T * robust) @ gradient + np.diag(precision)


def _cost(mean: Vector, evidence: Evidence, prior: Gaussian, gate: float) -> float:
    log_seconds, _ = predicted(mean, evidence.rows, evidence.kept)
    residuals = np.abs(evidence.log_seconds - log_seconds) / evidence.noise_deviation
    huber = np.where(residuals <= gate, residuals**2, 2 * gate * residuals - gate**2)
    return float(evidence.weights @ huber + (((mean - prior.mean) / prior.deviations) ** 2).sum())
