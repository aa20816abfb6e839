"""Aggregates of one's own that merge states of slices, over overlapping windows, against lists in order from DuckDB."""

from __future__ import annotations

import ast
import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from streamshed.answering.collected_rows import MARK, Piece
from streamshed.answering.user_folding import FEWEST_ROWS
from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.network.aggregate import AggregateCall, user_aggregate
from streamshed.network.document import network_to_document, parse_network
from streamshed.network.function import FunctionReference
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.spark.run import Run
from tests.spark.streaming.files import EPOCH_MICROSECONDS, seconds_of, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, Found, finish, wait_for_micro_batch, wait_until
from tests.spark.streaming.in_order import InOrder, Merges

FILES, FILE_SECONDS, WATERMARK_SECONDS = 6, 10, 3
FIRST_OF_RUNS = (0, 2, 4)
"""Files before which a run ends in the test of restarts: nothing in them is late."""
SIZE, SLIDE = 20, 2
SYMBOLS = ("IBM", "SUN")

Answers = dict[tuple[float, str], str]
"""By start of the window in seconds, and symbol."""


def _rows(seed: int) -> list[tuple[int, int, str, int]]:
    """Instant in microseconds, price, symbol and number of the file; some at one instant, out of order, and late."""
    chance = random.Random(seed)
    found = []
    for _ in range(600):
        second = chance.choice([chance.uniform(0, 60), chance.randrange(240) / 4])
        delay = chance.choices([0.0, chance.uniform(0, WATERMARK_SECONDS - 0.1), chance.uniform(8, 18)], (14, 4, 1))[0]
        own, arrival = int(second // FILE_SECONDS), int(min((second + delay) // FILE_SECONDS, FILES - 1))
        is_late = second + WATERMARK_SECONDS < arrival * FILE_SECONDS
        file = own if is_late and arrival in FIRST_OF_RUNS else arrival
        found.append((EPOCH_MICROSECONDS + round(second * 1e6), chance.randrange(100), chance.choice(SYMBOLS), file))
    ends = [EPOCH_MICROSECONDS + (file + 1) * FILE_SECONDS * 1_000_000 - 1000 for file in range(FILES)]
    return [*found, *[(end, 50, "IBM", file) for file, end in enumerate(ends)]]


def _closed_until(file: int) -> int:
    """What windows that end by then cannot take of a file: the watermark of the micro-batch before its own."""
    seconds = (file - 1) * FILE_SECONDS - WATERMARK_SECONDS
    return EPOCH_MICROSECONDS + seconds * 1_000_000 - 1000 if file > 1 else 0


def _table(rows: Sequence[tuple[int, int, str, int]]) -> pa.Table:
    instants, prices, symbols, files = zip(*rows, strict=True)
    return pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "price": pa.array(prices, pa.int64()),
            "symbol": symbols,
            "file": files,
            "closed_until": [_closed_until(file) for file in files],
        }
    )


def _write(path: Path, table: pa.Table, files: range) -> None:
    for file in files:
        own = table.filter(pa.compute.equal(table["file"], file)).select(["ts", "price", "symbol"])
        write_parquet(path / "in" / f"{file}.parquet", own.take(pa.array(range(len(own) - 1, -1, -1))))


def _expected(table: pa.Table, size: int, slide: int, where: str = "true") -> Answers:
    """Prices in order, without rows that came when the window had closed."""
    starts = (
        f"unnest(generate_series((epoch_us(ts) - {size} * 1000000) // ({slide} * 1000000) + 1,"
        f" epoch_us(ts) // ({slide} * 1000000))) * {slide} * 1000000"
    )
    with duckdb.connect() as database:
        database.register("trades", table)
        found = database.execute(
            "SELECT start, symbol, list(price ORDER BY ts, CAST(price AS VARCHAR))"
            f" FROM (SELECT *, {starts} AS start FROM trades WHERE {where})"
            f" WHERE start + {size} * 1000000 > closed_until GROUP BY ALL"
        ).fetchall()
    return {((start - EPOCH_MICROSECONDS) / 1e6, symbol): repr(prices) for start, symbol, prices in found}


def _expected_above(below: Answers, size: int, slide: int) -> Answers:
    """The same of the answers of tumbling windows."""
    found: dict[tuple[float, str], list[str]] = {}
    for (start, symbol), told in sorted(below.items()):
        for first in range(-100, 100):
            if first * slide <= start < first * slide + size:
                found.setdefault((float(first * slide), symbol), []).append(told)
    return {place: repr(own) for place, own in found.items()}


def _trades(path: Path) -> Stream:
    source = folder(
        path / "in", "parquet", schema="ts timestamp, price bigint, symbol string", max_files_per_micro_batch=1
    )
    return stream("trades", source, time="ts", watermark=f"{WATERMARK_SECONDS} seconds")


def _in_order(column: str) -> AggregateCall:
    return user_aggregate(InOrder, columns=[column], returns="string")


def _queries(trades: Stream) -> QueryNetwork:
    merges = user_aggregate(Merges, columns=["price"], returns="bigint")
    sliding = trades.window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("symbol")
    below = trades.window("4 seconds").by("symbol").agg(told=_in_order("price"))
    above = below.window("12 seconds", every="4 seconds").by("symbol")
    dear = trades.filter("price > 20").filter("price > 40").window("10 seconds", every="5 seconds").by("symbol")
    return network(
        sliding.agg(told=_in_order("price"), merges=merges, n="count(*)").query("sliding", mode="exact"),
        dear.agg(told=_in_order("price")).query("dear", mode="exact"),
        above.agg(told=_in_order("told")).query("above", mode="exact"),
        trades.filter("price < 70").window("4 seconds").by("symbol").agg(n="count(*)").query("plain"),
    )


def _told(rows: Sequence[Found], aggregate: str = "told") -> Answers:
    found = [row for row in rows if row.aggregate == aggregate]
    told = {(seconds_of(row.window_start), str(row.key[0])): str(row.value_text) for row in found}
    assert len(told) == len(found), "a window was answered twice"
    return told


def test_merged_states_answer_as_rows_in_order_do(spark: SparkSession, tmp_path: Path) -> None:
    table = _table(_rows(1))
    _write(tmp_path, table, range(FILES))
    collected = Collected()
    whole = _queries(_trades(tmp_path))
    finish(whole.start(spark, checkpoint=str(tmp_path / "c"), sink=collected, **QUICK), FILES - 1)
    assert _told(collected.rows("sliding")) == _expected(table, SIZE, SLIDE)
    assert _told(collected.rows("dear")) == _expected(table, 10, 5, "price > 40")
    assert _told(collected.rows("above")) == _expected_above(_expected(table, 4, 4), 12, 4)
    merges = [int(text) for text in _told(collected.rows("sliding"), "merges").values()]
    assert max(merges) >= SIZE // SLIDE - 1
    assert collected.rows(kind="late")


def _as(made: type, call: AggregateCall) -> AggregateCall:
    """A call of a class as its module has it at some time."""
    assert call.user is not None
    return replace(call, user=replace(call.user, function=FunctionReference("tests:InOrder", callable=made)))


def _versions() -> tuple[type, type, type]:
    class WithMerge(InOrder):
        pass

    class WithoutMerge(InOrder):
        merge = None  # type: ignore[assignment]

    class Otherwise(InOrder):
        """What it holds of rows is another thing."""

        def init(self) -> Any:
            return []

        def incr(self, state: Any, price: object) -> Any:
            return [price, *state]

        def merge(self, left: Any, right: Any) -> Any:
            return [*right, *left]

        def final(self, state: Any) -> str:
            return repr(state[::-1])

    return WithMerge, WithoutMerge, Otherwise


def test_a_class_may_gain_and_lose_merge_and_change_across_restarts(spark: SparkSession, tmp_path: Path) -> None:
    table = _table(_rows(3))
    collected = Collected()
    settings: dict[str, Any] = {"checkpoint": str(tmp_path / "c"), "sink": collected, **QUICK, "partitions": 2}
    sliding = _trades(tmp_path).window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("symbol")
    last = -1
    for made, first in zip(_versions(), FIRST_OF_RUNS, strict=True):
        _write(tmp_path, table, range(first, first + 2))
        told = _as(made, _in_order("price"))
        run = network(sliding.agg(told=told).query("sliding", mode="exact")).start(spark, **settings)
        if first == FIRST_OF_RUNS[-1]:
            finish(run, last + 2)
        else:
            with run:
                wait_until(run, lambda run=run, last=last: _files_read(run, last) == 2, "both files")  # type: ignore[misc]
            last = max(collected.tables)
    assert _told(collected.rows("sliding")) == _expected(table, SIZE, SLIDE)


def _files_read(run: Run, last: int) -> int:
    """How many files were read after a micro-batch; some read nothing, like that which a stop interrupted."""
    journal = run.journal()
    return 0 if journal.empty else int(((journal.offered_rows > 0) & (journal.micro_batch_id > last)).sum())


def _in_any_order() -> tuple[type, type, type]:
    class InAnyOrder(InOrder):
        order_matters = False

        def final(self, state: dict[str, Any]) -> str:
            return repr(sorted(state["prices"]))

    class WithOtherFinal(InAnyOrder):
        def final(self, state: dict[str, Any]) -> str:
            return repr(sorted(state["prices"]))

    class WithOtherIncr(InAnyOrder):
        def incr(self, state: dict[str, Any], price: object) -> dict[str, Any]:
            state["prices"].insert(0, price)
            return state

    return InAnyOrder, WithOtherFinal, WithOtherIncr


def test_states_without_rows_outlive_a_restart_and_no_change_of_code(spark: SparkSession, tmp_path: Path) -> None:
    table = _table(_rows(6))
    collected = Collected()
    settings: dict[str, Any] = {"checkpoint": str(tmp_path / "c"), "sink": collected, **QUICK}
    sliding = _trades(tmp_path).window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("symbol")

    def asking(made: type) -> QueryNetwork:
        return network(sliding.agg(told=_as(made, _in_order("price"))).query("sliding", mode="exact"))

    first, with_other_final, with_other_incr = _in_any_order()
    _write(tmp_path, table, range(2))
    with asking(first).start(spark, **settings) as run:
        wait_for_micro_batch(run, 1)
    last = max(collected.tables)
    changed_code = r'query "sliding": the code of tests:InOrder\(.*\) has changed'
    for changed in (with_other_incr, InOrder):
        with pytest.raises(IncompatibleCheckpointError, match=changed_code):
            asking(changed).start(spark, **settings)
    _write(tmp_path, table, range(2, FILES))
    finish(asking(with_other_final).start(spark, **settings), last + FILES - 2)
    expected = {place: repr(sorted(ast.literal_eval(told))) for place, told in _expected(table, SIZE, SLIDE).items()}
    assert _told(collected.rows("sliding")) == expected


def test_batch_mode_merges_too_and_documents_need_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = _table(_rows(4))
    _write(tmp_path, table, range(FILES))
    written = network_to_document(_queries(_trades(tmp_path)))
    assert f"{InOrder.__module__}:InOrder" in str(written)
    rows = parse_network(written).network.answers(spark).collect()
    never_late = table.set_column(4, "closed_until", pa.array([0] * len(table)))

    def told(query: str, aggregate: str = "told") -> Answers:
        return {
            ((row.window_start.timestamp() * 1e6 - EPOCH_MICROSECONDS) / 1e6, row.key[0]): row.value_text
            for row in rows
            if (row.query, row.aggregate) == (query, aggregate)
        }

    assert told("sliding") == _expected(never_late, SIZE, SLIDE)
    assert told("dear") == _expected(never_late, 10, 5, "price > 40")
    assert told("above") == _expected_above(_expected(never_late, 4, 4), 12, 4)
    assert told("sliding", "merges") == {place: str(_merges(table, *place)) for place in told("sliding")}


def test_no_text_of_a_row_is_taken_for_a_piece(spark: SparkSession) -> None:
    texts = [Piece((1, "a"), (2, "b"), 5, {"0": b"cos\nsystem\n"}, b"x").written(), MARK, "\\N", "\\\\M1|", "\x1f"]
    rows = spark.createDataFrame(
        [(datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC), texts[second % len(texts)]) for second in range(20)],
        "ts timestamp, text string",
    )
    told = stream("s", rows, time="ts").window("20 seconds", every="10 seconds").agg(told=_in_order("text"))
    found = network(told.query("q", mode="exact")).answers(spark, {"s": rows}).collect()
    assert {row.window_start.second: row.value_text for row in found} == {
        50: repr(texts * 2),
        0: repr(texts * 4),
        10: repr(texts * 2),
    }


def _merges(table: pa.Table, start: float, symbol: str) -> int:
    """How often states are merged in a window, as nothing comes between the rows of a slice."""
    slices = [(int(start) + SLIDE * number, int(start) + SLIDE * (number + 1)) for number in range(SIZE // SLIDE)]
    seconds = [
        (row["ts"].timestamp() * 1e6 - EPOCH_MICROSECONDS) / 1e6 for row in table.to_pylist() if row["symbol"] == symbol
    ]
    counts = [sum(first <= second < until for second in seconds) for first, until in slices]
    is_piece = [int(count >= FEWEST_ROWS) for count in counts if count]
    return sum(is_piece) - is_piece[0]


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
    _write(tmp_path, _table(_rows(5)), range(1))
    sliding = _trades(tmp_path).window("20 seconds", every="2 seconds")
    told = user_aggregate(made, columns=["price"], returns="string")
    with pytest.raises(InvalidNetworkError, match=says):
        network(sliding.agg(told=told).query("sliding", mode="exact")).answers(spark)


def test_a_class_that_fails_in_a_slice_is_named(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, _table(_rows(5)), range(1))
    sliding = _trades(tmp_path).window("20 seconds", every="2 seconds")
    told = user_aggregate(_Fails, columns=["price"], returns="string")
    with pytest.raises(PythonException, match=r"_Fails: RuntimeError: no price like \d+ \(in a slice of \d+ rows\)"):
        network(sliding.agg(told=told).query("sliding", mode="exact")).answers(spark).collect()
