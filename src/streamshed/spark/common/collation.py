"""Texts with a collation, which Spark may call equal though their bytes differ: keys are compared as bytes here."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import types as T

_NAME = re.compile(r"`(\w+)`")


def collation_of(kind: T.DataType) -> str | None:
    """Return the collation by which texts in values of a type are compared; None: as bytes, or there are none."""
    match kind:
        case T.StringType():
            return None if kind.isUTF8BinaryCollation() else str(kind.collation)
        case T.ArrayType():
            return collation_of(kind.elementType)
        case T.MapType():
            return collation_of(kind.keyType) or collation_of(kind.valueType)
        case T.StructType():
            return next((name for field in kind.fields if (name := collation_of(field.dataType))), None)
        case _:
            return None


def collation_problems(used: Mapping[tuple[str, str], T.DataType]) -> list[str]:
    """Tell which values are used where equality or order matters, though their collation would not be heeded.

    Args:
        used: Type by what is done with values, such as `query "q" groups by`, and the column or SQL expression.
    """
    return [
        f'{use} "{column}", whose collation is {collation}, but texts are compared as bytes: is'
        f" \"collate(lower({column}), 'UTF8_BINARY')\" meant, or a type without a collation?"
        for (use, written), kind in used.items()
        for column in [_NAME.sub(r"\1", written)]
        if (collation := collation_of(kind)) is not None
    ]
