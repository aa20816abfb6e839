"""Values of Avro as columns of Spark: read by a Python task, which tells of each value why it cannot be read.

Spark's `from_avro` knows one schema of who wrote, not one for each id; and what it cannot read either ends the query or
is null, as a record may be whose fields all are.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import arrow_udf

from streamshed.columnar.avro_values import avro_values
from streamshed.network.model.stream import Stream
from streamshed.network.source.registered_schema import require_registered
from streamshed.network.terms.parsing import Parse, TextFormat
from streamshed.network.words.columns import Column as SchemaColumn
from streamshed.network.words.columns import format_schema
from streamshed.spark.common.internal_names import CORRUPT
from streamshed.spark.common.one_partition import arrow_schema


def avro_reader(parse: Parse) -> Column:
    """Return a struct of the columns that a value holds, and of why it cannot be read, in `CORRUPT`."""
    ddl = format_schema((*parse.schema, SchemaColumn(CORRUPT, "string")))
    columns = cast(T.StructType, T.StructType.fromDDL(ddl))
    schema = arrow_schema(ddl)
    text, registry = parse.avro_schema, parse.schema_registry

    def read(values: pa.Array) -> pa.Array:
        records, reasons = avro_values(text, registry).read(values)
        fields = [field.cast(to.type) for field, to in zip((*records.flatten(), reasons), schema, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(schema))

    read.__annotations__ = dict.fromkeys(("values", "return"), pa.Array)
    make: Any = arrow_udf
    # A condition on what is read would else be pushed below, and all of it read twice.
    reader: Any = make(read, returnType=columns).asNondeterministic()
    read_value: Column = reader(F.col(f"`{parse.column}`"))
    return read_value


def require_readable(streams: Iterable[Stream]) -> None:
    """See that values of Avro can be read, before anything runs.

    Raises:
        MissingExtraError: The extra `avro` is not installed.
        InvalidNetworkError: A schema breaks a rule of Avro.
        SourceUnavailableError: A registry does not answer, refuses, or has no such subject.
    """
    for stream in streams:
        if stream.parse is not None and stream.parse.format is TextFormat.AVRO:
            avro_values(stream.parse.avro_schema, stream.parse.schema_registry)
            require_registered(stream.parse)
