"""Where dropping windows cannot keep the bounds of all gaps, queries are shut down until the rest keeps up."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics
from tests.property.simulator.test_agreement import TRIGGER, Load, loaded
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of

SETTLING, AFTERWARDS = 60, 60
"""So many micro-batches until queries are shut down and what came meanwhile is caught up with, and so many after it."""

CALLS = ("count(*)", "sum(value)", "max(value)")
"""Queries that ask the same share their windows; others lie over the same ones."""


def _queries(draw: st.DrawFn) -> list[Query]:
    """Queries with common windows and gaps: what the least takes of others is not known so well."""
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
