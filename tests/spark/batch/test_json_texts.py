"""JSON texts as Arrow columns against Spark's own `from_json`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.columnar.texts.json_texts import JsonTexts
from streamshed.columnar.texts.parsed_texts import ParsedTexts
from tests.json_samples import alike_texts, odd_text, ordinary_text, schema_of
from tests.spark.sessions import interpreting

CORRUPT = "corrupt"
ORDINARY, ODD = 5_600, 1_200
ALIKE = 60
"""So many texts have a few layouts, and as often others follow."""
SCHEMAS: Mapping[str, Mapping[str, str]] = {
    "packets": {"ts": "timestamp", "host": "string", "port": "int", "i": "bigint"},
    "numbers": {"a": "double", "i": "tinyint", "s": "smallint", "f": "float", "d": "double", "on": "boolean"},
    "words": {"day": "date", "word ä": "string", "at": "timestamp", 'q"': "string", "a.b": "int"},
}


def as_spark_reads(spark: SparkSession, texts: list[bytes | None], columns: Mapping[str, str]) -> pa.Table:
    """What `from_json` makes of texts, the corrupt record's column among it."""
    table = pa.table({"number": range(len(texts)), "text": pa.array(texts, pa.binary())})
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in [*columns.items(), (CORRUPT, "string")])
    parsed = F.from_json(
        F.col("text").cast("string"), ddl, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    )
    rows = spark.createDataFrame(table).select("number", parsed.alias("row")).select("number", "row.*").toArrow()
    return rows.sort_by("number").drop_columns("number")


def bits(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Values such that equal ones are the same: NaN equals NaN, and 0 is not -0."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_floating(values.type):
        wide = values.cast(pa.float64())
        numbers = wide.fill_null(0.0).to_numpy(zero_copy_only=False)
        return pa.array(numbers.view(np.int64), mask=wide.is_null().to_numpy(zero_copy_only=False))
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def assert_as_spark(parsed: Sequence[ParsedTexts], expected: pa.Table, texts: Sequence[bytes | None]) -> None:
    """Where rows are sure, Spark has no corrupt record, and the same values to the bit."""
    places = np.flatnonzero(np.concatenate([piece.is_sure for piece in parsed]))
    got, sure = pa.Table.from_batches([piece.columns for piece in parsed]).take(places), expected.take(places)
    for column in got.schema:
        values, of_spark = bits(got[column.name]), bits(sure[column.name])
        if values != of_spark:
            wrong = [k for k in range(len(places)) if values[k] != of_spark[k]]
            pytest.fail(str([(column.name, texts[places[k]], values[k], of_spark[k]) for k in wrong[:9]]))
    corrupt = np.flatnonzero(sure[CORRUPT].is_valid().to_numpy())
    assert not len(corrupt), [texts[k] for k in places[corrupt[:9]]]


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_sure_is_what_spark_reads(spark: SparkSession, name: str) -> None:
    columns = SCHEMAS[name]
    rng = random.Random(name)
    texts: list[bytes | None] = [ordinary_text(columns, rng).encode() for _ in range(ORDINARY)]
    texts += [odd_text(columns, rng) for _ in range(ODD)]
    for _ in range(ALIKE):
        texts += alike_texts(columns, rng, ALIKE)
    expected = as_spark_reads(interpreting(spark), texts, columns)

    def read(start: int, stop: int) -> ParsedTexts:
        return JsonTexts.of(schema_of(columns), {}, "UTC").read(pa.array(texts[start:stop], pa.binary()))

    ordinary, odd = read(0, ORDINARY), [read(k, k + 1) for k in range(ORDINARY, ORDINARY + ODD)]
    alike = [read(k, k + ALIKE) for k in range(ORDINARY + ODD, len(texts), ALIKE)]
    assert ordinary.is_sure.all()
    assert sum(piece.is_sure[0] for piece in odd) > ODD / 10
    assert np.concatenate([piece.is_sure for piece in alike]).mean() > 0.7
    assert_as_spark([ordinary, *odd, *alike], expected, texts)
    # Among others, no more are sure, and what is, is the same.
    assert_as_spark([read(0, len(texts))], expected, texts)
