"""Where dropping windows cannot keep the bounds of all gaps, queries are shut down until the rest keeps up."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE
from streamshed.simulator.engine import SimulatedMicroBatch
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics
from tests.property.simulator.test_agreement import TRIGGER, Load, loaded
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of

SETTLING, AFTERWARDS = 60, 60
"""So many micro-batches until queries are shut down and what came meanwhile is caught up with, and so many after it."""

AGREEING = 0.3
"""Windows are whole, those that last long above all: a run takes more than was said, or less, by so much at most."""

CALLS = ("count(*)", "sum(value)", "max(value)")
"""Queries that ask the same share their windows; others lie over the same ones."""


def _queries(draw: st.DrawFn) -> list[Query]:
    """Queries with common windows and gaps."""
    slide, by_group = draw(st.sampled_from((1, 2, 4, 10))), draw(st.booleans())
    windows = rows_of("s").window(f"{slide * draw(st.integers(1, 5))} seconds", every=f"{slide} seconds")
    max_gap, gaps_by = draw(st.integers(1, 9)), draw(st.sampled_from(("window", "group"))) if by_group else "window"
    return [
        (windows.by("value") if by_group else windows)
        .agg(answer=draw(st.sampled_from(CALLS)))
        .query(
            f"q{number}",
            mode="subset",
            max_gap=max_gap,
            gaps_by=gaps_by,
            priority=draw(st.integers(0, 2)),
            weight=draw(st.sampled_from((1.0, 3.0))),
        )
        for number in range(draw(st.integers(1, 4)))
    ]


@st.composite
def loads(draw: st.DrawFn) -> Load:
    return loaded(draw, _queries(draw), fixed_seconds=(0.05, 0.5), factors=(1.0, 4.0))


def _mixed(draw: st.DrawFn) -> list[Query]:
    """Queries over one stream with windows, keys, gaps and priorities of their own, some answered from samples."""
    queries = []
    for number in range(draw(st.integers(2, 4))):
        slide, by_group = draw(st.sampled_from((1, 2, 3, 4, 10))), draw(st.booleans())
        windows = rows_of("s").window(f"{slide * draw(st.integers(1, 4))} seconds", every=f"{slide} seconds")
        node = (windows.by("value") if by_group else windows).agg(answer=draw(st.sampled_from(CALLS[:2])))
        name, priority, weight = f"q{number}", draw(st.integers(0, 2)), draw(st.sampled_from((1.0, 3.0)))
        if draw(st.sampled_from((False, True, True, True))):
            gaps_by = draw(st.sampled_from(("window", "group"))) if by_group else "window"
            max_gap = draw(st.integers(1, 9))
            queries.append(
                node.query(name, mode="subset", max_gap=max_gap, gaps_by=gaps_by, priority=priority, weight=weight)
            )
        else:
            queries.append(node.query(name, priority=priority, weight=weight))
    return queries


@st.composite
def mixes(draw: st.DrawFn) -> Load:
    return loaded(draw, _mixed(draw), fixed_seconds=(0.05, 0.5), factors=(1.0, 4.0))


def _taken_seconds(course: Sequence[SimulatedMicroBatch]) -> float:
    """What the work takes of a trigger interval."""
    elapsed = course[-1].started_at_seconds - course[0].started_at_seconds
    return sum(one.processing_seconds for one in course[:-1]) / elapsed * TRIGGER


@examples(20)
@given(mixes())
def test_windows_of_queries_that_have_no_runs_in_common_take_what_explain_says(load: Load) -> None:
    """The rows of all of them together are more than any of them needs."""
    said = load.explanation
    assume(said.expected_seconds <= TRIGGER)
    course = load.simulated(SETTLING + AFTERWARDS // 2)[SETTLING - 20 :]
    half = len(course) // 2
    earlier, later = (fmean(one.latency_seconds for one in part) for part in (course[:half], course[half:]))
    assert later <= 1.25 * earlier + 2 * TRIGGER
    shut_down = {query for query, share in course[-1].decision.kept_shares.items() if share == 0}
    if shut_down == {one.query for one in said.outlooks if one.kept_share == 0}:
        assert _taken_seconds(course) == pytest.approx(said.expected_seconds, rel=AGREEING)


@examples(40)
@given(loads())
def test_latency_is_bounded_where_explain_says_that_the_load_fits(load: Load) -> None:
    said = load.explanation
    assume(said.expected_seconds <= TRIGGER)
    course = load.simulated(SETTLING + AFTERWARDS)[SETTLING:]
    half = AFTERWARDS // 2
    earlier, later = (fmean(one.latency_seconds for one in part) for part in (course[:half], course[half:]))
    assert later <= 1.25 * earlier + 2 * TRIGGER


@pytest.mark.parametrize("calls", [("count(*)", "count(*)"), ("count(*)", "sum(value)")])
@pytest.mark.parametrize("factor", [2.0, 3.27])
def test_queries_that_spare_no_rows_are_shut_down_at_once(calls: tuple[str, str], factor: float) -> None:
    windows = rows_of("s").window("10 seconds", every="2 seconds")
    queries = [
        windows.agg(answer=call).query(name, mode="subset", max_gap=gap)
        for name, call, gap in zip(("q0", "q1"), calls, (3, 1), strict=True)
    ]
    known = NetworkStatistics(
        fixed_seconds=0.35,
        streams={
            "s": StreamStatistics(rows_per_second=1e5, read_seconds_per_row=0.95e-6, parse_seconds_per_row=2.1e-6)
        },
        queries={"q0": QueryStatistics(seconds_per_row=2.13e-6), "q1": QueryStatistics(seconds_per_row=0.108e-6)},
    )
    course = Load(network(*queries), known, factor).simulated(20)
    assert max(one.latency_seconds for one in course) < 100
    assert course[-1].processing_seconds <= TRIGGER


def _saturated(factor: float) -> Load:
    """A query that needs every row beside others that do not, of several priorities."""
    windows, rows = rows_of("s").window("4 seconds"), rows_of("s")
    queries = [
        windows.agg(total="sum(value)").query("exact", mode="exact"),
        windows.by("value").agg(n="count(*)").query("sampled_first", priority=2),
        windows.by("value").agg(n="sum(value)").query("sampled_last"),
        rows.window("2 seconds").agg(most="max(value)").query("dropped", mode="subset", max_gap=4, priority=1),
    ]
    known = NetworkStatistics(
        fixed_seconds=0.2,
        streams={"s": StreamStatistics(rows_per_second=1e5, read_seconds_per_row=5e-7, parse_seconds_per_row=2e-6)},
        queries={
            query.name: QueryStatistics(seconds_per_row=6e-6 if query.name == "exact" else 2e-6) for query in queries
        },
    )
    return Load(network(*queries), known, factor)


@pytest.mark.parametrize("factor", [2.2, 3.0])
def test_where_not_even_the_least_fits_nearly_all_is_given_up_that_may_be(factor: float) -> None:
    """Nothing else is worth what makes exact answers later and later."""
    load = _saturated(factor)
    said = load.explanation
    assert said.is_saturated
    last = load.simulated(3 * PATIENCE)[-1]
    assert last.decision.plan.reason == "saturated"
    assert said.expected_seconds <= 1.021 * (said.unsheddable_seconds + said.protected_seconds)
    assert last.processing_seconds <= 1.021 * last.decision.plan.unsheddable_seconds
    assert set(last.decision.kept_shares.values()) == {0.0}


def test_what_would_fit_alone_keeps_pace_beside_what_may_be_given_up() -> None:
    load = _saturated(1.7)
    assert 0.7 * TRIGGER <= load.explanation.unsheddable_seconds + load.explanation.protected_seconds <= 0.9 * TRIGGER
    course = load.simulated(40)
    assert max(one.processing_seconds for one in course) <= 2 * TRIGGER
    assert course[-1].processing_seconds <= 1.1 * TRIGGER


def test_nobody_runs_whose_windows_need_more_rows_than_fit() -> None:
    """Windows of 30 seconds, one kept of three, need all rows: what is not by group costs no more beside them."""
    rows = rows_of("s")
    queries = [
        rows.window("6 seconds", every="2 seconds").agg(n="count(*)").query("q0", mode="subset", max_gap=9, weight=3.0),
        rows.window("30 seconds", every="10 seconds")
        .by("value")
        .agg(n="count(*)")
        .query("q1", mode="subset", max_gap=2, gaps_by="group", priority=1, weight=3.0),
        rows.window("10 seconds")
        .by("value")
        .agg(n="max(value)")
        .query("q2", mode="subset", max_gap=7, gaps_by="group", priority=1),
        rows.window("3 seconds", every="1 second")
        .agg(n="max(value)")
        .query("q3", mode="subset", max_gap=4, weight=3.0),
    ]
    costs = dict(zip(("q0", "q1", "q2", "q3"), (1.4e-6, 1.3e-7, 2.7e-6, 1.6e-6), strict=True))
    known = NetworkStatistics(
        fixed_seconds=0.1,
        streams={"s": StreamStatistics(rows_per_second=1e5, read_seconds_per_row=4e-7, parse_seconds_per_row=1.3e-6)},
        queries={query: QueryStatistics(seconds_per_row=seconds) for query, seconds in costs.items()},
    )
    load = Load(network(*queries), known, 2.2)
    said = load.explanation
    assert said.expected_seconds <= 0.95 * TRIGGER
    shut_down = {one.query for one in said.outlooks if one.kept_share == 0}
    last = load.simulated(70)[-1]
    assert shut_down == {query for query, share in last.decision.kept_shares.items() if share == 0} != set()
    assert last.latency_seconds <= 2.5 * TRIGGER
