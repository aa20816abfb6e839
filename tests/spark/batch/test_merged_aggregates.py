"""Aggregates of one's own that merge states of slices, in batch mode; as streams they are in the trunk `time`."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from streamshed.answering.user.collected_rows import MARK, CollectedPiece
from streamshed.answering.user.user_folding import FEWEST_ROWS
from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.aggregate import user_aggregate
from tests.spark.event_times import EPOCH_MICROSECONDS, instants
from tests.spark.files import write_parquet
from tests.spark.in_order import InOrder
from tests.spark.prices_in_order import SIZE, SLIDE, Lists, expected_lists, in_order, queries_in_order

SECONDS, ROWS = 60, 600


def _table() -> pa.Table:
    """Many rows at one instant, out of order; in batch mode none is late."""
    chance = random.Random(4)
    seconds = [chance.choice([chance.uniform(0, SECONDS), chance.randrange(4 * SECONDS) / 4]) for _ in range(ROWS)]
    return pa.table(
        {
            "ts": instants(seconds),
            "price": pa.array([chance.randrange(100) for _ in seconds], pa.int64()),
            "symbol": [chance.choice(["IBM", "SUN"]) for _ in seconds],
        }
    )


def _trades(path: Path) -> Rows:
    write_parquet(path / "in" / "0.parquet", _table())
    source = folder(path / "in", "parquet", schema="ts timestamp, price bigint, symbol string")
    return stream("trades", source, time="ts", watermark="3 seconds")


def test_batch_mode_merges_and_documents_need_nothing(spark: SparkSession, tmp_path: Path) -> None:
    written = network_to_document(network(*queries_in_order(_trades(tmp_path))))
    assert f"{InOrder.__module__}:InOrder" in str(written)
    rows = parse_network(written).network.answers(spark).collect()

    def told(query: str, aggregate: str = "told") -> Lists:
        return {
            ((row.window_start.timestamp() * 1e6 - EPOCH_MICROSECONDS) / 1e6, row.key[0]): row.value_text
            for row in rows
            if (row.query, row.aggregate) == (query, aggregate)
        }

    never_late = _table().append_column("closed_until", pa.array([0] * ROWS))
    expected = expected_lists(never_late)
    assert {query: told(query) for query in expected} == expected
    assert told("sliding", "merges") == {place: str(_merges(*place)) for place in told("sliding")}


def _merges(start: float, symbol: str | None) -> int:
    """How often states are merged in a window, as nothing comes between the rows of a slice."""
    slices = [(int(start) + SLIDE * number, int(start) + SLIDE * (number + 1)) for number in range(SIZE // SLIDE)]
    seconds = [
        (row["ts"].timestamp() * 1e6 - EPOCH_MICROSECONDS) / 1e6
        for row in _table().to_pylist()
        if row["symbol"] == symbol
    ]
    counts = [sum(first <= second < until for second in seconds) for first, until in slices]
    is_piece = [int(count >= FEWEST_ROWS) for count in counts if count]
    return sum(is_piece) - is_piece[0]


def test_no_text_of_a_row_is_taken_for_a_piece(spark: SparkSession) -> None:
    texts = [
        CollectedPiece((1, "a"), (2, "b"), 5, {"0": b"cos\nsystem\n"}, b"x").written(),
        MARK,
        "\\N",
        "\\\\M1|",
        "\x1f",
    ]
    rows = spark.createDataFrame(
        [(datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC), texts[second % len(texts)]) for second in range(20)],
        "ts timestamp, text string",
    )
    told = stream("s", rows, time="ts").window("20 seconds", every="10 seconds").agg(told=in_order("text"))
    found = network(told.query("q", mode="exact")).answers(spark, {"s": rows}).collect()
    assert {row.window_start.second: row.value_text for row in found} == {
        50: repr(texts * 2),
        0: repr(texts * 4),
        10: repr(texts * 2),
    }


class _Unpicklable(InOrder):
    def init(self) -> Any:
        return threading.Lock()


class _NoMethod(InOrder):
    merge = "left + right"  # type: ignore[assignment]


class _Fails(InOrder):
    def incr(self, state: dict[str, Any], price: object) -> dict[str, Any]:
        raise RuntimeError(f"no price like {price}")


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (_Unpicklable, 'query "sliding", aggregate "told": .*its states travel pickled, but .*lock.* cannot be'),
        (_NoMethod, "aggregate \"told\": merge of what .*_NoMethod makes is no method: 'left \\+ right'"),
    ],
)
def test_what_cannot_be_merged_is_refused_before_anything_runs(
    spark: SparkSession, tmp_path: Path, made: type, says: str
) -> None:
    sliding = _trades(tmp_path).window("20 seconds", every="2 seconds")
    told = user_aggregate(made, columns=["price"], returns="string")
    with pytest.raises(InvalidNetworkError, match=says):
        network(sliding.agg(told=told).query("sliding", mode="exact")).answers(spark)


def test_a_class_that_fails_in_a_slice_is_named(spark: SparkSession, tmp_path: Path) -> None:
    sliding = _trades(tmp_path).window("20 seconds", every="2 seconds")
    told = user_aggregate(_Fails, columns=["price"], returns="string")
    with pytest.raises(PythonException, match=r"_Fails: RuntimeError: no price like \d+ \(in a slice of \d+ rows\)"):
        network(sliding.agg(told=told).query("sliding", mode="exact")).answers(spark).collect()
