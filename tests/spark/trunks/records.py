"""Inputs as records of a broker: JSON text in one column, what identifies a row and its time in others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from streamshed.network.terms.parsing import parse_json
from streamshed.spark.admit.admission import Admission
from streamshed.spark.source.source_frame import folder_frame
from streamshed.spark.windows.compiled_stream import StreamSource, compile_stream
from tests.spark.event_times import instants
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome

_TEXT = "record"
Written = Callable[[dict[str, Any]], str]


def as_records(
    name: str,
    steps: Callable[[], list[pa.Table]],
    *,
    identity: str,
    columns: str,
    watermark: str,
    written: Written = json.dumps,
) -> Input:
    """Make the input.

    Args:
        name: Of the stream.
        steps: The rows of each step, with event times `ts`.
        identity: The column that identifies a row, a bigint.
        columns: What is in the text, as DDL.
        watermark: Of the stream.
        written: Writes the text of a row, given those columns.
    """
    inside = [column.split()[0] for column in columns.split(", ")]
    return Input(
        name=name,
        steps=steps,
        write=lambda path, rows: parquet.write_table(_records(rows, identity, inside, written), path),
        schema=f"{identity} bigint, ts timestamp, {_TEXT} binary",
        settings={
            "time": "ts",
            "watermark": watermark,
            "identity": [identity],
            "parse": parse_json(_TEXT, columns),
        },
    )


def numbered_records(name: str, *, steps: int, step_seconds: int, rows_per_second: int) -> Input:
    """Make an input of records evenly over time: `place` numbers them, `v` in the text is from 0 to 100.

    Args:
        name: Of the stream.
        steps: How many there are.
        step_seconds: How long each is.
        rows_per_second: Rows by second of event time.
    """

    def rows() -> list[pa.Table]:
        size = step_seconds * rows_per_second
        places = np.arange(steps * size)
        table = pa.table({"place": places, "ts": instants(places / rows_per_second), "v": places * 7919 % 101})
        return [table.slice(step * size, size) for step in range(steps)]

    return as_records(name, rows, identity="place", columns="v bigint", watermark="2 seconds")


def _records(rows: pa.Table, identity: str, inside: Sequence[str], written: Written) -> pa.Table:
    texts = [written(row) for row in rows.select(list(inside)).to_pylist()]
    return pa.table({identity: rows[identity], "ts": rows["ts"], _TEXT: pa.array(texts, pa.binary())})


def why_row_by_row(outcome: Outcome, spark: SparkSession, name: str, more: Sequence[Query] = ()) -> str | None:
    """Why rows of an input go through Spark one by one; None: they go by columns.

    Args:
        outcome: What came of the network, of which the last is looked at.
        spark: The session.
        name: Of the input.
        more: Queries beside those that the network has.
    """
    stream = next(one for one in outcome.network.streams if one.name == name)
    queries = [*(query for query in outcome.network.queries if query.stream == stream), *more]
    return compile_stream(stream, queries, StreamSource(folder_frame(spark, stream)), Admission()).row_by_row


def test_these_records_go_by_columns(outcome: Outcome, spark: SparkSession) -> None:
    assert why_row_by_row(outcome, spark, "records") is None
