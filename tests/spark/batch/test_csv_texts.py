"""Lines of CSV as Arrow columns against Spark's reader of CSV files, and its `from_csv`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.columnar.csv_rows import CsvFiles, CsvRows
from streamshed.columnar.texts.csv_texts import CsvTexts
from streamshed.columnar.texts.parsed_texts import ParsedTexts
from streamshed.network.model.csv_lines import OF_FILES
from tests.csv_samples import odd_line, ordinary_line
from tests.json_samples import schema_of
from tests.spark.batch.test_json_texts import CORRUPT, assert_as_spark, bits
from tests.spark.sessions import interpreting

ORDINARY, ODD = 2_000, 4_000
SCHEMAS: Mapping[str, Mapping[str, str]] = {
    "packets": {"ts": "timestamp", "host": "string", "port": "int", "i": "bigint"},
    "numbers": {"a": "double", "i": "tinyint", "s": "smallint", "f": "float", "d": "double", "on": "boolean"},
    "words": {"day": "date", "word": "string", "at": "timestamp", "other": "string", "a.b": "int"},
    "one": {"word": "string"},
}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "header": {"header": "true", "enforceSchema": "false"},
    "semicolons": {"sep": ";", "nullValue": "NA", "escape": '"', "header": "true"},
    "tabs": {"delimiter": "\\t", "comment": "#", "emptyValue": "nothing", "header": "true", "timeZone": "-05:30"},
    "spaces": {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true", "nullValue": "null"},
}
CASES = [
    *((name, "words", True) for name in OPTIONS),
    *(("none", schema, True) for schema in ("packets", "one")),
    *(("none", "numbers", ansi) for ansi in (True, False)),
]


def _write(path: Path, options: Mapping[str, str], columns: Mapping[str, str]) -> None:
    rng = random.Random(repr((options, columns)))
    separator = options.get("sep", "\t" if "delimiter" in options else ",")
    lines = [ordinary_line(columns, rng, separator).encode() for _ in range(ORDINARY)]
    lines += [odd_line(columns, rng, separator) for _ in range(ODD)]
    lines += [b"", b" ", b"\t \x00", b"# not a row", b" # nor this", b"#"] * 20
    rng.shuffle(lines)
    first = [b"", b"#", b"# names", b"  "] if "comment" in options else [b"", b"  "]
    header = [separator.join(columns).encode()] if options.get("header") else []
    path.write_bytes(b"\n".join([*first, *header, *lines]))


@pytest.mark.parametrize(("option", "schema", "ansi"), CASES)
def test_what_is_sure_is_what_spark_reads(
    spark: SparkSession, tmp_path: Path, option: str, schema: str, *, ansi: bool
) -> None:
    options, columns, path = OPTIONS[option], SCHEMAS[schema], tmp_path / "rows.csv"
    _write(path, options, columns)
    session = interpreting(spark)
    session.conf.set("spark.sql.ansi.enabled", ansi)
    told = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in [*columns.items(), (CORRUPT, "string")])
    expected = session.read.schema(ddl).options(**told).csv(str(path)).coalesce(1).toArrow()

    file = CsvRows(str(path), "text", CsvFiles.of(options, tuple(columns)))
    texts = pa.concat_arrays([run.texts(None) for run in file.runs(0, 1 << 40)]).cast(pa.binary())
    assert len(texts) == expected.num_rows > 5000
    of_lines = {name: value for name, value in options.items() if name.lower() not in OF_FILES}
    table = pa.table({"number": range(len(texts)), "text": texts})
    parsed = F.from_csv(F.col("text").cast("string"), ddl, {**told, **of_lines, "header": "false"})
    rows = session.createDataFrame(table).select("number", parsed.alias("row")).select("number", "row.*").toArrow()
    alone = rows.sort_by("number").drop_columns("number")
    for column in expected.column_names:
        assert bits(alone[column]) == bits(expected[column]), column

    read = CsvTexts.of(schema_of(columns), of_lines, "UTC").read(texts)
    assert_as_spark([read], expected, texts.to_pylist())
    assert np.count_nonzero(read.is_sure) > ORDINARY * 0.6
    # A line is sure or not whatever else is there.
    few: list[ParsedTexts] = [
        CsvTexts.of(schema_of(columns), of_lines, "UTC").read(texts[k : k + 7]) for k in range(0, 700, 7)
    ]
    assert np.array_equal(np.concatenate([piece.is_sure for piece in few]), read.is_sure[:700])
