"""Large values are kept likelier than small ones: what that saves where few rows carry a sum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.tree.quantization import SMALLEST, WHOLE, sampling_rate_of
from streamshed.statistics.network_statistics import Moments

WORTH = 0.8
"""Rows are chosen by size where that brings the squared error below this share of what it is without."""

_LEAST_SPREAD = 1.05
"""Values with E[v²] below this times E[|v|]² are all alike."""

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How the sizes |v| of values are spread: as a lognormal distribution with their mean and their mean square.

    A row is kept with probability π(v) = min(1, b·max(1, |v|/τ)), τ the mean size: a sum needs its large values, and
    with probability proportional to size they all contribute alike. None is kept with less than b, so that counts and
    averages of the same rows do not suffer.

    Args:
        mean: E|v|.
        square: E[v²], at least 1.05 times the mean's square.

    Example:
        Values as unlike as those of an exponential distribution: a sum has little more than half the variance.

        >>> sizes = Sizes(mean=1.0, square=2.0)
        >>> round(sizes.mean_lift, 3), round(sizes.mean_lift * sizes.lifted_square, 3)
        (1.323, 1.155)
    """

    mean: float
    square: float

    @property
    def mean_lift(self) -> float:
        """E[max(1, |v|/τ)]: how many times likelier than b a row is kept."""
        return self._below(0, 1.0) + self._above(1, 1.0)

    @property
    def lifted_count(self) -> float:
        """E[1/max(1, |v|/τ)]."""
        return self._below(0, 1.0) + self._above(-1, 1.0)

    @property
    def lifted_mean(self) -> float:
        """E[|v|/max(1, |v|/τ)]."""
        return self.mean * (self._below(1, 1.0) + self._above(0, 1.0))

    @property
    def lifted_square(self) -> float:
        """E[v²/max(1, |v|/τ)]."""
        return self.mean**2 * (self._below(2, 1.0) + self._above(1, 1.0))

    def kept_share(self, base_rate: float) -> float:
        """Return E[π] for a rate b."""
        surely = 1 / base_rate
        proportionally = self._above(1, 1.0) - self._above(1, surely)
        return base_rate * (self._below(0, 1.0) + proportionally) + self._above(0, surely)

    def base_code(self, sampling_rate: float) -> int:
        """Return the code of the largest b under which no more than a share of the rows is kept."""
        low, high = WHOLE, SMALLEST
        while low < high:
            middle = (low + high) // 2
            fits = self.kept_share(sampling_rate_of(middle)) <= sampling_rate
            low, high = (low, middle) if fits else (middle + 1, high)
        return low

    @property
    def _variance(self) -> float:
        """That of ln |v|."""
        return math.log(self.square / self.mean**2)

    def _below(self, power: int, limit: float) -> float:
        """E[x^power; x < limit], x = |v|/τ."""
        return self._moment(power) * _NORMAL.cdf(self._standardized(power, limit))

    def _above(self, power: int, limit: float) -> float:
        return self._moment(power) * _NORMAL.cdf(-self._standardized(power, limit))

    def _moment(self, power: int) -> float:
        return math.exp((power * power - power) * self._variance / 2)

    def _standardized(self, power: int, limit: float) -> float:
        return (math.log(limit) + self._variance / 2 - power * self._variance) / math.sqrt(self._variance)


def sizes_of(moments: Moments) -> Sizes | None:
    """Return how sizes are spread; None where all are much alike, or nothing of them is known."""
    mean, square = moments.mean_size, moments.deviation**2 + moments.mean**2
    if mean <= 0 or not math.isfinite(square) or square <= _LEAST_SPREAD * mean**2:
        return None
    return Sizes(mean=mean, square=square)


def lifted_spread(sizes: Sizes, kind: AggregateKind, moments: Moments) -> float:
    """Return N·c of an aggregate whose rows are chosen by size: its variance is c·(1−P)/P, P the share that is kept.

    Args:
        sizes: Of the values.
        kind: COUNT, SUM or AVG.
        moments: Of the values; not asked for by COUNT.
    """
    if kind is AggregateKind.COUNT:
        return sizes.mean_lift * sizes.lifted_count
    if moments.mean == 0:
        return math.inf
    spread = sizes.lifted_square
    if kind is AggregateKind.AVG:
        # Of values of both signs the mixed term is not known; without it the error is overrated.
        mixed = 2 * abs(moments.mean) * sizes.lifted_mean if moments.mean_size <= abs(moments.mean) * _ALIKE else 0.0
        spread += moments.mean**2 * sizes.lifted_count - mixed
    return sizes.mean_lift * spread / moments.mean**2


_ALIKE = 1 + 1e-9

CHOSEN_BY_SIZE = frozenset({AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.AVG})
"""What gains, or at least does not lose much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedSampling:
    """How the rows of a query are chosen by size.

    Args:
        column: Of the stream: v.
        sizes: How its values are spread.
    """

    column: str
    sizes: Sizes

    @property
    def threshold(self) -> float:
        """τ: rows with larger values are kept likelier."""
        return self.sizes.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Queries that would all have their rows chosen by the same column.

    Args:
        stream: Their stream.
        sampling: How their rows would be chosen.
        coefficients: Per query, c without and with that.
        weights: Per query.
    """

    stream: str
    sampling: SizedSampling
    coefficients: Mapping[str, tuple[float, float]]
    weights: Mapping[str, float]

    @property
    def squared_errors(self) -> tuple[float, float]:
        """Σ w²·c without and with it."""
        without, with_it = (
            sum(self.weights[query] ** 2 * pair[place] for query, pair in self.coefficients.items()) for place in (0, 1)
        )
        return without, with_it


def chosen(choices: Sequence[Choice]) -> dict[str, tuple[SizedSampling, float]]:
    """Return, for the queries whose rows are best chosen by size, how, and the c that they then have.

    A stream's rows are told apart by one column, with one threshold: that for which the squared errors fall most.
    """
    worth = [choice for choice in choices if choice.squared_errors[1] <= WORTH * choice.squared_errors[0]]
    samplings: dict[str, tuple[SizedSampling, float]] = {}
    for stream in dict.fromkeys(choice.stream for choice in worth):
        of_stream = [choice for choice in worth if choice.stream == stream]
        gains = {choice.sampling.column: 0.0 for choice in of_stream}
        for choice in of_stream:
            gains[choice.sampling.column] += choice.squared_errors[0] - choice.squared_errors[1]
        column = max(gains, key=lambda name: (gains[name], name))
        taken = [choice for choice in of_stream if choice.sampling.column == column]
        heaviest = max(taken, key=lambda choice: choice.squared_errors[0])
        for choice in taken:
            for query, (_, coefficient) in choice.coefficients.items():
                samplings[query] = (heaviest.sampling, coefficient)
    return samplings
