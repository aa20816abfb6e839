"""What cannot go on from a checkpoint, or cannot be at all, is refused before anything runs."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
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
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark.sinks.sinks import parquet_sink
from tests.spark.harness import Collected
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.refusing import beside_the_others, message_of_refusal, refused_message
from tests.spark.trunks.scenario import Scenario, Setting

NUMBERS = pa.array(range(13), pa.int64())


def _priced(events: Rows, path: Path) -> list[Query]:
    tumbling = events.lookup(relation("prices", path / "prices.parquet"), on="g").window("10 seconds")
    by_key = tumbling.by("price").agg(n="count(*)")
    return [tumbling.agg(total="sum(price)").query("by_value"), by_key.query("by_key")]


def _queries(setting: Setting) -> Iterable[Query]:
    yield from _priced(setting["events"], setting.folder)
    yield setting["trades"].window("10 seconds").agg(n="count(*)").query("trades")


def _prepare(path: Path) -> None:
    _write_prices(path, NUMBERS)
    (path / "a file").write_text("")
    (path / "pattern[1]").mkdir()


def _write_prices(path: Path, prices: pa.Array) -> None:
    parquet.write_table(pa.table({"g": NUMBERS, "price": prices}), path / "prices.parquet")


SCENARIO = Scenario(queries=_queries, prepare=_prepare)


@dataclass(frozen=True)
class Refusal:
    """A start that has to be refused."""

    error: type[StreamshedError]
    says: str
    build: Callable[[Outcome], QueryNetwork]
    settings: Callable[[Path], dict[str, Any]] = lambda _: {}


def _events(outcome: Outcome, **changes: Any) -> Rows:
    return Rows(replace(outcome.cast.inputs["events"].stream(outcome.cast.path).stream, **changes))


def _with_one_query(outcome: Outcome, **calls: str) -> QueryNetwork:
    tumbling = _events(outcome).window("10 seconds")
    return beside_the_others(outcome, tumbling.agg(**calls or {"n": "count(*)"}).query("q"))


def _of(events: Rows) -> Query:
    return events.window("10 seconds").agg(n="count(*)").query("q")


def _with_other_settings(**settings: Any) -> Callable[[Outcome], QueryNetwork]:
    return lambda outcome: beside_the_others(outcome, _of(_events(outcome)), **settings)


def _nested(outcome: Outcome) -> QueryNetwork:
    counts = _events(outcome).window("10 seconds").agg(n="count(*)").window("20 seconds").agg(n="sum(n)")
    asked = counts.window("1 minute").agg(most="max(n)").query("most", mode="exact")
    return beside_the_others(outcome, asked, max_depth=3)


def _with_another_stream(outcome: Outcome) -> QueryNetwork:
    unchanged = [one for one in outcome.network.streams if one.name != "events"]
    counts = [Rows(one).window("10 seconds").agg(n="count(*)").query(f"count_{one.name}") for one in unchanged]
    return network(_of(_events(outcome, name="others")), *counts, max_depth=outcome.network.depth)


def _with_one_stream_more(outcome: Outcome) -> QueryNetwork:
    more = _events(outcome, name="more").window("1 second").agg(n="count(*)").query("r")
    return beside_the_others(outcome, more, _of(_events(outcome)))


def _with_dispersions_and_texts(outcome: Outcome) -> QueryNetwork:
    calls = {"spread": "stddev(v)", "most": "max(CAST(v AS STRING))"}
    asked = _events(outcome).window("10 seconds").agg(**calls).query("q", mode="exact")
    return beside_the_others(outcome, asked)


def _from_folder(path: Callable[[Outcome], Path | str]) -> Callable[[Outcome], QueryNetwork]:
    def build(outcome: Outcome) -> QueryNetwork:
        source = folder(path(outcome), "parquet", schema="ts timestamp, v bigint")
        return beside_the_others(outcome, _of(stream("events", source, time="ts")))

    return build


REFUSALS = {
    "another stream": Refusal(
        IncompatibleCheckpointError,
        'stream "events" is gone.*stream "others" is new.*start with a new checkpoint',
        _with_another_stream,
    ),
    "one stream more": Refusal(
        IncompatibleCheckpointError, 'stream "more" is new.*start with a new checkpoint', _with_one_stream_more
    ),
    "deeper": Refusal(
        IncompatibleCheckpointError, "max_depth is 3.*made for 2.*new checkpoint", _with_other_settings(max_depth=3)
    ),
    "nested": Refusal(
        IncompatibleCheckpointError, 'query "most" has 3 aggregates that follow.*new checkpoint.*max_depth=3', _nested
    ),
    "a state family": Refusal(
        IncompatibleCheckpointError,
        r'family "decimals".*reserve=\["decimals"\]',
        lambda outcome: _with_one_query(outcome, total="sum(CAST(v AS DECIMAL(10, 2)))"),
    ),
    "two state families": Refusal(
        IncompatibleCheckpointError, '"texts".*; .*"dispersions"', _with_dispersions_and_texts
    ),
    "an aggregate that cannot be scaled": Refusal(
        UnsheddableQueryError,
        '\'q\'.*least = min.*mode="exact".*unscalable="keep"',
        lambda outcome: _with_one_query(outcome, mean="avg(v)", least="min(v)"),
        lambda _: {"unscalable": "refuse"},
    ),
    "an unknown family": Refusal(
        InvalidNetworkError,
        'unknown state family "decimal".*did you mean "decimals"',
        _with_one_query,
        lambda _: {"reserve": ["decimal"]},
    ),
    "a type that cannot be summed": Refusal(
        InvalidNetworkError,
        'query "q": sum does not take string.*aggregate "n"',
        lambda outcome: _with_one_query(outcome, n="sum(CAST(v AS STRING))"),
    ),
    "a missing folder": Refusal(
        SourceUnavailableError,
        '"events".*nowhere" does not exist',
        _from_folder(lambda outcome: outcome.folder / "nowhere"),
    ),
    "a missing folder by its URI": Refusal(
        SourceUnavailableError,
        'folder "/nowhere" does not exist',
        _from_folder(lambda _: "file:///nowhere"),
    ),
    "a file for a folder": Refusal(
        SourceUnavailableError,
        'a file" is a file, not a folder',
        _from_folder(lambda outcome: outcome.folder / "a file"),
    ),
    "a folder that is a pattern": Refusal(
        SourceUnavailableError,
        r'pattern\[1\]" has "\[" in its path, which makes it a pattern to Spark: rename it',
        _from_folder(lambda outcome: outcome.folder / "pattern[1]"),
    ),
    "a lost manifest": Refusal(
        IncompatibleCheckpointError,
        'manifest.json" is gone',
        _with_one_query,
        lambda path: {"checkpoint": str(path / "no manifest")},
    ),
    "a lost plan": Refusal(
        IncompatibleCheckpointError,
        'plans/[0-9]*.json" is gone: what was shed of windows that are still open is not known',
        _with_one_query,
        lambda path: {"checkpoint": str(path / "no plans")},
    ),
    "an unwritable sink": Refusal(
        SinkUnavailableError,
        "cannot write answers to .*a file",
        _with_one_query,
        lambda path: {"sink": parquet_sink(str(path / "a file" / "answers"))},
    ),
    "an unwritable checkpoint": Refusal(
        SinkUnavailableError,
        "cannot write to .*a file",
        _with_one_query,
        lambda path: {"checkpoint": str(path / "a file" / "checkpoint")},
    ),
    "another query's checkpoint": Refusal(
        IncompatibleCheckpointError,
        "is the checkpoint of another streaming query",
        _with_one_query,
        lambda path: {"checkpoint": str(path / "another query")},
    ),
}


@pytest.fixture(scope="module")
def another_query(outcome: Outcome) -> Path:
    """The checkpoint of a streaming query that is not ours: what Spark wrote alone; beside it, some that lack files."""
    checkpoint = outcome.folder / "another query"
    shutil.copytree(outcome.clock_folder() / "spark", checkpoint, ignore=shutil.ignore_patterns("state"))
    for name, lost in (("no manifest", "manifest.json"), ("no plans", "[0-9]*.json")):
        shutil.copytree(outcome.cast.checkpoint, outcome.folder / name, ignore=shutil.ignore_patterns("state", lost))
    return checkpoint


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_is_refused_before_anything_runs(
    name: str, spark: SparkSession, outcome: Outcome, another_query: Path
) -> None:
    refusal = REFUSALS[name]
    asked, settings = refusal.build(outcome), refusal.settings(outcome.folder)
    message = message_of_refusal(outcome, spark, refusal.error, asked, **settings)
    assert re.search(f"(?s){refusal.says}", message), message
    assert not (another_query / "time").exists()


def test_a_port_in_use_is_refused(spark: SparkSession, outcome: Outcome) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = message_of_refusal(outcome, spark, PortInUseError, _with_one_query(outcome), port=port)
    assert re.search(f"127.0.0.1:{port}.*choose another port", message), message


def test_a_static_dataframe_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    static: DataFrame = spark.createDataFrame([], "ts timestamp, v bigint")
    asked = network(_of(stream("events", static, time="ts")))
    with pytest.raises(SourceUnavailableError, match="is not streaming: was it made by"):
        asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected())


def test_a_relation_whose_columns_have_another_type_is_refused(spark: SparkSession, outcome: Outcome) -> None:
    """Its types are no part of a query's definition, but state was made for them. With the same types, it went on."""
    _write_prices(outcome.folder, NUMBERS.cast(pa.float64()))
    try:
        queries = _priced(_events(outcome), outcome.folder)
        message = refused_message(outcome, spark, IncompatibleCheckpointError, *queries)
    finally:
        _write_prices(outcome.folder, NUMBERS)
    assert '"by_value": value 1 was bigint and is double' in message
    assert '"by_key": key 1 was bigint and is double' in message
