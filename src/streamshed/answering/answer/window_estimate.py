"""Aggregates of windows with what is known of their error, and the columns of answers that this becomes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamshed.answering.table.window_partials import Doubles, Truths


@dataclass(frozen=True, slots=True)
class Estimate:
    """Aggregates of windows.

    Attributes:
        exact: Whether they are exact.
        value_column: The values.
        error: Standard errors, NaN where they are not known.
        bounds: Lower and upper ones, NaN where there is none.
        is_low: Whether they rest on too few rows for their bounds to hold as often as they say.
        confidence: With which probability the bounds are meant to hold.
    """

    exact: Truths
    value_column: pa.Array
    error: Doubles
    bounds: tuple[Doubles, Doubles]
    is_low: Truths
    confidence: float

    def of_part(self, is_part: Truths, *, is_count: bool) -> Estimate:
        """Widen bounds where some results of a join were not looked for: a count is a lower bound, all else has none.

        Args:
            is_part: Whether only part of the results were looked for, per window.
            is_count: Whether the aggregate is a count.
        """
        if not is_part.any():
            return self
        unknown = np.full(len(is_part), np.nan)
        counts: Doubles = self.value_column.to_numpy(zero_copy_only=False)
        return replace(
            self,
            exact=self.exact & ~is_part,
            error=np.where(is_part, np.nan, self.error),
            bounds=(
                np.where(is_part, counts if is_count else unknown, self.bounds[0]),
                np.where(is_part, unknown, self.bounds[1]),
            ),
        )

    @property
    def bound_columns(self) -> tuple[pa.Array, pa.Array]:
        """Lower and upper bounds: the value itself where it is exact, null where there is no value or no bound."""
        lower, upper = self.bounds
        return self._bound_column(lower), self._bound_column(upper)

    def _bound_column(self, bound: Doubles) -> pa.Array:
        estimated: Doubles = self.value_column.to_numpy(zero_copy_only=False)
        unbounded = self.value_column.is_null().to_numpy(zero_copy_only=False) | (
            ~self.exact & np.isnan(bound) & ~np.isnan(estimated)
        )
        return pa.array(np.where(self.exact, estimated, bound), mask=unbounded)

    @property
    def error_column(self) -> pa.Array:
        """Standard errors: 0 where the answer is exact, null where there is no value or the error is not known."""
        estimated: Doubles = self.value_column.to_numpy(zero_copy_only=False)
        is_unknown = self.value_column.is_null().to_numpy(zero_copy_only=False) | (
            np.isnan(self.error) & ~np.isnan(estimated)
        )
        return pa.array(np.where(self.exact, 0.0, self.error), mask=~self.exact & is_unknown)
