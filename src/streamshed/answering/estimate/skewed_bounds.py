"""Bounds that reach farther to where large values may be missing from a sample."""

from __future__ import annotations

import numpy as np
from scipy import special

from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind


def skewed_bounds(
    shape: Shape,
    partials: WindowPartials,
    estimated: Doubles,
    error: Doubles,
    confidence: float,
    largest: Doubles | None = None,
) -> tuple[Doubles, Doubles]:
    """Return the bounds of counts, sums and averages, NaN where there are none: of sums of both signs, and of all else.

    They are those of `skewed_interval`: of a count or sum as it is, of an average from the nearer one of the extremes
    of the rows kept, so that the contributions have one sign.

    Args:
        shape: What is asked.
        partials: Of windows.
        estimated: Counts, sums or averages.
        error: Their standard errors.
        confidence: c, in (0, 1).
        largest: What one more row would add at the least rate; None: the largest value that was kept.
    """
    least, greatest = partials.doubles("least_number"), partials.doubles("greatest_number")
    origin, reach, divisor = np.zeros(len(partials)), np.ones(len(partials)), np.ones(len(partials))
    match shape.function:
        case AggregateKind.COUNT:
            pass
        case AggregateKind.SUM:
            origin = np.where((least >= 0) | (greatest <= 0), 0.0, np.nan)
            reach = np.maximum(-least, greatest)
        case AggregateKind.AVG:
            with np.errstate(invalid="ignore"):
                below, above = estimated - least, greatest - estimated
                origin = np.where(above >= below, least, greatest)
                reach, divisor = np.maximum(np.maximum(below, above), 0.0), partials.doubles("present_weighted")
        case _:
            unknown = np.full(len(partials), np.nan)
            return unknown, unknown
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = reach * partials.doubles("greatest_weight") if largest is None else largest
        error = np.where(error > 0, error, np.nan)
        lower, upper = skewed_interval(estimated - origin, error, largest / divisor, confidence)
        return lower + origin, upper + origin


def skewed_interval(estimated: Doubles, error: Doubles, largest: Doubles, confidence: float) -> tuple[Doubles, Doubles]:
    """Return the bounds of sums of values of one sign, which lie farther from 0 than those of a normal distribution.

    A sum over a sample is one of Poisson counts, one of each value, with the weights v/P. With y the sum, V its
    variance and w the largest weight, the bounds are the quantiles of the gamma distributions with the means y and
    y + w, and the variances V and V + w² (Fay and Feuer, Statistics in Medicine 16, 1997).

    Args:
        estimated: y, below 0 where the values are.
        error: √V.
        largest: w, at least 0.
        confidence: c, in (0, 1).

    Example:
        10 rows of 1, kept at a rate near 0, and scaled by 1: Garwood's interval of a Poisson count.

        >>> lower, upper = skewed_interval(np.array([10.0]), np.sqrt([10.0]), np.array([1.0]), 0.95)
        >>> lower.round(2).tolist(), upper.round(2).tolist()
        ([4.8], [18.39])
    """
    tail, size, variance = (1 - confidence) / 2, np.abs(estimated), error * error
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        near = variance / size * special.gammaincinv(size * size / variance, tail)
        size, variance = size + largest, variance + largest * largest
        far = variance / size * special.gammaincinv(size * size / variance, 1 - tail)
    is_negative = estimated < 0
    return np.where(is_negative, -far, near), np.where(is_negative, -near, far)
