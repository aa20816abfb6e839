"""What rows pass at most, by time, where windows are dropped."""

from __future__ import annotations

from streamshed.network.model.network import network
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.sharing.stream_work import StreamWork, stream_work
from streamshed.spark.admit.retained_rows import retained_rows, whole_words
from tests.oracles.intakes import intake_count
from tests.unit.planning.networks import rows_of

SECOND = 1_000_000


def work() -> StreamWork:
    rows = rows_of("packets")
    subset = rows.window("10 seconds").agg(n="count(*)").query("subset", mode="subset", max_gap=5)
    sampled = rows.window("10 seconds").agg(n="count(*)", total="sum(value)").query("sampled")
    other = rows.filter("value > 3").window("5 seconds").agg(n="count(*)").query("other", mode="subset", max_gap=9)
    return stream_work(rows.stream, network(subset, sampled, other).queries)


def drops(**dropped: tuple[tuple[int, int], ...]) -> WindowDrops:
    queries = {one.query.name: one.query for one in work().slots}
    found = {}
    for name, runs in dropped.items():
        aggregate = queries[name].aggregate
        assert aggregate is not None
        coin = GapCoin(1, 9, aggregate.over, 10)
        found[str(queries[name].definition_id)] = QueryDrops(coin=coin, dropped=runs)
    return WindowDrops(queries=found)


def intakes_of(name: str) -> set[int]:
    definition = next(one.query.definition_id for one in work().slots if one.query.name == name)
    return {number for number, one in enumerate(work().intakes) if any(query == definition for query, _ in one.shares)}


def test_queries_that_tolerate_gaps_have_bits_of_their_own() -> None:
    assert work().may_drop_windows
    assert not intakes_of("subset") & intakes_of("sampled")


def test_nothing_is_told_while_nothing_is_dropped() -> None:
    gating = work().gating
    assert retained_rows(gating, [0] * intake_count(gating), WindowDrops(queries={})) is None
    elsewhere = WindowDrops(
        queries={"99": QueryDrops(coin=GapCoin(1, 9, WindowSpecification(10, 10), 10), dropped=((0, 3),))}
    )
    assert retained_rows(gating, [0] * intake_count(gating), elsewhere) is None


def test_rows_pass_what_anybody_needs_of_them() -> None:
    gating = work().gating
    codes = [32 if intake in intakes_of("sampled") else 0 for intake in range(intake_count(gating))]
    told = retained_rows(gating, codes, drops(subset=((0, 0), (2, 3)), other=((0, 3),)))
    assert told is not None
    assert (told.base, told.step) == (0, 10 * SECOND)
    sampled_only, both = told.rates[0], told.rates[1]
    assert sampled_only == told.rates[0] == sampling_rate_of(32)
    assert told.rates == (sampled_only, 1.0, 1.0, 1.0)
    assert both == 1.0
    bits = [
        {
            intake
            for words, bits in zip(told.words[slot], gating.classes, strict=False)
            for bit, intake in enumerate(bits)
            if words >> bit & 1
        }
        for slot in range(4)
    ]
    assert bits[0] == intakes_of("sampled")
    assert bits[1] == intakes_of("sampled") | intakes_of("subset")
    assert bits[2] == intakes_of("sampled") | intakes_of("other")


def test_rows_nobody_wants_are_kept_with_probability_0() -> None:
    rows = rows_of("packets")
    alone = stream_work(
        rows.stream,
        network(rows.window("10 seconds").agg(n="count(*)").query("subset", mode="subset", max_gap=5)).queries,
    )
    definition = str(alone.slots[0].query.definition_id)
    window = WindowSpecification(10 * SECOND, 10 * SECOND)
    dropped = WindowDrops(queries={definition: QueryDrops(coin=GapCoin(1, 5, window, 10), dropped=((3, 5),))})
    told = retained_rows(alone.gating, [0] * intake_count(alone.gating), dropped)
    assert told is not None
    assert set(told.rates) == {0.0}
    assert all(word == 0 for words in told.words for word in words[: len(alone.classes)])
    assert len(told.words[0]) == len(whole_words(alone))


def test_where_rates_differ_by_size_rows_that_anybody_samples_stay() -> None:
    gating = work().gating
    codes = [32 if intake in intakes_of("sampled") else 0 for intake in range(intake_count(gating))]
    told = retained_rows(gating, codes, drops(subset=((0, 0),), other=((0, 1),)), by_rate=False)
    assert told is not None
    assert set(told.rates) == {1.0}


def test_rows_behind_a_shared_aggregate_are_needed_by_any_query_that_rests_on_it() -> None:
    rows = rows_of("packets")
    inner = rows.window("5 seconds").by("value").agg(n="count(*)")
    most, least = (
        inner.window("10 seconds").agg(answer=f"{fold}(n)").query(fold, mode="subset", max_gap=9)
        for fold in ("max", "min")
    )
    shared = stream_work(rows.stream, network(most, least).foundation.queries)
    assert intake_count(shared.gating) == 1
    window = WindowSpecification(10 * SECOND, 10 * SECOND)
    dropped = WindowDrops(
        queries={
            str(query.definition_id): QueryDrops(coin=GapCoin(1, 9, window, 10), dropped=(run,))
            for query, run in ((most, (0, 1)), (least, (1, 2)))
        }
    )
    told = retained_rows(shared.gating, [0], dropped)
    assert told is not None
    assert (told.base, told.step, told.rates) == (0, 10 * SECOND, (1.0, 0.0, 1.0))


def test_rows_that_are_too_old_are_for_nobody_but_windows_of_so_many_rows() -> None:
    rows = rows_of("packets")
    counts = rows.window("10 seconds").agg(n="count(*)").query("counts")
    seen = rows.filter("value > 3").query("seen")
    last = rows.window("5 rows").by("value").agg(n="count(*)").query("last")
    stale = {query.definition_id: ((3 * SECOND, 40 * SECOND),) for query in (counts, seen)}
    alone, beside = (
        stream_work(rows.stream, network(*asked).queries) for asked in ((counts, seen), (counts, seen, last))
    )
    told = retained_rows(alone.gating, [0] * intake_count(alone.gating), WindowDrops(queries={}, stale=stale))
    assert told is not None
    assert (told.base, told.step, told.rates) == (3 * SECOND, 37 * SECOND, (0.0,))
    told = retained_rows(beside.gating, [0] * intake_count(beside.gating), WindowDrops(queries={}, stale=stale))
    assert told is not None
    assert told.rates == (1.0,)
    assert told.words[0] != whole_words(beside)


def test_rows_are_too_old_beside_dropped_windows() -> None:
    gating = work().gating
    codes = [0] * intake_count(gating)
    names = {one.query.name: one.query.definition_id for one in work().slots}
    old = dict.fromkeys(names.values(), ((0, 25 * SECOND),))
    dropped = drops(subset=((3, 5),), other=((6, 11),))
    told = retained_rows(gating, codes, WindowDrops(queries=dropped.queries, stale=old))
    assert told is not None
    assert (told.base, told.step) == (0, 5 * SECOND)
    assert told.rates == (*[0.0] * 5, *[1.0] * 7)
