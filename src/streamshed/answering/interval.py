"""Between which bounds an estimate lies, with the confidence asked for."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from streamshed.answering.window_partials import Doubles, Longs


def count_interval(
    estimated: Doubles, error: Doubles, kept_rows: Longs, kept_rate: Doubles, confidence: float
) -> tuple[Doubles, Doubles]:
    """Return the bounds of counts: at least what was kept, and of nothing sampled at most ln(1/(1−confidence))/P more.

    Args:
        estimated: The counts, scaled.
        error: Their standard errors; 0 where no row was kept at a rate below 1.
        kept_rows: The rows kept.
        kept_rate: P, the least rate in force.
        confidence: Of the interval.

    >>> bounds = count_interval(np.array([0.0]), np.array([0.0]), np.array([0]), np.array([0.1]), 0.95)
    >>> [round(float(bound[0]), 1) for bound in bounds]
    [0.0, 30.0]
    """
    spread = error * _quantile(confidence)
    unseen = math.log(1 / (1 - confidence)) / kept_rate
    lower = np.maximum(estimated - spread, kept_rows.astype(float))
    return lower, estimated + np.where(error == 0.0, unseen, spread)


def normal_interval(estimated: Doubles, error: Doubles, confidence: float) -> tuple[Doubles, Doubles]:
    """Return the bounds of sums and averages; NaN, no bounds, where nothing is known of what was shed.

    >>> [round(float(bound[0]), 2) for bound in normal_interval(np.array([10.0]), np.array([1.0]), 0.95)]
    [8.04, 11.96]
    """
    spread = np.where(error == 0.0, np.nan, error * _quantile(confidence))
    return estimated - spread, estimated + spread


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)
