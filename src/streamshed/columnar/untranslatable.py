"""What is left to Spark: what cannot be done by columns at all, and what cannot be done for some rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamshed.errors import StreamshedError


class Untranslatable(StreamshedError):  # noqa: N818 - no mistake of anybody: Spark does it
    """Something is done by Spark, row by row; the message is the reason, for `explain`."""


class Unsure(StreamshedError):  # noqa: N818 - no mistake of anybody: Spark evaluates the rows
    """Some rows may have another answer in Spark, or none: overflow, division by zero, a cast that fails.

    Attributes:
        rows: True for each of those rows. The others can be evaluated by themselves.
    """

    def __init__(self, rows: npt.NDArray[np.bool_]) -> None:
        super().__init__(f"{np.count_nonzero(rows)} of {len(rows)} rows are left to Spark")
        self.rows = rows
