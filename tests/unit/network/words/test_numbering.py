"""Streams with numbers in the place of time, in Python and in documents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder, rate
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.numbering import LARGEST_NUMBER

SOURCE = folder("/in", "json", schema="n bigint, word string, ts timestamp")


def trades(name: str = "trades", **settings: object) -> Rows:
    return stream(name, SOURCE, number="n", **settings)  # type: ignore[arg-type]


def test_lengths_are_numbers() -> None:
    one = trades(watermark=10)
    assert one.stream.is_numbered
    assert one.stream.windowing == "number n, watermark 10"
    window = one.window(1000, every=100, offset=5).window
    assert window == WindowSpecification(1_000_000, 100_000, 5_000, is_numbered=True)
    assert str(window) == "1000 every 100 offset 5"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "it needs either a time or a number"),
        ({"time": "ts", "number": "n"}, "it needs either a time or a number"),
        ({"number": "m"}, 'its number: unknown column "m", known are: n'),
        ({"number": "word"}, 'its number "word" is a string, expected a whole number'),
        ({"number": 5}, "its number is the name of a column, got 5"),
        (
            {"time": "n"},
            'its time "n" is a bigint, expected a timestamp: write time="timestamp_millis(n)" if',
        ),
        ({"number": "n", "watermark": "1 second"}, "expected a whole number such as 1000"),
        ({"number": "n", "watermark": -1}, "expected a whole number from 0 to"),
        ({"number": "n", "watermark": LARGEST_NUMBER + 1}, "expected a whole number from 0 to"),
        ({"time": "ts", "watermark": 10}, "windows of so many rows need a stream with a number"),
    ],
)
def test_what_is_wrong_is_said(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        stream("trades", SOURCE, **settings)  # type: ignore[arg-type]
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("size", "every", "problem"),
    [
        ("1 minute", None, "expected a whole number such as 1000, because the stream has numbers, not time"),
        (100, "1 second", "expected a whole number such as 1000"),
        (True, None, "expected a whole number such as 1000"),
        (0, None, "a window's size must be positive, got 0"),
        (10, 20, "got a slide of 20 and a size of 10"),
    ],
)
def test_windows_that_cannot_be(size: object, every: object, problem: str) -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        trades().window(size, every)  # type: ignore[arg-type]
    assert problem in str(caught.value)


def test_windows_in_time_need_a_time() -> None:
    counted = trades().window(1).agg(n="count(*)").query("counted").aggregate
    assert counted is not None
    with pytest.raises(InvalidNetworkError, match="windows lie along numbers if, and only if, its stream has them"):
        replace(counted, over=WindowSpecification(10, 10))


def test_numbers_of_different_streams_have_nothing_in_common() -> None:
    one, other = trades("one"), trades("other")
    both = network(*(s.window(10).agg(n="count(*)").query(s.stream.name) for s in (one, other)))
    assert [domain.clock for domain in both.time_domains] == ["one", "other"]
    assert all(domain.is_numbered for domain in both.time_domains)


def test_one_clock_cannot_have_both() -> None:
    numbered = trades("numbered", clock="time").window(10).agg(n="count(*)").query("a")
    timed = stream("timed", rate(1), time="timestamp").window("1 second").agg(n="count(*)").query("b")
    with pytest.raises(InvalidNetworkError, match='"timed" and "numbered" have the same clock, "time"'):
        network(numbered, timed)


def test_the_number_cannot_be_replaced() -> None:
    with pytest.raises(InvalidNetworkError, match='"n" is the number and cannot be replaced'):
        trades().map(n="n + 1")


DOCUMENT = """
streamshed: 1
streams:
  trades: {source: {folder: /in, format: json, schema: "n bigint, word string"}, number: n, watermark: 10}
queries:
  last: {from: trades, window: {size: 1000, slide: 100}, aggregates: {n: count(*)}}
"""


def test_documents_say_the_same() -> None:
    source = folder("/in", "json", schema="n bigint, word string")
    written = stream("trades", source, number="n", watermark=10)
    expected = network(written.window(1000, every=100).agg(n="count(*)").query("last"))
    found = parse_network(DOCUMENT).network
    assert found == expected
    assert parse_network(network_to_document(found)).network == expected


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (", number: n", "", "streams.trades: one of these keys is missing: time, number"),
        ("number: n", "number: n, time: n", "streams.trades: expected only one of time, number"),
        ("number: n", "number: m", 'streams.trades.number: its number: unknown column "m"'),
        ("watermark: 10", "watermark: 10 seconds", "streams.trades.watermark: expected a whole number such as 1000"),
        ("size: 1000", "size: 1 minute", "queries.last.window.size: expected a whole number such as 1000"),
        ("slide: 100", "slide: 2000", "got a slide of 2000 and a size of 1000"),
    ],
)
def test_documents_that_are_wrong(before: str, after: str, problem: str) -> None:
    assert before in DOCUMENT
    with pytest.raises(InvalidDocumentError) as caught:
        parse_network(DOCUMENT.replace(before, after))
    assert problem in str(caught.value)
