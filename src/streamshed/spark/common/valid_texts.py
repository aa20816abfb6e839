"""Texts on their way to Python, which reads no text that is not UTF-8, while Spark passes on whatever bytes come."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T


def valid_texts(rows: DataFrame) -> DataFrame:
    """Return rows whose texts are UTF-8: bytes that are none become U+FFFD, as where Python decodes them."""
    texts = {
        field.name: valid_text(F.col(f"`{field.name}`"), field.dataType)
        for field in rows.schema.fields
        if _holds_text(field.dataType)
    }
    return rows.withColumns(texts) if texts else rows


def valid_text(column: Column, kind: T.DataType) -> Column:
    """Return a column of some type with texts that are UTF-8, also those in lists and structs.

    Maps are left as they are: two of their keys could become one.
    """
    match kind:
        case T.StringType():
            return F.make_valid_utf8(column)
        case T.ArrayType() if _holds_text(kind):
            return F.transform(column, lambda item: valid_text(item, kind.elementType))
        case T.StructType() if _holds_text(kind):
            fields = [valid_text(column[field.name], field.dataType).alias(field.name) for field in kind.fields]
            return F.when(column.isNotNull(), F.struct(*fields))
        case _:
            return column


def _holds_text(kind: T.DataType) -> bool:
    match kind:
        case T.StringType():
            return True
        case T.ArrayType():
            return _holds_text(kind.elementType)
        case T.StructType():
            return any(_holds_text(field.dataType) for field in kind.fields)
        case _:
            return False
