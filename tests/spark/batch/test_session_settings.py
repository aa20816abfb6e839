"""Answers do not depend on the settings of the user's session, whatever Spark makes of these elsewhere."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import FileFormat, folder
from streamshed.spark import answers
from tests.spark.event_times import at
from tests.spark.sessions import interpreting
from tests.spark.trunks.windows_of_duckdb import ExactWindows

ROWS = 400
HOSTS = ["alpha", "Beta", None, "alpha beta", "ÄRGER"]
NAMED = "host LIKE 'al%' OR size % 3 = 0"

SETTINGS = {
    "sql.adaptive.enabled": "true",
    "sql.ansi.enabled": "false",
    "sql.autoBroadcastJoinThreshold": "-1",
    "sql.codegen.wholeStage": "true",
    "sql.decimalOperations.allowPrecisionLoss": "false",
    "sql.execution.arrow.maxRecordsPerBatch": "7",
    "sql.execution.arrow.useLargeVarTypes": "true",
    "sql.files.maxPartitionBytes": "900",
    "sql.groupByAliases": "false",
    "sql.json.enablePartialResults": "false",
    "sql.jsonGenerator.ignoreNullFields": "false",
    "sql.legacy.castComplexTypesToString.enabled": "true",
    "sql.legacy.consecutiveStringLiterals.enabled": "true",
    "sql.legacy.literal.pickMinimumPrecision": "false",
    "sql.legacy.sizeOfNull": "true",
    "sql.legacy.statisticalAggregate": "true",
    "sql.legacy.timeParserPolicy": "EXCEPTION",
    "sql.legacy.typeCoercion.datetimeToString.enabled": "true",
    "sql.mapKeyDedupPolicy": "LAST_WIN",
    "sql.optimizer.inSetConversionThreshold": "0",
    "sql.parquet.binaryAsString": "true",
    "sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "sql.parquet.enableVectorizedReader": "false",
    "sql.parquet.int96RebaseModeInRead": "LEGACY",
    "sql.parquet.mergeSchema": "true",
    "sql.parser.quotedRegexColumnNames": "true",
    "sql.session.timeZone": "Etc/UTC",
    "sql.shuffle.partitions": "5",
    "sql.sources.partitionColumnTypeInference.enabled": "false",
    "sql.storeAssignmentPolicy": "LEGACY",
    "sql.variable.substitute": "false",
}
"""Settings that change results, types or plans, each away from its default, below `spark`.

`test_session.py` has those that are refused.
"""

QUERIES = {
    ("all", "n"): ExactWindows(aggregate="n", call="count(*)", size=20),
    ("all", "total"): ExactWindows(aggregate="total", call="sum(size)", size=20),
    ("all", "mean"): ExactWindows(aggregate="mean", call="avg(size)", size=20),
    ("all", "spread"): ExactWindows(aggregate="spread", call="stddev_samp(size)", size=20),
    ("all", "spent"): ExactWindows(aggregate="spent", call="sum(price)", size=20),
    ("named", "n"): ExactWindows(aggregate="n", call="count(*)", size=20, slide=10, by="host", where=NAMED),
    ("named", "least"): ExactWindows(aggregate="least", call="min(size)", size=20, slide=10, by="host", where=NAMED),
    ("dearest", "price"): ExactWindows(
        aggregate="price", call="max(CASE WHEN price > 5.5 THEN price END)", size=20, by="upper(host)"
    ),
}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    numbers = range(ROWS)
    columns = {
        "ts": pa.array([at(number / 5) for number in numbers], pa.timestamp("us", "UTC")),
        "host": [HOSTS[number * 7 % len(HOSTS)] for number in numbers],
        "size": pa.array([number * 37 % 1500 - 200 for number in numbers], pa.int64()),
        "price": pa.array([Decimal(number * 13 % 1000) / 100 for number in numbers], pa.decimal128(9, 2)),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def path(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows as Parquet and as JSON."""
    path = tmp_path_factory.mktemp("settings")
    for file_format in ("parquet", "json"):
        (path / file_format).mkdir()
    pq.write_table(rows, path / "parquet" / "0.parquet", row_group_size=70)
    lines = [
        json.dumps({**row, "ts": row["ts"].isoformat(), "price": float(row["price"])}, ensure_ascii=False)
        for row in rows.to_pylist()
    ]
    (path / "json" / "0.json").write_text("\n".join(lines), encoding="utf-8")
    return path


def _queries(path: Path, file_format: FileFormat) -> list[Query]:
    schema = "ts timestamp, host string, size bigint, price decimal(9, 2)"
    packets = stream(f"of_{file_format}", folder(path / file_format, file_format, schema=schema), time="ts")
    windows = packets.window("20 seconds")
    overall = windows.agg(n="count(*)", total="sum(size)", mean="avg(size)", spread="stddev(size)", spent="sum(price)")
    of_named = packets.filter(NAMED).window("20 seconds", every="10 seconds").by("host")
    named = of_named.agg(n="count(*)", least="min(size)")
    dearest = windows.by(host="upper(host)").agg(price="max(CASE WHEN price > 5.5 THEN price END)")
    queries = {"all": overall, "named": named, "dearest": dearest}
    return [answered.query(f"{name}_{file_format}") for name, answered in queries.items()]


Place = tuple[str, str, datetime, tuple[str | None, ...]]
"""Query, aggregate, start of the window, key."""


def _answered(asked: QueryNetwork, session: SparkSession) -> dict[Place, float]:
    table = answers(asked, session).toArrow().to_pylist()
    return {
        (row["query"], row["aggregate"], row["window_start"], tuple(row["key"] or ())): row["value"]
        for row in table
        if row["value"] is not None
    }


@pytest.mark.parametrize("names", [[], *(sorted(SETTINGS)[part::3] for part in range(3))], ids=" ".join)
def test_answers_are_those_of_duckdb(spark: SparkSession, path: Path, rows: pa.Table, names: list[str]) -> None:
    session = interpreting(spark)
    for name in names:
        session.conf.set(f"spark.{name}", SETTINGS[name])
    formats = (FileFormat.PARQUET, FileFormat.JSON)
    answered = _answered(network(*[query for each in formats for query in _queries(path, each)]), session)
    expected = {
        (f"{query}_{file_format}", aggregate, start, key): pytest.approx(value, rel=1e-12)
        for (query, aggregate), exact in QUERIES.items()
        for (start, key), value in exact.answers(rows).items()
        if value is not None
        for file_format in formats
    }
    assert answered == expected
