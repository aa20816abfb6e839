"""What rows of each cohort of blocks bring to groups: whence answers tell how far off unread blocks may put them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.sums.value_sums import Counted, RowValues
from streamshed.network.terms.block_sums import BLOCK_FIELDS, BLOCK_NUMBERS
from streamshed.network.terms.join_shedding import COHORTS

BLOCK_SUMS = pa.list_(pa.float32())
"""The type of a group's list, see `network.terms.block_sums`."""


def block_sums(cohorts: Ints, counted: Counted, values: tuple[RowValues, Counted] | None = None) -> pa.Array:
    """Return the list of each group.

    A number is no further off than a number of 24 binary digits can be.

    Args:
        cohorts: Per row, that of its block.
        counted: Which rows count, and in which group, each once.
        values: Those of the rows, and which of them count; None: there are none.

    Example:
        Two groups of two rows each; of the second, both are in cohort 3.

        >>> counted, cohorts = Counted(np.array([0, 0, 1, 1]), 2), np.array([0, 1, 3, 3])
        >>> first, second = block_sums(cohorts, counted).to_pylist()
        >>> first[:8], second[12:16]
        ([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0])
    """
    sums = np.zeros((len(BLOCK_FIELDS), counted.size * COHORTS))
    sums[0] = _by_cohort(cohorts, counted)
    if values is not None:
        row_values, valued = values
        present = valued.where(row_values.is_there)
        numbers = row_values.numbers if present.places is None else row_values.numbers[present.places]
        with np.errstate(over="ignore", invalid="ignore"):
            for field, weights in enumerate((None, numbers, numbers * numbers), 1):
                sums[field] = _by_cohort(cohorts, present, weights)
    with np.errstate(over="ignore"):
        flat = np.ascontiguousarray(sums.T).astype(np.float32).ravel()
    offsets = np.arange(counted.size + 1, dtype=np.int32) * BLOCK_NUMBERS
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat), type=BLOCK_SUMS)


def _by_cohort(cohorts: Ints, counted: Counted, weights: Floats | None = None) -> Floats:
    of_rows = cohorts if counted.places is None else cohorts[counted.places]
    places = counted.groups * COHORTS + of_rows
    return np.bincount(places, weights, counted.size * COHORTS).astype(np.float64, copy=False)
