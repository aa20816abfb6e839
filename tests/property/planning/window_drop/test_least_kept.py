"""As few windows as may be kept: what that needs, and that no way that was left would need less."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.rates.least_error import least_error_rates
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, PATIENCE_WHEN_CLEAR, DropPlan, drop_plan
from streamshed.planning.window_drop.choose.least_kept import LeastKept, least_kept, rare
from streamshed.planning.window_drop.choose.rehearsal import rehearsed_needs
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.choose.window_shares import window_shares
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.window_demand import WindowDemand
from streamshed_bench.windows.windows_optimum import most_delivered
from streamshed_bench.windows.windows_queries import WindowsQuery
from tests.property.planning.window_drop.protected_work import protected_work
from tests.property.planning.window_drop.test_kept_runs import MIXED, OTHERS, Course, course_of
from tests.thoroughness import examples

Windows = tuple[tuple[int, int, int], ...]


def _work(course: Course) -> TolerantWork:
    return protected_work(course.queries, query_seconds=0.0)


def _asked(course: Course) -> list[WindowDemand]:
    return [
        WindowDemand(query=name, gap_windows=one.gap_windows, early_share=one.early_share, lone_epochs=one.lone_epochs)
        for name, one in course.queries.items()
    ]


def _through(course: Course, least: LeastKept) -> Course:
    course.restarts_every = 10
    for _ in range(300):
        course.step(40, dict(zip(course.queries, least.kept_shares.tolist(), strict=True)))
    return course


@pytest.mark.parametrize("windows", [MIXED, OTHERS, ((10, 10, 10), (10, 10, 40)), ((3, 3, 20), (6, 3, 14))])
def test_in_common_runs_the_least_delivers_what_any_policy_could(windows: Windows) -> None:
    course = course_of(*windows)
    _through(course, least_kept(_work(course), _asked(course)))
    delivered = sum(course.share(name) for name in course.queries) / len(windows)
    asked = [WindowsQuery(name=str(w), size=w[0], slide=w[1], gap_windows=w[2]) for w in windows]
    assert delivered >= 0.93 * most_delivered(asked, [1.0] * 400, course.needed())


FAR_APART = ((20, 10, 21), (2, 2, 7), (5, 5, 21))
"""Where all of these begin a window is as far apart as the shortest gap is long."""


ONE_SHARE = ((6, 3, 4), (3, 1, 4))
"""Of these as small a share may be kept, but the one may miss 12 seconds in a row, and the other 4."""


@pytest.mark.parametrize("windows", [MIXED, OTHERS, FAR_APART, ONE_SHARE, ((100, 10, 40), (50, 10, 30), (10, 10, 10))])
def test_what_is_kept_needs_what_was_rehearsed(windows: Windows) -> None:
    course = course_of(*windows)
    least = least_kept(_work(course), _asked(course))
    assert _through(course, least).needed() == pytest.approx(least.seconds, rel=0.15)


def test_queries_that_cannot_run_together_keep_as_few_each() -> None:
    course = course_of(*FAR_APART)
    assert least_kept(_work(course), _asked(course)).kept_shares == pytest.approx([1 / (w[2] + 1) for w in FAR_APART])


@examples(30)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8), st.integers(1, 20)), min_size=1, max_size=3),
    st.booleans(),
)
def test_the_cheaper_way_is_taken_and_no_gap_is_too_long(windows: list[tuple[int, int, int]], is_shut: bool) -> None:
    course = course_of(*[(slide + more, slide, batch) for more, slide, batch in windows])
    work, asked = _work(course), _asked(course)
    if is_shut:
        asked[0] = WindowDemand(query="q0", sampling_rate=0.0)
    least = least_kept(work, asked)
    assert (least.kept_shares[0] == 0) == is_shut
    running = [number for number in range(len(asked)) if not (is_shut and number == 0)]
    apart = np.array([0.0 if is_shut and number == 0 else one.least_kept for number, one in enumerate(asked)])
    assert set(least.kept_shares[running]) <= set(apart[running])
    if least.needed is not None:
        assert least.seconds == pytest.approx(rehearsed_needs(work, least.kept_shares)[0])
        assert least.seconds <= rehearsed_needs(work, apart)[0]
    _through(course, least)
    for number in running:
        kept = [-1, *course.kept(f"q{number}")]
        assert all(b - a - 1 <= windows[number][2] for a, b in pairwise(kept))


def _plans_of_patience(work: TolerantWork, steady_seconds: float, patience: int) -> Iterator[DropPlan]:
    """The plans of as many micro-batches in a row as it takes to shut anybody down."""
    drops = WindowDrops(queries={})
    for step in range(patience):
        times = EventTimes(opened=30 * step - 10, carried_since=0, first=30 * step, last=30 * step + 29)
        known = UpcomingWindows(event_times={"rows": times}, drops=drops, steady_seconds=steady_seconds)
        plan = drop_plan(work, 0.01, least_error_rates, known)
        drops = plan.drops
        yield plan


@pytest.mark.parametrize(
    ("steady_seconds", "patience"),
    [(0.05, PATIENCE_WHEN_CLEAR), (0.09, PATIENCE), (0.12, PATIENCE), (0.2, PATIENCE)],
)
def test_who_is_shut_down_follows_from_what_windows_need_and_not_from_a_model(
    steady_seconds: float, patience: int
) -> None:
    """By the model the least takes 0.095 s of a second here; by how windows lie it takes 0.167 s."""
    course = course_of(*MIXED)
    work = _work(course)
    *before, plan = _plans_of_patience(work, steady_seconds, patience)
    assert not any(one.shut_down for one in before)
    assert bool(plan.shut_down) == (steady_seconds < 1 / 6)


@pytest.mark.parametrize("batch", [5, 30, 59])
def test_windows_that_overlap_by_more_than_may_be_missed_are_not_thought_to_spare_rows(batch: int) -> None:
    """Of windows of 60 every 1, whatever is dropped between two that are kept, all rows are needed."""
    course = course_of((60, 1, batch), (1, 1, 10))
    work, asked = _work(course), _asked(course)
    kept = window_shares(work.tree, rare(work, asked), 0.5)
    assert kept == pytest.approx([0.0, 0.5])
    assert rehearsed_needs(work, kept)[0] < 0.6
    assert rehearsed_needs(work, np.array([1 / (batch + 1), 0.5]))[0] == pytest.approx(1.0, abs=0.02)
    assert work.expected_needs(np.array([0.25, 0.25]))[0] == 1.0


@pytest.mark.parametrize("windows", [MIXED, OTHERS, FAR_APART])
@pytest.mark.parametrize("share", [0.3, 0.55, 0.7, 0.85, 0.95])
def test_nobody_is_shut_down_in_vain(windows: Windows, share: float) -> None:
    """Windows that lie within those which others keep take no rows of their own, whatever a model of shares says."""
    course = course_of(*windows)
    work = _work(course)
    lasting = share * least_kept(work, _asked(course)).seconds
    *_, plan = _plans_of_patience(work, lasting, PATIENCE)

    def taken(shut: set[str]) -> float:
        asked = [WindowDemand(query=a.query, sampling_rate=0.0) if a.query in shut else a for a in _asked(course)]
        return least_kept(work, asked).seconds

    shut = set(plan.shut_down)
    assert shut
    for query in shut:
        assert taken(shut - {query}) > max(lasting, taken(shut))
