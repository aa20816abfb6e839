"""A network that stops and starts again from its checkpoint, with other queries: what goes on, what is refused."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import (
    IncompatibleCheckpointError,
    InvalidNetworkError,
    PortInUseError,
    SinkUnavailableError,
    SourceUnavailableError,
    StreamshedError,
    UnsheddableQueryError,
)
from streamshed.network.network import QueryNetwork, network
from streamshed.network.relation import relation
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.spark.carrier import carrier_frame
from streamshed.spark.sinks import parquet_sink
from tests.spark.streaming.files import at, timed_values, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_for_micro_batch

FILES_BEFORE, FILES_AFTER = 3, 3
FILE_SECONDS = 20
ROWS = [(float(second), second * 7 % 11) for second in range(FILE_SECONDS * (FILES_BEFORE + FILES_AFTER))]


def _write_files(path: Path, numbers: range) -> None:
    for number in numbers:
        rows = ROWS[number * FILE_SECONDS : (number + 1) * FILE_SECONDS]
        seconds, values = zip(*rows, strict=True)
        write_parquet(path / "in" / f"{number}.parquet", timed_values(list(seconds), list(values)))


def _events(path: Path, **settings: Any) -> Stream:
    given: dict[str, Any] = {"name": "events", "time": "ts", "watermark": "2 seconds", **settings}
    source = folder(path / "in", "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    return stream(source=source, **given)


def _before(path: Path) -> QueryNetwork:
    events = _events(path)
    sliding = events.window("60 seconds", every="10 seconds")
    return network(
        sliding.agg(n="count(*)", total="sum(v)").query("kept"),
        events.filter("v > 3").window("40 seconds").agg(total="sum(v)").query("old_name"),
        sliding.by("v").agg(n="count(*)").query("reweighted", weight=1.0),
        events.filter("v < 5").window("60 seconds", every="10 seconds").agg(n="count(*)").query("gone"),
        events.filter("v = 4").query("rows_gone"),
        sliding.agg(middle="median(v)", high="percentile_approx(v, 0.9)").query("ranked"),
    )


def _after(path: Path) -> QueryNetwork:
    events = _events(path)
    sliding = events.window("60 seconds", every="10 seconds")
    return network(
        events.filter("v > 3").window("40 seconds").agg(sum_of_v="sum(v)").query("new_name"),
        sliding.by("v").agg(n="count(*)").query("reweighted", weight=3.0, priority=1),
        sliding.agg(n="count(*)", total="sum(v)").query("kept", mode="exact"),
        # In one sharing class with what was there before.
        events.filter("v > 6").window("40 seconds").agg(n="count(*)", total="sum(v)").query("added"),
        events.filter("v > 8").window("30 seconds").agg(mean="avg(v)", least="min(v)").query("added_too"),
        sliding.agg(middle="median(v)", high="percentile_approx(v, 0.9)").query("ranked"),
    )


@dataclass(frozen=True)
class Restarted:
    """What two runs over one checkpoint answered, and the checkpoint."""

    path: Path
    collected: Collected
    first_of_second_run: int

    @property
    def checkpoint(self) -> str:
        return str(self.path / "checkpoint")


@pytest.fixture(scope="module")
def restarted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Restarted:
    path = tmp_path_factory.mktemp("restarted")
    collected = Collected()
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, "advisory": True, **QUICK}
    _write_files(path, range(FILES_BEFORE))
    with _before(path).start(spark, **settings) as run:
        wait_for_micro_batch(run, FILES_BEFORE - 1)
    first = max(collected.tables) + 1
    _write_files(path, range(FILES_BEFORE, FILES_BEFORE + FILES_AFTER))
    run = _after(path).start(spark, unscalable="keep", **settings)
    finish(run, first + FILES_AFTER)
    return Restarted(path, collected, first)


def _expected(
    size: int, slide: int, keep: Callable[[int], bool] = lambda _: True, since: float = 0.0
) -> dict[datetime, list[int]]:
    """Values by the start of their window, of all windows that overlap the rows."""
    starts = range(-size + slide, int(ROWS[-1][0]) + 1, slide)
    return {
        at(start): [v for second, v in ROWS if start <= second < start + size and keep(v) and second >= since]
        for start in starts
        if start + size > since
    }


def test_open_windows_go_on(restarted: Restarted) -> None:
    windows = _expected(60, 10)
    assert restarted.collected.values("kept", "n") == {start: len(values) for start, values in windows.items()}
    assert restarted.collected.values("kept", "total") == {start: sum(values) for start, values in windows.items()}


@pytest.mark.parametrize(("aggregate", "share"), [("middle", 0.5), ("high", 0.9)])
def test_sketches_of_open_windows_go_on(restarted: Restarted, aggregate: str, share: float) -> None:
    windows = _expected(60, 10)
    assert restarted.collected.values("ranked", aggregate) == {
        start: sorted(values)[math.ceil(share * len(values)) - 1] for start, values in windows.items()
    }


def test_open_windows_of_a_renamed_query_come_under_its_new_name(restarted: Restarted) -> None:
    windows = {start: float(sum(values)) for start, values in _expected(40, 40, lambda v: v > 3).items()}
    before = restarted.collected.values("old_name", "total")
    after = restarted.collected.values("new_name", "sum_of_v")
    assert before.keys().isdisjoint(after)
    assert {**before, **after} == windows
    assert at(40) in after


def test_groups_of_a_reweighted_query_go_on(restarted: Restarted) -> None:
    counted: dict[tuple[datetime, str | None], float | None] = {}
    for row in restarted.collected.rows("reweighted"):
        assert (row.window_start, row.key[0]) not in counted
        counted[row.window_start, row.key[0]] = row.value
    windows = _expected(60, 10)
    expected = {(start, str(v)): values.count(v) for start, values in windows.items() for v in values}
    assert counted == expected


def test_a_removed_query_is_not_heard_of_again(restarted: Restarted) -> None:
    for kind, query in (("answer", "gone"), ("row", "rows_gone")):
        last = max(row.micro_batch_id for row in restarted.collected.rows(query, kind=kind))
        assert last < restarted.first_of_second_run


def test_an_added_query_begins_with_the_windows_of_which_it_sees_all_rows(restarted: Restarted) -> None:
    since = at(FILES_BEFORE * FILE_SECONDS)
    windows = {start: len(values) for start, values in _expected(40, 40, lambda v: v > 6).items() if start >= since}
    found = restarted.collected.values("added", "n")
    assert {start: found.get(start) for start in windows} == windows
    means = restarted.collected.values("added_too", "mean")
    for start, values in _expected(30, 30, lambda v: v > 8).items():
        if start >= since:
            assert means[start] == pytest.approx(sum(values) / len(values))
    assert min(*found, *means) >= since
    for query, begun in (("added", at(40)), ("added_too", at(30))):
        gaps = {row.window_start: row.reason for row in restarted.collected.rows(query, kind="gap")}
        assert gaps[begun] == "before the query"
        assert max(gaps) < since


def test_classes_that_can_be_in_state_no_longer_are_forgotten(restarted: Restarted, spark: SparkSession) -> None:
    manifest = Path(restarted.checkpoint) / "time" / "manifest.json"
    classes = json.loads(manifest.read_text())["classes"]
    assert any(known["retired_at"] is not None for known in classes)
    run = _after(restarted.path).start(
        spark, checkpoint=restarted.checkpoint, sink=Collected(), unscalable="keep", **QUICK
    )
    run.stop()
    kept = json.loads(manifest.read_text())["classes"]
    assert kept == [known for known in classes if known["retired_at"] is None]


@dataclass(frozen=True)
class Refusal:
    """A start that has to be refused."""

    error: type[StreamshedError]
    says: str
    build: Callable[[Path], QueryNetwork]
    settings: Callable[[Path], dict[str, Any]] = lambda _: {}


def _one_query(events: Stream, **calls: str) -> QueryNetwork:
    return network(events.window("10 seconds").agg(**calls or {"n": "count(*)"}).query("q"))


def _deeper(path: Path) -> QueryNetwork:
    return network(*_after(path).queries, max_depth=2)


def _nested(path: Path) -> QueryNetwork:
    counts = _events(path).window("10 seconds").agg(n="count(*)")
    return network(counts.window("1 minute").agg(most="max(n)").query("most", mode="exact"))


def _joining(path: Path) -> QueryNetwork:
    return network(*_after(path).queries, joins=True)


def _with_decimals(path: Path) -> QueryNetwork:
    return _one_query(_events(path), total="sum(CAST(v AS DECIMAL(10, 2)))")


def _with_dispersions_and_texts(path: Path) -> QueryNetwork:
    calls = {"spread": "stddev(v)", "most": "max(CAST(v AS STRING))"}
    return network(_events(path).window("10 seconds").agg(**calls).query("q", mode="exact"))


_PARQUET: dict[str, Any] = {"format": "parquet", "schema": "ts timestamp, v bigint"}


def _without_its_folder(path: Path) -> QueryNetwork:
    source = folder(path / "nowhere", "parquet", schema="ts timestamp, v bigint")
    return _one_query(stream("events", source, time="ts"))


def _two_streams(path: Path) -> QueryNetwork:
    more = _events(path, name="more")
    return network(*_one_query(_events(path)).queries, more.window("1 second").agg(n="count(*)").query("r"))


REFUSALS = {
    "another stream": Refusal(
        IncompatibleCheckpointError,
        'stream "events" is gone.*stream "others" is new.*start with a new checkpoint',
        lambda path: _one_query(_events(path, name="others")),
    ),
    "one stream more": Refusal(
        IncompatibleCheckpointError, 'stream "more" is new.*start with a new checkpoint', _two_streams
    ),
    "deeper": Refusal(IncompatibleCheckpointError, "max_depth is 2.*made for 1.*new checkpoint", _deeper),
    "nested": Refusal(
        IncompatibleCheckpointError, 'query "most" has 2 aggregates that follow.*new checkpoint.*max_depth=2', _nested
    ),
    "joining": Refusal(IncompatibleCheckpointError, "joins was False and is True.*new checkpoint", _joining),
    "a state family": Refusal(
        IncompatibleCheckpointError, r'family "decimals".*reserve=\["decimals"\]', _with_decimals
    ),
    "two state families": Refusal(
        IncompatibleCheckpointError, '"texts".*; .*"dispersions"', _with_dispersions_and_texts
    ),
    "an aggregate that cannot be scaled": Refusal(
        UnsheddableQueryError,
        '\'added_too\'.*least = min.*mode="exact".*unscalable="keep"',
        _after,
        lambda _: {"unscalable": "refuse"},
    ),
    "an unknown family": Refusal(
        InvalidNetworkError,
        'no state family "decimal".*did you mean "decimals"',
        _after,
        lambda _: {"reserve": ["decimal"]},
    ),
    "a type that cannot be summed": Refusal(
        InvalidNetworkError,
        'query "q": sum does not take string.*aggregate "n"',
        lambda path: _one_query(_events(path), n="sum(CAST(v AS STRING))"),
    ),
    "a missing folder": Refusal(SourceUnavailableError, '"events".*nowhere" does not exist', _without_its_folder),
    "a missing folder by its URI": Refusal(
        SourceUnavailableError,
        'folder "file:///nowhere" does not exist',
        lambda _: _one_query(stream("events", folder("file:///nowhere", **_PARQUET), time="ts")),
    ),
    "a file for a folder": Refusal(
        SourceUnavailableError,
        '0.parquet" is a file, not a folder',
        lambda path: _one_query(stream("events", folder(path / "in" / "0.parquet", **_PARQUET), time="ts")),
    ),
    "an unwritable sink": Refusal(
        SinkUnavailableError,
        "cannot write answers to .*a file",
        _after,
        lambda path: {"sink": parquet_sink(str(path / "a file" / "answers"))},
    ),
    "an unwritable checkpoint": Refusal(
        SinkUnavailableError,
        "cannot write to .*a file",
        _after,
        lambda path: {"checkpoint": str(path / "a file" / "checkpoint")},
    ),
    "another query's checkpoint": Refusal(
        IncompatibleCheckpointError,
        "is the checkpoint of another streaming query",
        _after,
        lambda path: {"checkpoint": str(path / "another query")},
    ),
}


@pytest.fixture(scope="module")
def another_query(spark: SparkSession, restarted: Restarted) -> Path:
    """The checkpoint of a streaming query that is not ours, and a file where a folder could be."""
    checkpoint = restarted.path / "another query"
    writer = carrier_frame(spark).writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    running = writer.trigger(processingTime="0 seconds").start()
    while running.lastProgress is None:
        assert not running.awaitTermination(1)
    running.stop()
    (restarted.path / "a file").write_text("")
    return checkpoint


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_is_refused_before_anything_runs(
    name: str, spark: SparkSession, restarted: Restarted, another_query: Path
) -> None:
    refusal = REFUSALS[name]
    before = _contents(restarted.path / "checkpoint")
    settings = {"checkpoint": restarted.checkpoint, "sink": Collected(), "unscalable": "keep", **QUICK}
    with pytest.raises(refusal.error, match=f"(?s){refusal.says}"):
        refusal.build(restarted.path).start(spark, **settings | refusal.settings(restarted.path))
    assert not spark.streams.active
    assert _contents(restarted.path / "checkpoint") == before
    assert not (another_query / "time").exists()


def test_a_port_in_use_is_refused(spark: SparkSession, restarted: Restarted) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"127.0.0.1:{port}.*choose another port"):
            _after(restarted.path).start(
                spark,
                checkpoint=restarted.checkpoint,
                sink=Collected(),
                unscalable="keep",
                port=port,
                **QUICK,
            )
    assert not spark.streams.active


def test_a_static_dataframe_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    static: DataFrame = spark.createDataFrame([], "ts timestamp, v bigint")
    events = stream("events", static, time="ts")
    with pytest.raises(SourceUnavailableError, match="is not streaming: was it made by"):
        _one_query(events).start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected())


def test_a_relation_whose_columns_have_another_type_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Its types are no part of a query's definition, but state was made for them."""
    _write_files(tmp_path, range(1))
    prices = tmp_path / "prices.parquet"

    def start(price: pa.Array) -> Any:
        write_parquet(prices, pa.table({"v": pa.array([1, 2, 3], pa.int64()), "price": price}))
        priced = _events(tmp_path).lookup(relation("prices", prices), on="v")
        tumbling = priced.window("10 seconds")
        queries = network(
            tumbling.agg(total="sum(price)").query("by_value"), tumbling.by("price").agg(n="count(*)").query("by_key")
        )
        return queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **QUICK)

    numbers = pa.array([1, 2, 3], pa.int64())
    for _ in range(2):
        start(numbers).stop()
    with pytest.raises(IncompatibleCheckpointError) as refused:
        start(numbers.cast(pa.float64()))
    assert '"by_value": value 1 was bigint and is double' in str(refused.value)
    assert '"by_key": key 1 was bigint and is double' in str(refused.value)


def _contents(checkpoint: Path) -> dict[str, str]:
    """What is of the network's own in a checkpoint."""
    files: Iterator[Path] = checkpoint.glob("*/*.json")
    return {str(file): file.read_text() for file in files}
