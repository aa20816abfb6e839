"""The arrays that joins are made of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; one that is in one piece is not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
