"""Answers of windows as a side of a join, as a network says it."""

from __future__ import annotations

import pickle

import pytest

from streamshed.dashboard.explained_join import joined_lines
from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.answer_side import side_aggregates, side_time
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.join import join_for_tasks
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import network
from streamshed.network.model.query import AnswerMode
from streamshed.network.model.render import snapshot, to_mermaid, to_text
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import folder
from streamshed.planning.load.join_outlook import join_outlooks
from streamshed.statistics.network_statistics import NetworkStatistics, OperatorStatistics, StreamStatistics


def _stream(name: str, *, clock: str | None = None) -> Rows:
    source = folder(f"/in/{name}", "json", schema="ts timestamp, host string, n bigint")
    return stream(name, source, time="ts", clock=clock)


FLOWS, ALERTS = _stream("flows"), _stream("alerts")
BUSY = FLOWS.window("1 minute", every="10 s").by("host").agg(n="count(*)", total="sum(n)")


def _joined(side: Rows, other: Rows = ALERTS, **settings: object) -> Rows:
    return side.join(other, on="host", within=("30 s", "5 s"), name="pairs", **settings)  # type: ignore[arg-type]


def _source(joined: Stream) -> JoinSource:
    assert joined.joined is not None
    return joined.joined


def test_a_result_has_all_columns_of_an_answer_and_its_time_is_the_start_of_the_window() -> None:
    joined = _joined(BUSY.filter("n > 3").map(ratio="total / n"))
    assert list(joined.columns) == [
        "time",
        *("flows_window_start", "flows_window_end", "flows_host", "flows_n", "flows_total", "flows_ratio"),
        *("alerts_ts", "alerts_host", "alerts_n"),
    ]
    assert joined.columns["flows_window_start"] == "timestamp"
    assert side_time(_source(joined.stream).left) == "window_start"
    assert side_time(_source(joined.stream).right) == "ts"


def test_answers_of_answers_are_a_side_as_well() -> None:
    largest = BUSY.window("5 minutes").by("host").agg(most="max(total)")
    assert [str(one.over) for one in side_aggregates(largest.node)] == ["1 minute every 10 seconds", "5 minutes"]
    assert "flows_most" in _joined(largest).columns


def test_a_stream_is_joined_with_answers_of_its_own_windows() -> None:
    joined = FLOWS.join(BUSY, on="host", within="1 minute", prefixes=("row_", "busy_"))
    (domain,) = network(joined.query("pairs")).time_domains
    assert [one.name for one in domain.sources] == ["flows"]


def test_windows_and_names_of_answers_are_part_of_what_is_asked() -> None:
    others = [
        FLOWS.window("1 minute", every="20 s").by("host").agg(n="count(*)", total="sum(n)"),
        FLOWS.window("1 minute", every="10 s").by("host").agg(n="count(*)", sum="sum(n)"),
        FLOWS.window("1 minute", every="10 s").by("host").agg(n="count(*)"),
        BUSY.filter("n > 3"),
    ]
    definitions = {_joined(side).query("q").definition for side in (BUSY, *others)}
    assert len(definitions) == 5
    assert len({_source(_joined(side).stream).definition for side in (BUSY, *others)}) == 5
    again = FLOWS.window("60 s", every="10 s").by("HOST").agg(n="COUNT(1)", total="sum( n )")
    assert _joined(again).query("q").definition == _joined(BUSY).query("q").definition


def test_what_tasks_are_told_has_the_columns_of_answers() -> None:
    join = _source(_joined(BUSY.filter("n > 3"), weight="flows_total").stream)
    told = pickle.loads(pickle.dumps(join_for_tasks(join)))
    for kept in ("columns", "condition", "left_microseconds", "right_microseconds", "prefixes", "time", "shedding"):
        assert getattr(told, kept) == getattr(join, kept)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (
            FLOWS.window("100 rows").by("host").agg(n="count(*)"),
            'its left side is answers of "n = count.*: windows of so many rows have no place in time',
        ),
        (
            FLOWS.window("1 minute").by("host").agg(middle="median(n)"),
            "its left side is answers of .*, but middle is an estimate even when nothing is shed: .* percentile_approx",
        ),
        (
            FLOWS.window("1 minute").by("host").agg(ports="approx_count_distinct(n)"),
            "but ports is an estimate even when nothing is shed",
        ),
        (
            _joined(BUSY).window("1 minute").by(host="flows_host").agg(n="count(*)"),
            'its left side is made of rows of the join "pairs": only rows of a source can be joined, or answers',
        ),
    ],
)
def test_answers_that_cannot_be_joined_are_refused(side: Rows, message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        side.join(ALERTS, on="host", within="30 s", name="others")


def test_answers_of_another_clock_are_refused() -> None:
    far = _stream("far", clock="elsewhere").window("1 minute").by("host").agg(n="count(*)")
    with pytest.raises(InvalidNetworkError, match='the clocks "time" and "elsewhere"'):
        FLOWS.join(far, on="host", within="30 s")


def test_columns_that_answers_do_not_have_are_refused_as_keys() -> None:
    with pytest.raises(InvalidNetworkError, match='its left side: unknown column "ts"'):
        BUSY.join(ALERTS, on="ts", within="30 s")


def test_windows_over_answers_may_miss_some_but_the_results_themselves_are_no_windows() -> None:
    windows = _joined(BUSY).window("1 minute").agg(n="count(*)").query("some", mode="subset", max_gap=9)
    assert (windows.mode, windows.gap_windows) == (AnswerMode.SUBSET, 9)
    with pytest.raises(InvalidNetworkError, match='join "pairs" themselves, and no windows of them: its mode cannot'):
        _joined(BUSY).query("some", mode="subset")
    assert _joined(BUSY).query("all", mode="exact").mode is AnswerMode.EXACT


def test_a_document_says_it_and_pictures_show_it() -> None:
    busy = BUSY.filter("n > 3")
    queries = network(_joined(busy).window("1 minute").by("alerts_host").agg(n="count(*)").query("alarmed"))
    document = network_to_document(queries)
    assert parse_network(document).network == queries
    assert "from: flows_filter_1\n    join: alerts\n" in document
    picture = snapshot(queries)
    assert "   └─ filter n > 3\n      └─ joined in pairs" in to_text(picture)
    number = {node.label: node.id for node in picture.nodes}
    joined = next(node for node in picture.nodes if node.joins)
    assert f"{number['filter n > 3']} --> {joined.id}" in to_mermaid(picture)


def test_what_answers_bring_to_a_join_is_told_before_it_runs() -> None:
    """Of 300 rows a second ten answers, of a window of a minute every ten seconds and as many groups as are guessed."""
    rates = {name: StreamStatistics(rows_per_second=300.0) for name in ("flows", "alerts")}
    (found,) = join_outlooks(network(_joined(BUSY).query("pairs")), NetworkStatistics(streams=rates))
    assert (found.left_rows_per_second, found.right_rows_per_second, found.delay_seconds) == (10.0, 300.0, 60.0)
    assert found.comparisons_per_second == 10 * 300 * (30 + 5)
    assert found.state_rows == 10 * (30 + 60) + 300 * (5 + 60)
    assert any(line.endswith("1 minute behind, as windows close") for line in joined_lines(found))
    measured = {BUSY.node.address: OperatorStatistics(selectivity=0.5)}
    known = NetworkStatistics(streams=rates, operators=measured)
    (found,) = join_outlooks(network(_joined(BUSY).query("pairs")), known)
    assert found.left_rows_per_second == 150.0


def test_a_document_reports_sides_that_cannot_be_at_their_place() -> None:
    text = """
    streamshed: 1
    streams:
      flows: {source: {folder: in, format: json, schema: "ts timestamp, host string"}, time: ts}
    operators:
      last: {from: flows, window: {size: 100 rows}, by: [host], aggregates: {n: count(*)}}
      counted: {from: flows, join: last, on: host, within: 10 seconds, prefixes: [a_, b_]}
      minutes: {from: flows, window: {size: 1 minute}, by: [host], aggregates: {n: count(*)}}
      pairs: {from: minutes, join: flows, on: host, within: 10 seconds, prefixes: [a_, b_]}
      circle: {from: pairs, window: {size: 1 minute}, by: [{host: a_host}], aggregates: {n: count(*)}}
      round: {from: circle, join: flows, on: host, within: 10 seconds}
    queries:
      all: {from: round, mode: exact}
      some: {from: counted}
    """
    with pytest.raises(InvalidDocumentError) as refused:
        parse_network(text)
    told = str(refused.value)
    assert "operators.counted.join: its right side is answers of" in told
    assert "windows of so many rows have no place in time" in told
    assert 'operators.round.from: its left side is made of rows of the join "pairs"' in told
