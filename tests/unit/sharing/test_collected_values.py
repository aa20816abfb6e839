"""Values that are collected for aggregates of one's own: one class per selection, so that slices are in one piece."""

from __future__ import annotations

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import rate
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.sharing.probes import is_probe
from streamshed.sharing.stream_work import StreamWork, stream_work

TICKS = stream("ticks", rate(10), time="timestamp")
LAST = user_aggregate("stocks:Last", columns=["value"], returns="double")


def last_of(rows: Rows, name: str, *, size: str = "10 seconds", every: str = "2 seconds") -> Query:
    return rows.window(size, every=every).agg(last=LAST).query(name, mode="exact")


def work_of(*queries: Query) -> StreamWork:
    return stream_work(TICKS.stream, network(*queries).queries)


def selections_of(work: StreamWork, query: Query) -> list[int]:
    """How many selections share the classes of a query's values."""
    return [
        len(one.selections)
        for one in work.classes
        if any(m.definition_id == query.definition_id and not is_probe(m.slot) for m in one.members)
    ]


def test_values_of_several_selections_are_collected_in_classes_of_their_own() -> None:
    dear, odd = last_of(TICKS.filter("value > 3"), "dear"), last_of(TICKS.filter("value % 2 = 1"), "odd")
    work = work_of(dear, odd)
    assert [selections_of(work, query) for query in (dear, odd)] == [[1], [1]]
    sums = [
        TICKS.filter(predicate).window("10 seconds", every="2 seconds").agg(total="sum(value)").query(name)
        for name, predicate in (("dear", "value > 3"), ("odd", "value % 2 = 1"))
    ]
    assert [selections_of(work_of(*sums), query) for query in sums] == [[2], [2]]


def test_windows_over_one_selection_share_slices() -> None:
    short, long = last_of(TICKS, "short"), last_of(TICKS, "long", size="1 minute", every="20 seconds")
    (shared,) = work_of(short, long).classes
    assert {member.definition_id for member in shared.members} == {short.definition_id, long.definition_id}
    assert shared.grid.longest_slice_microseconds == 2_000_000


def test_what_only_counts_joins_them_where_it_counts_the_same_rows() -> None:
    last = last_of(TICKS.filter("value > 3"), "last")
    window = {"size": "10 seconds", "every": "2 seconds"}
    alike = TICKS.filter("value > 3").window(**window).agg(n="count(*)").query("alike", mode="exact")
    other = TICKS.filter("value > 5").window(**window).agg(n="count(*)").query("other", mode="exact")
    assert len(work_of(last, alike).classes) == 1
    assert len(work_of(last, other).classes) == 2
    assert selections_of(work_of(last, other), last) == [1]


def test_probes_are_counted_beside_them() -> None:
    last = last_of(TICKS.filter("value > 3").filter("value > 5"), "last")
    work = work_of(last)
    assert work.probes
    assert selections_of(work, last) == [1]
    (probing,) = (one for one in work.classes if any(is_probe(member.slot) for member in one.members))
    assert probing.value is None
