"""What samples look like without the row that contributes most: as they would, had they missed it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.answering.estimate.aggregate_value import SPREADS
from streamshed.answering.estimate.central_sums import CentralSums
from streamshed.answering.estimate.effective_rows import effective_rows
from streamshed.answering.estimate.interval import enough_rows
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind

_LOST = 1e-9
"""What is left of a sum after a row was taken from it has no digits, if it is this much smaller than the row."""
_MOST = 1e9
_ALIKE = 1e-12


@dataclass(frozen=True)
class LargestRow:
    """The row of each window that contributes most to its estimate.

    Attributes:
        is_trusted_without: Whether the other rows would be enough for bounds to be trusted.
        is_trusted_with: Whether they are together with it.
        lead: q/Σq of it to all others, see `effective_rows`: how many times too small the variance would be without it.
    """

    is_trusted_without: Truths
    is_trusted_with: Truths
    lead: Doubles

    @classmethod
    def of(cls, shape: Shape, partials: WindowPartials) -> LargestRow:
        """Look at windows without their largest row.

        What is left of sums is not known where windows have several rates, or few digits are left; there all others
        count as enough if they are as many. So they do for spreads, for which nothing tells the second largest.

        Args:
            shape: Of a sum, an average or a spread.
            partials: Of windows that were sampled, with two rows or more.
        """
        enough, effective = enough_rows(shape.function), effective_rows(shape, partials)
        others = partials.doubles("present") - 1
        if shape.function in SPREADS:
            with np.errstate(divide="ignore"):
                lead = np.minimum(1.0 / (effective - 1.0), _MOST)
        else:
            lead, left = _without_largest(shape, partials)
            others = np.where(np.isnan(left), others, np.minimum(left, others))
        return cls(others >= enough, effective >= enough, lead)


def _without_largest(shape: Shape, partials: WindowPartials) -> tuple[Doubles, Doubles]:
    """How far the largest row leads, and the effective rows of the others; NaN where that is not known."""
    is_sum = shape.function is AggregateKind.SUM
    zero, weight = np.zeros(len(partials)), partials.doubles("greatest_weight")
    rows, total = partials.doubles("present_weighted"), np.nan_to_num(partials.doubles("total_weighted"))
    least, greatest = partials.doubles("least_number"), partials.doubles("greatest_number")
    mean = zero if is_sum else total / rows
    is_greatest = np.abs(greatest - mean) >= np.abs(least - mean)
    value, other = np.where(is_greatest, greatest, least), np.where(is_greatest, least, greatest)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean_left = np.where(rows > weight, (total - weight * value) / (rows - weight), mean)
        center = zero if is_sum else mean_left
        second = CentralSums.of(partials, "excess", center).power(2)
        fourth = CentralSums.of(partials, "excess_squared", center).power(4)
        largest = np.minimum(weight * (weight - 1.0) * (value - center) ** 2, np.sqrt(fourth))
        left, left_squared = second - largest, fourth - largest * largest
        lead = np.where(left > largest / _MOST, largest / left, np.where(largest > 0, _MOST, 0.0))
        is_told = (left > _LOST * largest) & (left_squared > _LOST * largest * largest)
        effective = np.where(is_told, left * left / left_squared, np.nan)
        # Of rows that contribute nothing there are no bounds, which nobody trusts.
        is_nothing = (np.abs(mean_left - other) <= _ALIKE * np.abs(value)) & (~np.bool_(is_sum) | (other == 0))
        effective = np.where(is_nothing, 0.0, effective)
    return np.nan_to_num(lead), effective
