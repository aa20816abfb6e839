"""The key of a group as state holds it: without nulls, since Spark's fast hash map passes keys with nulls by.

A row's key is a number or a text, see `group_keys`; the other of the two is null, and both where the key is null. As no
key has both a number and a text, the pair that stands for two nulls is nobody's.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

NOTHING = {"key_long": 1, "key_text": "\\N"}
"""What stands for two nulls."""
UNGROUPED = {"key_long": 0, "key_text": ""}
"""The key of rows that are not grouped."""


def held(key_long: Column, key_text: Column) -> dict[str, Column]:
    """Return the two columns as state holds them."""
    return {
        "key_long": F.coalesce(key_long, F.when(key_text.isNull(), F.lit(NOTHING["key_long"])).otherwise(F.lit(0))),
        "key_text": F.coalesce(key_text, F.when(key_long.isNull(), F.lit(NOTHING["key_text"])).otherwise(F.lit(""))),
    }


def state_key_columns() -> dict[str, Column]:
    """Return the key columns of a state row, both null where the key is null."""
    is_nothing = (F.col("key_long") == F.lit(NOTHING["key_long"])) & (F.col("key_text") == F.lit(NOTHING["key_text"]))
    return {name: F.when(~is_nothing, F.col(name)) for name in NOTHING}
