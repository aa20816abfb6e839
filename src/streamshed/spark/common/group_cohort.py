"""To which cohort a group belongs: a hash of its key, the same for rows behind their source and for answers."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.network.terms.cohorts import COHORTS
from streamshed.spark.common.group_keys import key_columns


def group_cohort(keys: Sequence[tuple[Column, T.DataType]]) -> Column:
    """Return the cohort of a row, 0 to `COHORTS` − 1.

    Args:
        keys: What its query groups by, with types.
    """
    return state_cohort(*key_columns(keys))


def state_cohort(key_long: Column, key_text: Column) -> Column:
    """Return the cohort of a group in state, where the key column that is not in use is 0 or ""."""
    state_key = F.coalesce(key_long, F.lit(0).cast("bigint")), F.coalesce(key_text, F.lit(""))
    return F.xxhash64(*state_key).bitwiseAND(F.lit(COHORTS - 1).cast("bigint")).cast("int")
