"""How large a row is, in steps, where samplers choose rows by the size of their values."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.planning.tree.quantization import STEPS_PER_DECADE
from streamshed.sharing.gating import STEP
from streamshed.spark.common.internal_names import LARGEST_SIZE, SIZE_COLUMN, SIZE_THRESHOLD


def row_size(columns: Sequence[str]) -> Column:
    """How many steps a row is larger than the threshold, to the nearest, as far as that matters.

    It is 0 for a row without value, and the largest for one whose value is infinite or NaN.

    Args:
        columns: Those by which the plan may ask for it.
    """
    number = functools.reduce(
        lambda others, name: F.when(F.col(SIZE_COLUMN) == name, F.col(f"`{name}`").cast("double")).otherwise(others),
        columns,
        F.lit(None).cast("double"),
    )
    times = F.abs(number) / F.col(SIZE_THRESHOLD)
    steps = F.log10(times) * F.lit(STEPS_PER_DECADE / STEP) + 0.5
    # What is no finite number has no floor; to Spark, NaN is larger than any number, and null is passed over.
    whole_steps = F.floor(F.least(F.greatest(steps, F.lit(0.0)), F.lit(_MANY)))
    return F.least(whole_steps, LARGEST_SIZE).cast("int")


_MANY = 1000.0
