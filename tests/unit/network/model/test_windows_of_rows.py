"""Windows of so many rows of each group: how they are written, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamshed.dashboard.explained_network import explain_network
from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import AnswerMode
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder, rate
from streamshed.planning.tree.scalability import protected_streams
from streamshed.planning.window_drop.track.droppable import droppable_queries

DOCUMENT = """
streamshed: 1
streams:
  flows:
    source: {folder: flows, format: parquet, schema: "at timestamp, host string, bytes bigint"}
    time: at
queries:
  last:
    from: flows
    window: {size: 100 rows, slide: 10 rows}
    by: [host]
    aggregates: {mean: avg(bytes)}
"""


def _flows() -> Rows:
    source = folder("flows", "parquet", schema="at timestamp, host string, bytes bigint")
    return stream("flows", source, time="at", watermark="10 seconds")


def test_answers_lie_along_the_numbers_of_rows() -> None:
    last = _flows().window("100 rows", every="10 rows").by("host").agg(mean="avg(bytes)")
    assert str(last) == "mean = avg(bytes) over 100 rows every 10 rows by host"
    assert list(last.columns) == ["window_from", "window_until", "host", "mean"]


def test_a_stream_with_numbers_has_them_too() -> None:
    ticks = stream("ticks", rate(10), number="value")
    by_count, by_number = ticks.window("100 rows").agg(n="count(*)"), ticks.window(100).agg(n="count(*)")
    assert by_count != by_number
    assert by_count.query("q").definition_id != by_number.query("q").definition_id


def test_they_are_exact_whatever_the_load() -> None:
    flows = _flows()
    last = flows.window("100 rows").by("host").agg(n="count(*)").query("last")
    beside = flows.window("1 minute").agg(n="count(*)").query("beside")
    queries = network(last, beside)
    assert last.mode is AnswerMode.EXACT
    assert protected_streams(queries) == {"flows": ("last",)}
    assert droppable_queries(queries) == ()
    told = explain_network(queries, load=5)
    rates = {outlook.query: outlook.effective_sampling_rate for outlook in told.explanation.outlooks}
    assert rates == {"last": 1, "beside": 1}, "of rows that all have to be worked on, a sample saves next to nothing"
    assert "never shed: its windows hold so many rows" in str(told)


_WINDOWED: list[tuple[Callable[[Rows], object], str]] = [
    (lambda flows: flows.window("100 rows", "1 minute"), 'expected a number of rows such as "10 rows"'),
    (lambda flows: flows.window("1 minute", "10 rows"), 'unknown unit "rows"'),
    (lambda flows: flows.window("100 rows", offset="5 rows"), "they have no offset"),
    (lambda flows: flows.window("10 rows", "20 rows"), "a slide of 20 rows and a size of 10 rows"),
    (lambda flows: flows.window("0 rows"), 'expected from "1 row" to "1000000 rows"'),
    (lambda flows: flows.window("-5 rows"), "expected a number of rows"),
    (
        lambda flows: flows.window("1 minute").agg(n="count(*)").window("10 rows").agg(most="max(n)"),
        "are of rows of a stream, not of the answers",
    ),
    (
        lambda flows: flows.window("10 rows").agg(n="count(*)").window("1 minute").agg(most="max(n)"),
        "cannot be aggregated: windows of so many rows have no place in time",
    ),
    (lambda flows: flows.window("10 rows").agg(n="approx_count_distinct(host)"), "is an estimate"),
    (lambda flows: flows.window("10 rows").agg(n="count(*)").query("q", mode="subset"), "cannot be subset"),
    (lambda flows: flows.window("10 rows").agg(n="count(*)").query("q", max_error="2 %"), "leave max_error out"),
]


@pytest.mark.parametrize(("make", "problem"), _WINDOWED)
def test_what_cannot_be_is_refused(make: Callable[[Rows], object], problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        make(_flows())


def test_documents_have_them() -> None:
    document = parse_network(DOCUMENT)
    again = parse_network(network_to_document(document.network))
    assert again.network.queries == document.network.queries
    assert "100 rows every 10 rows" in str(document.network.query("last").node)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("slide: 10 seconds", 'expected a number of rows such as "10 rows"'),
        ("slide: 10 rows, offset: 5 rows", "they have no offset"),
        ("slide: 200 rows", "cannot exceed its size"),
    ],
)
def test_documents_tell_what_is_wrong_with_them(written: str, problem: str) -> None:
    with pytest.raises(InvalidDocumentError, match=problem):
        parse_network(DOCUMENT.replace("slide: 10 rows", written))
