"""What a join is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.conditions import Condition
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side

PairWeight = Callable[[pa.Table, pa.Table], Floats]
"""Given left and right rows, as many of either, returns what each pair is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSpecification:
    """A windowed join of two streams.

    Args:
        windows: How long rows wait for those of the other side.
        condition: When two rows join.
        left_time: The left side's time column: a timestamp, or microseconds as a whole number.
        right_time: The right side's.
        weight: What a result is worth; None: all are worth 1. Negative values, infinite ones and NaN are worth 0.
        weight_columns: The columns of left and of right rows that it is given; None: all.
        columns: Of sides whose columns may change, those of now: stored rows that lack some have nulls there, and
            lose others. None may be what the join itself looks at.
        sampled: The side of which rows may be drawn: its rows have the column `DRAWN`. None: neither.
    """

    windows: JoinWindows
    condition: Condition
    left_time: str
    right_time: str
    weight: PairWeight | None = None
    weight_columns: tuple[Sequence[str], Sequence[str]] | None = None
    columns: Mapping[Side, pa.Schema] = field(default_factory=dict)
    sampled: Side | None = None

    def time_of(self, side: Side) -> str:
        """Return the time column of a side."""
        return self.left_time if side is Side.LEFT else self.right_time
