"""What of a joined stream's queries can be summed up from pairs: which columns of either side say what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa

from streamshed.joins.model.arrays import Ints, one_chunk
from streamshed.joins.model.side import Side

Edge = tuple[int, int]
"""Period and phase of instants at which slices meet, microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSelection:
    """Which pairs a query wants: those whose rows have passed all of some columns, which are true or false.

    Args:
        left: Columns of the left side.
        right: Of the right side.
        later: Columns that both sides have, of which the row counts that is later.
    """

    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


class ValueForm(Enum):
    """How a value travels."""

    WHOLE = "whole"
    """A whole number, a truth, a date or a time."""
    FLOATING = "floating"
    """A floating-point number."""
    PRESENCE = "presence"
    """Only whether there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedValue:
    """The value that is summed up: a column of one side."""

    side: Side
    column: str
    form: ValueForm


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """What pairs are grouped by: a column of one side, that is a number (or time), or text."""

    side: Side
    column: str
    is_number: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedClass:
    """Queries over one key and one value of pairs, see `SharingClass`.

    Args:
        class_id: Its number in state.
        edges: Of its slices.
        selections: By bit of the mask, the pairs that it stands for.
        counting_mask: Bits that are set only where a plan says so, which it does not where pairs are summed up.
        value_mask: Bits whose queries need the value.
        keys: What pairs are grouped by; several of them are texts.
        value: What is summed up; None: pairs are only counted.
        extremes: Whether the least and the greatest value are asked for.
    """

    class_id: int
    edges: tuple[Edge, ...]
    selections: tuple[PairSelection, ...]
    counting_mask: int = 0
    value_mask: int = 0
    keys: tuple[KeyPart, ...] = ()
    value: SummedValue | None = None
    extremes: bool = False

    @property
    def every_bit(self) -> int:
        """The mask of a pair that everybody wants."""
        return ((1 << len(self.selections)) - 1) & ~self.counting_mask

    @property
    def is_for_all(self) -> bool:
        """Whether everybody wants every pair."""
        return not any(one.left or one.right or one.later for one in self.selections)

    def masks(self, rows: pa.Table, side: Side) -> Ints | None:
        """Return per row of a side the bits whose columns of that side it has passed; None: all have passed all."""
        return _masks(rows, [one.left if side is Side.LEFT else one.right for one in self.selections])

    def later_masks(self, rows: pa.Table) -> Ints | None:
        """Return the same of the columns of which the later row counts."""
        return _masks(rows, [one.later for one in self.selections])


def _masks(rows: pa.Table, columns: Sequence[tuple[str, ...]]) -> Ints | None:
    if not any(columns):
        return None
    passed = {
        name: np.asarray(one_chunk(rows.column(name)).fill_null(False))
        for name in {n for names in columns for n in names}
    }
    masks = np.zeros(rows.num_rows, np.int64)
    for bit, names in enumerate(columns):
        passes = np.logical_and.reduce([passed[name] for name in names], initial=True) if names else True
        masks |= np.where(passes, np.int64(1 << bit), np.int64(0))
    return masks
