"""What Spark can parse but makes no sense of is told in the words of the one who wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidExpressionError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder


def _counted(node: Rows) -> QueryNetwork:
    return network(node.window("10 seconds").agg(n="count(*)").query("q"))


def _timed(events: Rows, time: str) -> QueryNetwork:
    return _counted(stream("events", events.stream.source, time=time))


REFUSED: dict[str, tuple[Callable[[Rows], QueryNetwork], str]] = {
    "an unknown function": (
        lambda events: _counted(events.filter("v > 1").filter("lenght(s) > 2").filter("v < 9")),
        r'stream "events", the predicate "lenght\(s\) > 2": Spark says: .*lenght',
    ),
    "a predicate that is a number": (
        lambda events: _counted(events.filter("v + 1")),
        r'stream "events", the predicate "v \+ 1": Spark says: ',
    ),
    "a field of a text": (
        lambda events: _counted(events.map(t="upper(s)").filter("t.foo = 3")),
        r'"t\.foo = 3": Spark says: .*"t"',
    ),
    "types that do not go together": (
        lambda events: _counted(events.map(x="v + ts")),
        r'stream "events", "v \+ ts": Spark says: .*',
    ),
    "an unknown function of a value": (
        lambda events: network(events.window("10 seconds").agg(n="sum(v)", m="sum(scale_it(v))").query("q")),
        r'query "q", "scale_it\(v\)": Spark says: .*scale_it',
    ),
    "a number in the place of a predicate": (
        lambda events: network(events.window("10 seconds").agg(any="bool_or(v)").query("q")),
        r'query "q", "\(v\) OR false": Spark says: ',
    ),
    "an unknown function of a key": (
        lambda events: network(events.window("10 seconds").by(k="bucket_of(v)").agg(n="sum(v)").query("q")),
        r'query "q", "bucket_of\(v\)": Spark says: ',
    ),
    "an event time that is no time": (
        lambda events: _timed(events, "v + 1"),
        r'stream "events": its time "v \+ 1" is a bigint, expected a timestamp: cast it\?',
    ),
    "an event time by an unknown function": (
        lambda events: _timed(events, "timestamp_milis(v)"),
        r'stream "events": its time "timestamp_milis\(v\)": Spark says: .*timestamp_milis',
    ),
    "an event time of types that do not go together": (
        lambda events: _timed(events, "timestamp_millis(s)"),
        r'stream "events": its time "timestamp_millis\(s\)": Spark says: ',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_before_anything_runs(name: str, spark: SparkSession, tmp_path: Path) -> None:
    build, message = REFUSED[name]
    (tmp_path / "in").mkdir()
    source = folder(tmp_path / "in", "parquet", schema="ts timestamp, v bigint, s string")
    queries = build(stream("events", source, time="ts"))
    with pytest.raises(InvalidExpressionError, match=message) as refused:
        queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=print)
    assert "__" not in str(refused.value)
    assert not spark.streams.active
