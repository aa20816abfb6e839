"""Between which bounds an estimate lies, with the confidence asked for."""

from __future__ import annotations

import numpy as np
from scipy import special

from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.network.terms.aggregate import AggregateKind


def count_interval(
    estimated: Doubles,
    variance: Doubles,
    *,
    kept_rows: Longs,
    kept_rate: Doubles,
    confidence: float,
    of_groups: bool = False,
) -> tuple[Doubles, Doubles]:
    """Return the bounds of counts, which hold with at least the confidence asked for.

    Where all rows were kept with one rate P, k of N rows are kept with binomial probability; the bounds are the N under
    which as many as k, or as few, would be kept with probability (1 − c)/2 (Clopper and Pearson's, for N instead of P).

    Where rates have changed within a window, the rows have the sum S = Σ1/P and the variance V = Σ(1−P)/P². They are
    treated as k' = S·P' rows kept at one rate P' = S/(S + V), which have the same sum and variance. For the upper bound
    one more row of the least rate in force, of the weight w, is counted: S + w and V + w(w−1) (Fay and Feuer's bounds
    of weighted sums of counts, Statistics in Medicine 16, 1997, for binomial counts). That is the k + 1 of Clopper and
    Pearson's, and covers rows of a rate at which none was kept.

    Groups are answered only if a row of them was kept: of those of one row, one in many, as if it stood for many. Their
    lower bound is the N under which as many rows would be kept with that probability, given that any is.

    Args:
        estimated: The counts, scaled: S.
        variance: V.
        kept_rows: The rows kept.
        kept_rate: The least rate in force, 1/w.
        confidence: c, in (0, 1).
        of_groups: Whether there are no answers of what no row was kept of.

    Example:
        100 rows kept at 0.25, and none at 0.1.

        >>> lower, upper = count_interval(
        ...     np.array([400.0, 0.0]), np.array([1200.0, 0.0]),
        ...     kept_rows=np.array([100, 0]), kept_rate=np.array([0.25, 0.1]), confidence=0.95)
        >>> lower.round(1).tolist(), upper.round(1).tolist()
        ([335.0, 0.0], [475.0, 35.0])
    """
    tail, weight = (1 - confidence) / 2, 1 / kept_rate
    scaled = np.where(variance > 0, estimated, 1.0)
    mean_rate = scaled / (scaled + variance)
    lower = np.where(variance > 0, _lower(estimated * mean_rate, mean_rate, tail, of_groups=of_groups), estimated)
    with_next = estimated + weight
    next_rate = with_next / (with_next + variance + weight * (weight - 1))
    upper = np.where(kept_rate < 1, _upper(with_next * next_rate - 1, next_rate, tail), estimated)
    return np.maximum(lower, kept_rows), np.maximum(upper, estimated)


_NEARLY = 1 - 1e-9
"""As close to 1 as a rate may be."""


def _lower(rows: Doubles, sampling_rate: Doubles, tail: float, *, of_groups: bool) -> Doubles:
    """The N of which at least so many rows are kept with the tail's probability; of groups, given that any is.

    The k-th row that is kept is the N-th or an earlier one with probability I_P(k, N − k + 1), the regularized
    incomplete beta function; any row is kept with 1 − (1 − P)^N, by which the tail's probability is multiplied. N is
    found from below, so that no step is beyond it.
    """
    (kept_rows, kept_with), places = _distinct(rows, sampling_rate)
    some = np.maximum(kept_rows, _NEXT_TO_NONE)
    least: Doubles = kept_rows
    for _ in range(_STEPS if of_groups else 1):
        is_seen = -np.expm1(least * np.log1p(-np.minimum(kept_with, _NEARLY))) if of_groups else 1.0
        beyond = special.btdtrib(some, tail * is_seen, kept_with) + some - 1
        least = np.minimum(np.where(kept_rows > 0, np.maximum(beyond, 0.0), 0.0), kept_rows / kept_with)
    return least[places]


def _upper(rows: Doubles, sampling_rate: Doubles, tail: float) -> Doubles:
    """The N of which at most so many rows are kept with the tail's probability."""
    (kept_rows, kept_with), places = _distinct(rows, sampling_rate)
    most: Doubles = special.btdtrib(kept_rows + 1, 1 - tail, np.minimum(kept_with, _NEARLY)) + kept_rows
    return most[places]


_NEXT_TO_NONE = 1e-6
_STEPS = 20


def _distinct(rows: Doubles, sampling_rate: Doubles) -> tuple[Doubles, Longs]:
    """Distinct pairs and where each is: many groups have few rows each, and functions of beta are not cheap."""
    cases, places = np.unique(np.stack((rows, sampling_rate)), axis=1, return_inverse=True)
    return cases, places.ravel()


ENOUGH_ROWS = 50
"""With as many effective rows, bounds hold as often as they say, whatever they are made of."""
_ENOUGH_FOR = {AggregateKind.SUM: 15, AggregateKind.AVG: 15}


def enough_rows(function: AggregateKind) -> int:
    """Return with how many effective rows the bounds of an aggregate hold as often as they say."""
    return _ENOUGH_FOR.get(function, ENOUGH_ROWS)


def normal_interval(
    estimated: Doubles, error: Doubles, confidence: float, *, effective_rows: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the bounds of sums, averages and spreads; NaN, no bounds, where nothing is known of what was shed.

    That is so where the standard error is NaN, or 0: no row was kept that made a difference.
    They are the estimate ± t standard errors, t the quantile of Student's distribution of one degree of freedom less
    than there are effective rows: the standard error is estimated, too.

    >>> few, many = normal_interval(
    ...     np.array([10.0, 10.0]), np.array([1.0, 1.0]), 0.95, effective_rows=np.array([5.0, 500.0]))[1] - 10
    >>> round(float(few), 2), round(float(many), 2)
    (2.78, 1.96)
    """
    freedom = np.maximum(np.nan_to_num(effective_rows) - 1, 1.0)
    spread = np.where(error == 0.0, np.nan, error * special.stdtrit(freedom, 0.5 + confidence / 2))
    return estimated - spread, estimated + spread
