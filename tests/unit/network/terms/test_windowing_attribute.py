"""Event times that are computed: which there can be, and what is said of those that cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.errors import InvalidExpressionError, InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.document.validation import validate_document
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.windowing_attribute import StoredColumn, windowing_attribute
from tests.unit.network.examples import FakeFrame

COLUMNS = {"Ms": "bigint", "ts": "timestamp", "a b": "timestamp", "day": "string", "date": "date"}
FRAME = FakeFrame(list(COLUMNS.items()))


def timed(time: str, frame: FakeFrame = FRAME) -> Rows:
    return stream("events", frame, time=time)


@pytest.mark.parametrize(
    ("time", "text", "used", "stored"),
    [
        ("TS", "ts", {"ts"}, StoredColumn("ts")),
        ("a b", "a b", {"a b"}, StoredColumn("a b")),
        ("`a b`", "a b", {"a b"}, StoredColumn("a b")),
        ("timestamp_millis(ms)", "timestamp_millis(ms)", {"Ms"}, StoredColumn("Ms", 1_000)),
        ("TIMESTAMP_SECONDS( `MS` )", "TIMESTAMP_SECONDS( `MS` )", {"Ms"}, StoredColumn("Ms", 1_000_000)),
        ("timestamp_micros(Ms)", "timestamp_micros(Ms)", {"Ms"}, StoredColumn("Ms", 1)),
        ("timestamp_millis(-Ms)", "timestamp_millis(-Ms)", {"Ms"}, None),
        ("to_timestamp(day, 'yyyy-MM-dd')", "to_timestamp(day, 'yyyy-MM-dd')", {"day"}, None),
        ("coalesce(ts, timestamp_millis(ms))", "coalesce(ts, timestamp_millis(ms))", {"Ms", "ts"}, None),
    ],
)
def test_a_time_is_a_column_or_an_expression(time: str, text: str, used: set[str], stored: StoredColumn | None) -> None:
    events = timed(time)
    assert (events.stream.time, set(events.node.columns_needed(frozenset())), events.stream.attribute.stored) == (
        text,
        used,
        stored,
    )


def test_what_is_spelled_otherwise_is_the_same_time() -> None:
    one, other = timed("to_timestamp(DAY,'yyyy-MM-dd')"), timed("To_Timestamp(day, 'yyyy-MM-dd')")
    assert one == other
    assert one.node.definition(frozenset()) == other.node.definition(frozenset())
    minutes = timed("to_timestamp(day, 'yyyy-mm-dd')")
    assert minutes != one
    assert minutes.node.definition(frozenset()) != one.node.definition(frozenset())


@pytest.mark.parametrize(
    ("time", "problem"),
    [
        ("to_timestamp(dayy)", 'its time: unknown column "dayy" (did you mean "day"?) in "to_timestamp(dayy)"'),
        ("timestamp_millis(ms", "its time is neither a column nor an expression: cannot parse"),
        ("rand()", 'its time "rand()" may be another when a row is read again, by rand: use what the row holds'),
        ("greatest(ts, current_timestamp)", "may be another when a row is read again, by current_timestamp"),
        ("timestamp '2024-01-01'", "is the same for all rows: use a column"),
        ("max(ts)", "the aggregate max() belongs after a window"),
        ("ms", 'its time "Ms" is a bigint, expected a timestamp: write time="timestamp_millis(Ms)" if it counts'),
        ("(date)", 'its time "date" is a date, expected a timestamp: write time="cast(date as timestamp)"'),
        ("day", "write time=\"to_timestamp(day, 'yyyy-MM-dd HH:mm:ss')\""),
    ],
)
def test_what_is_no_time_is_refused(time: str, problem: str) -> None:
    with pytest.raises(InvalidNetworkError) as refused:
        timed(time)
    assert problem in str(refused.value)
    assert str(refused.value).startswith('stream "events": its time')


def test_a_column_is_taken_for_itself_though_its_name_is_an_expression() -> None:
    frame = FakeFrame([("timestamp_millis(ms)", "timestamp"), ("ms", "bigint")])
    assert timed("timestamp_millis(ms)", frame).stream.attribute.column == "timestamp_millis(ms)"


def test_numbers_are_a_column() -> None:
    with pytest.raises(InvalidNetworkError, match='its number: unknown column "ms div 2"'):
        stream("events", FRAME, number="ms div 2")


def test_what_a_time_is_made_of_cannot_be_replaced() -> None:
    events = timed("timestamp_millis(ms)")
    with pytest.raises(InvalidNetworkError, match='"MS" is what event time is made of and cannot be replaced'):
        events.map(MS="ms / 1000")
    assert "seconds" in events.map(seconds="ms / 1000").columns


def test_an_unparsable_time_is_an_invalid_expression() -> None:
    with pytest.raises(InvalidExpressionError):
        windowing_attribute("timestamp_millis(", COLUMNS)


DOCUMENT = """
streamshed: 1
streams:
  events: {source: {folder: in, schema: "ms bigint, v int"}, time: TIME}
queries:
  q: {from: events, window: {size: 1 minute}, aggregates: {n: count(*)}}
"""


def test_documents_say_the_same() -> None:
    source = folder(Path("in").absolute(), "parquet", schema="ms bigint, v int")
    events = stream("events", source, time="timestamp_millis(ms)")
    asked = network(events.window("1 minute").agg(n="count(*)").query("q"))
    assert parse_network(DOCUMENT.replace("TIME", "timestamp_millis(ms)")).network == asked
    assert parse_network(network_to_document(asked)).network == asked


def test_problems_of_documents_say_where() -> None:
    (problem,) = validate_document(DOCUMENT.replace("TIME", "timestamp_millis(mss)"))
    assert (problem.path, problem.value, problem.near_miss) == ("streams.events.time", "timestamp_millis(mss)", "ms")


def test_the_engine_is_asked_about_what_is_no_column() -> None:
    seen: list[str] = []

    def complaint(text: str) -> str | None:
        seen.append(text)
        return f"no {text}" if text.startswith("timestamp") else None

    computed, numbered = DOCUMENT.replace("TIME", "timestamp_millis(ms)"), DOCUMENT.replace("time: TIME", "number: ms")
    (problem,) = validate_document(computed, expression_checker=complaint)
    assert (problem.path, problem.message) == ("streams.events.time", "no timestamp_millis(ms)")
    seen.clear()
    assert validate_document(numbered.replace("1 minute", "10"), expression_checker=complaint) == ()
    assert seen == ["count(*)"]
