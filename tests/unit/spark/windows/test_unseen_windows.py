"""Of which windows a query that was added at a restart has not seen all rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.table.dropped_windows import together
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Answers
from streamshed.network.source.sources import rate
from streamshed.network.terms.window import WindowSpecification
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.windows.unseen_windows import ALWAYS, beginnings, unseen_windows, whole_since

SECOND = 1_000_000
TICKS = stream("ticks", rate(1), time="timestamp")
COUNTS = TICKS.window("10 s").agg(n="count(*)")
SUMS = TICKS.window("10 s").by("value").agg(total="sum(value)")
FULLER = TICKS.window("10 s").by("value").agg(total="sum(value)", n="count(*)")


def nested(over: Answers) -> Answers:
    return over.window("1 minute").agg(most="max(total)")


def windows_of(query: Query) -> dict[int, tuple[WindowSpecification, ...]]:
    return {query.definition_id: query.windows}


def test_all_windows_are_whole_of_queries_that_a_checkpoint_begins_with() -> None:
    queries = [COUNTS.query("counts"), nested(SUMS).query("most", mode="exact")]
    since = whole_since(queries, None, {})
    assert len(since) == 3
    assert set(since.values()) == {ALWAYS}
    assert beginnings(queries, since) == {}


def test_a_query_that_comes_has_seen_no_row_of_before_and_others_go_on() -> None:
    old, new = COUNTS.query("old"), SUMS.query("new", mode="subset")
    before = whole_since([old], None, {})
    since = whole_since([old, new], before, {"ticks": 95 * SECOND})
    assert since == {old.definition_id: ALWAYS, new.definition_id: 95 * SECOND + 1}
    renamed = COUNTS.query("renamed", mode="subset", max_gap=3)
    again = whole_since([renamed, new], since, {"ticks": 300 * SECOND})
    assert again == since
    assert whole_since([old, new], whole_since([old], since, {}), {"ticks": 99})[new.definition_id] == 100


def test_where_nothing_was_read_before_all_is_whole() -> None:
    since = whole_since([COUNTS.query("new")], {}, {"others": 7})
    assert set(since.values()) == {ALWAYS}


def test_a_query_is_no_older_than_what_it_rests_on() -> None:
    """Its definition stays when a lower aggregate computes something more, but that one begins anew."""
    before = whole_since([nested(SUMS).query("most", mode="exact")], None, {})
    query = nested(FULLER).query("most", mode="exact")
    assert query.definition_id in before
    since = whole_since([query], before, {"ticks": 95 * SECOND})
    assert set(since.values()) == {95 * SECOND + 1}


def test_rows_themselves_and_windows_of_so_many_rows_begin_at_once() -> None:
    numbered = TICKS.window("5 rows").agg(n="count(*)").query("numbered")
    assert whole_since([TICKS.query("rows"), numbered], {}, {"ticks": 95}) == {}


@given(
    size=st.integers(1, 40),
    slide=st.integers(1, 40),
    offset=st.integers(0, 39),
    seen=st.integers(-100, 200),
    starts=st.lists(st.integers(-20, 20)),
)
def test_windows_are_unseen_that_a_row_of_before_may_belong_to(
    size: int, slide: int, offset: int, seen: int, starts: list[int]
) -> None:
    slide = min(size, slide)
    window = TICKS.window(f"{size} s", every=f"{slide} s", offset=f"{offset % slide} s")
    query = window.agg(n="count(*)").query("new")
    since = whole_since([query], {}, {"ticks": seen * SECOND})
    found = unseen_windows(windows_of(query), since)
    numbers = np.array([(offset % slide + number * slide) * SECOND for number in starts], np.int64)
    assert found[query.definition_id][0].includes(numbers).tolist() == [one <= seen * SECOND for one in numbers]
    assert set(found[query.definition_id][0].reasons(numbers[numbers <= seen * SECOND])) <= {"before the query"}


def test_windows_that_are_closed_are_not_remembered() -> None:
    query = COUNTS.query("new")
    since = whole_since([query], {}, {"ticks": 95 * SECOND})
    facts = DomainFacts((TICKS.stream,), {}, 10 * SECOND, 1.0, beginnings=beginnings([query], since))
    assert facts.whole_since(105 * SECOND) == since
    assert facts.whole_since(106 * SECOND) == {}


def test_what_was_dropped_besides_stays_so() -> None:
    query = COUNTS.query("new")
    unseen = unseen_windows(windows_of(query), {query.definition_id: 5, 7: 5})
    both = together({1: [], query.definition_id: []}, unseen)
    assert both == {1: [], **unseen}
    assert together(both, {}) is both
