"""A keyword or key of another system gets an answer, in Python and in documents alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import streamshed as ss
from streamshed.network.document.validation import validate_document
from streamshed.network.model.rows import Rows
from tests.unit.network.examples import packets

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "slide": (packets().window, {"size": "1 minute", "slide": "10 s"}, 'write every="10 seconds"'),
    "hop": (packets().window, {"size": "1 minute", "hop": "10 s"}, 'write every="10 seconds"'),
    "duration": (packets().window, {"duration": "1 minute"}, 'write size="1 minute"'),
    "startTime": (packets().window, {"size": "1 minute", "startTime": "10 s"}, 'write offset="6 hours"'),
    "zone": (packets().window, {"size": "1 day", "zone": "Europe/Berlin"}, "from_utc_timestamp(ts, 'Europe/Berlin')"),
    "watermark": (packets().window, {"size": "1 day", "watermark": "1 s"}, "declare the watermark with the stream"),
    "by": (packets().window, {"size": "1 day", "by": "proto"}, '`window("1 minute").by("host")`'),
    "timestamp": (ss.stream, {"name": "a", "source": ss.rate(1), "timestamp": "ts"}, 'write time="ts"'),
    "delay": (ss.stream, {"name": "a", "source": ss.rate(1), "time": "ts", "delay": "1 s"}, "write watermark="),
    "schema": (ss.stream, {"name": "a", "source": ss.rate(1), "time": "ts", "schema": "v int"}, "with the folder"),
    "path": (ss.relation, {"name": "a", "souce": "hosts.csv"}, 'did you mean "source"?'),
    "how": (packets().join, {"other": packets(), "on": "proto", "within": "1 s", "how": "left"}, "no outer joins"),
    "interval": (packets().join, {"other": packets(), "on": "proto", "interval": "1 s"}, 'write within="30 seconds"'),
    "condition": (packets().filter, {"condition": "size > 3"}, 'did you mean "predicate"?'),
    "gap": (packets().window("1 s").agg(n="count(*)").query, {"name": "q", "max_gaps": 3}, 'did you mean "max_gap"?'),
}


@pytest.mark.parametrize(("function", "keywords", "advice"), CALLS.values(), ids=CALLS)
def test_an_error_says_what_to_write(function: Callable[..., Any], keywords: dict[str, Any], advice: str) -> None:
    with pytest.raises(TypeError) as refused:
        function(**keywords)
    assert f'{function.__name__}() has no keyword "' in str(refused.value)
    assert advice in str(refused.value)


def test_a_keyword_of_which_nothing_comes_to_mind_is_named() -> None:
    with pytest.raises(TypeError, match=r'^window\(\) has no keyword "wibble"$'):
        packets().window("1 minute", wibble=3)  # type: ignore[call-arg]


def test_signatures_are_as_they_are_written() -> None:
    assert list(inspect.signature(Rows.window).parameters) == ["self", "size", "every", "offset"]
    assert inspect.signature(ss.stream).parameters["time"].kind is inspect.Parameter.KEYWORD_ONLY


DOCUMENT = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  q: {from: ticks, window: {size: 1 minute}, aggregates: {n: count(*)}}
"""


@pytest.mark.parametrize(
    ("written", "instead", "path", "meant"),
    [
        ("size: 1 minute", "size: 1 minute, every: 10 s", "queries.q.window.every", "slide"),
        ("size: 1 minute", "duration: 1 minute", "queries.q.window.duration", "size"),
        ("from: ticks", "from: ticks, filter: value > 3", "queries.q.filter", "where"),
        ("from: ticks", "from: ticks, group_by: [value]", "queries.q.group_by", "by"),
        ("time: timestamp", "event_time: timestamp", "streams.ticks.event_time", "time"),
        ("time: timestamp", "time: timestamp, lateness: 1 s", "streams.ticks.lateness", "watermark"),
    ],
)
def test_documents_answer_alike(written: str, instead: str, path: str, meant: str) -> None:
    (problem,) = validate_document(DOCUMENT.replace(written, instead))
    assert (problem.path, problem.message, problem.near_miss) == (path, "unknown key", meant)


def test_documents_say_what_there_is_in_the_place_of_zones() -> None:
    (problem,) = validate_document(DOCUMENT.replace("size: 1 minute", "size: 1 day, zone: Europe/Berlin"))
    assert problem.path == "queries.q.window.zone"
    assert "from_utc_timestamp(ts, 'Europe/Berlin')" in problem.message
