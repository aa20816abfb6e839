"""What Spark raises is known by its words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import InvalidExpressionError, SourceUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.spark import answers
from streamshed.spark.common.failures import explained
from streamshed.spark.source.source_frame import folder_frame


def _nanoseconds(spark: SparkSession, path: Path) -> DataFrame:
    parquet.write_table(pa.table({"ts": pa.array([1], pa.timestamp("ns", tz="UTC"))}), path / "0.parquet")
    source = folder(path, "parquet", schema="ts timestamp")
    return folder_frame(spark, stream("events", source, time="ts").stream)


def _text_by_columns(spark: SparkSession, path: Path) -> DataFrame:
    """A text where the stream has a number, in a file that a task reads itself."""
    parquet.write_table(pa.table({"ts": pa.array([1], pa.timestamp("us", tz="UTC")), "v": ["1"]}), path / "0.parquet")
    events = stream("events", folder(path, "parquet", schema="ts timestamp, v bigint"), time="ts")
    return answers(network(events.window("1 minute").agg(total="sum(v)").query("q")), spark)


def _swapped_header(spark: SparkSession, path: Path) -> DataFrame:
    (path / "0.csv").write_text("b,a,ts\n1,2,2024-01-01T00:00:00Z\n")
    source = folder(path, "csv", schema="a int, b int, ts timestamp", options={"header": "true"})
    return folder_frame(spark, stream("events", source, time="ts").stream)


def _overflow(spark: SparkSession, _path: Path) -> DataFrame:
    return spark.sql(f"SELECT sum(x) FROM VALUES (CAST('{'9' * 38}' AS decimal(38,0))), (1) AS t(x)")


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (_nanoseconds, SourceUnavailableError),
        (_text_by_columns, SourceUnavailableError),
        (_swapped_header, SourceUnavailableError),
        (_overflow, InvalidExpressionError),
    ],
)
def test_it_is_explained(
    made: Callable[[SparkSession, Path], DataFrame], kind: type[Exception], spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises((PySparkException, Py4JJavaError)) as raised:
        made(spark, tmp_path).collect()
    error = explained(raised.value)
    assert isinstance(error, kind)
    assert "ansi.enabled" not in str(error)


def test_names_in_a_header_may_be_meant_to_mean_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("x,y,z\n1,2,2024-01-01T00:00:00Z\n")
    options = {"header": "true", "enforceSchema": "true"}
    source = folder(tmp_path, "csv", schema="a int, b int, ts timestamp", options=options)
    [row] = folder_frame(spark, stream("events", source, time="ts").stream).select("a", "b").collect()
    assert (row.a, row.b) == (1, 2)
