"""Maps of constants as one literal: handed to Spark as JSON, since each call to it costs more than a row does."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F


def literal_map(entries: Sequence[tuple[object, object]], key: str, value: str) -> Column:
    """Return a map of constants; Spark folds it into a literal when it plans.

    Args:
        entries: Keys, none twice, and values that JSON can hold; a struct is a dict.
        key: Type of the keys.
        value: Type of the values.
    """
    pairs = [{"key": known, "value": held} for known, held in entries]
    parsed = F.from_json(F.lit(json.dumps(pairs)), f"array<struct<key: {key}, value: {value}>>")
    return F.map_from_entries(parsed)
