"""What a task makes of rows that Spark sends it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from streamshed.columnar.column_work import column_work
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_json
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.columns.taking import SUMS_STRUCT, Taking
from streamshed.spark.common.internal_names import SUMS, TAKEN_ROWS, TAKEN_TIME

EVENTS = stream(
    "events",
    folder("in", "parquet", schema="value binary, id bigint, arrived timestamp"),
    time="arrived",
    parse=parse_json("value", "sent timestamp, n int"),
    identity=["id"],
)
SCHEMA = pa.schema(
    [
        ("value", pa.binary()),
        ("arrived", pa.timestamp("us", "UTC")),
        (SUMS, SUMS_STRUCT),
        (TAKEN_TIME, pa.int64()),
        (TAKEN_ROWS, pa.int64()),
    ]
)
TEXTS = [b'{"n": 1}', b'{"n": 2, "sent": "1970-01-01T00:00:09Z"}', b'{"n": "?"}']


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "GMT", "Z", "+00:00"])
@pytest.mark.parametrize(
    ("aggregate", "greatest"),
    [
        ("max(CASE WHEN n > 1 THEN sent ELSE arrived END)", 9_000_000),
        ("max(greatest(arrived, sent))", 9_000_000),
        ("max(coalesce(sent, arrived))", 9_000_000),
        ("max(if(arrived < sent, arrived, NULL))", 5),
    ],
)
def test_times_are_taken_whatever_the_session_calls_utc(zone: str, aggregate: str, greatest: int) -> None:
    work = stream_work(EVENTS.stream, [EVENTS.window("1 minute").agg(x=aggregate).query("q")])
    columns = column_work(work, {}, Dialect(ansi=True, time_zone=zone))
    taking = Taking(work=pickle.dumps(columns), lookups={}, schema=SCHEMA, furthest_ahead=None)
    rows = pa.record_batch({"value": TEXTS, "arrived": pa.array([0, 5, 7], pa.timestamp("us", zone))})
    taken = pa.Table.from_batches(taking.rows([rows]), SCHEMA).to_pylist()
    [left] = [row for row in taken if row[SUMS] is None]
    assert (left["value"], left["arrived"].microsecond) == (b'{"n": "?"}', 7), "Spark has to tell what is wrong in it"
    sums = [row[SUMS] for row in taken if row[SUMS] is not None and row[SUMS]["class_id"] is not None]
    assert [(one["rows"], one["greatest_long"]) for one in sums] == [(2, greatest)]
