"""State comes near its limit: as few windows as may be, then fewer queries; and all of them again when it has gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.rates.least_error import least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, DropPlan, drop_plan, nothing_more_dropped
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.state_limit import Pressure, StateUse
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.runs import numbers_in

NAMES = ("few", "many", "light")
TREE = WorkTree(
    (
        WorkNode(name="rows", parent=None, seconds=0.1),
        *(WorkNode(name=name, parent=0, seconds=0.1, query=place) for place, name in enumerate(NAMES)),
    )
)
DEMANDS = [
    Demand(query=name, coefficient=1.0, is_protected=True, weight=2.0 if name != "light" else 1.0) for name in NAMES
]
HELD = {"few": 10.0, "many": 1000.0, "light": 10.0}
BATCH, SIZE, SLIDE = 4, 100, 100
PLENTY = 10.0


def queries(size: int = SIZE, slide: int = SLIDE) -> dict[str, DroppableQuery]:
    return {
        name: DroppableQuery(
            query=name,
            definition_id=place,
            stream="rows",
            window=WindowSpecification(size, slide),
            gap_windows=BATCH,
            epoch=slide,
            weight=1.0,
        )
        for place, name in enumerate(NAMES)
    }


WORK = TolerantWork(TREE, DEMANDS, queries())


def times(micro_batch: int) -> EventTimes:
    first = 1000 * micro_batch
    return EventTimes(opened=first, carried_since=0, first=first, last=first + 999)


def planned(course: Sequence[StateUse], work: TolerantWork = WORK) -> list[DropPlan]:
    """Plans for one micro-batch after the other, with plenty of time, each of 10 windows."""
    plans: list[DropPlan] = []
    for number, use in enumerate(course):
        drops = plans[-1].drops if plans else UpcomingWindows().drops
        upcoming = UpcomingWindows(event_times={"rows": times(number)}, drops=drops, state=use, state_entries=HELD)
        makes_room = upcoming.pressure is not Pressure.NONE
        plans.append(
            drop_plan(work, PLENTY, least_error_rates, upcoming) if makes_room else nothing_more_dropped(work, upcoming)
        )
    return plans


def taking(taken: int, grown: int = 0) -> StateUse:
    return StateUse(taken_bytes=taken, grown_bytes=grown, limit_bytes=100)


def test_near_the_limit_each_query_keeps_as_few_windows_as_it_may_though_there_is_time_for_all() -> None:
    before, near = planned([taking(10), taking(80)])
    assert set(before.kept_shares.values()) == {1.0}
    assert before.drops.queries["0"].numbers() == []
    assert list(near.kept_shares.values()) == pytest.approx([1 / (BATCH + 1)] * 3)
    dropped = near.drops.queries["0"]
    assert len(dropped.numbers()) / 10 == pytest.approx(BATCH / (BATCH + 1), abs=0.15)
    assert set(numbers_in(dropped.for_state)) == set(dropped.numbers())
    assert near.drops.pressure is Pressure.TIGHT


def test_windows_that_were_kept_are_abandoned_too() -> None:
    """Windows of ten micro-batches' length: those that are open hold the most."""
    long = replace(WORK, queries=queries(size=10_000))
    before, near = planned([taking(10), taking(80)], long)
    decided = before.drops.queries["0"].coin.next_window
    abandoned = [number for number in near.drops.queries["0"].numbers() if number < decided]
    assert abandoned
    assert set(abandoned) <= set(numbers_in(near.drops.queries["0"].for_state))


def test_beyond_that_the_query_that_holds_most_goes_first_and_the_lightest_of_equal_ones_next() -> None:
    plans = planned([taking(80, 1), taking(92, 8), taking(95, 3), taking(96, 1), taking(97, 1)])
    assert [plan.shut_down for plan in plans] == [
        (),
        ("many",),
        ("light", "many"),
        tuple(sorted(NAMES)),
        tuple(sorted(NAMES)),
    ]
    many = plans[1].drops.queries["1"]
    assert set(numbers_in(many.shut)) <= set(numbers_in(many.for_state))


def test_while_state_falls_nobody_else_is_shut_down() -> None:
    plans = planned([taking(92, 8), taking(95, 3), taking(94, -1), taking(93, -1)])
    assert [len(plan.shut_down) for plan in plans] == [1, 2, 2, 2]


def test_queries_come_back_when_state_is_clearly_below_its_limit_and_not_before() -> None:
    plans = planned([taking(95, 5), *[taking(70)] * (2 * PATIENCE), *[taking(50)] * PATIENCE])
    assert [len(plan.shut_down) for plan in plans[:-PATIENCE]] == [1] * (1 + 2 * PATIENCE)
    assert plans[-1].shut_down == ()
    assert plans[-1].kept_shares["many"] == pytest.approx(1.0)


def test_where_the_limit_would_be_exceeded_queries_go_at_once() -> None:
    near, beyond = planned([taking(60, 35)]), planned([taking(60, 45)])
    assert (near[0].shut_down, beyond[0].shut_down) == ((), ("many",))


def test_without_a_limit_nothing_is_asked() -> None:
    assert StateUse(taken_bytes=10**15, grown_bytes=10**14).pressure(Pressure.NONE) is Pressure.NONE


def test_what_was_decided_survives_in_a_document() -> None:
    plan = planned([taking(95, 5), taking(80)])[-1]
    assert WindowDrops.from_document(plan.drops.to_document()) == plan.drops


def test_plans_written_by_an_earlier_release_are_read() -> None:
    document = planned([taking(80)])[-1].drops.to_document()
    document.pop("pressure")
    for told in document["queries"].values():
        told.pop("for_state")
    read = WindowDrops.from_document(document)
    assert read.pressure is Pressure.NONE
    assert all(one.for_state == () for one in read.queries.values())


@given(
    st.lists(st.tuples(st.integers(0, 88), st.integers(-20, 2)), min_size=1, max_size=12), st.sampled_from((100, 250))
)
def test_no_gap_exceeds_its_bound_and_no_drop_is_taken_back_while_nobody_is_shut_down(
    course: list[tuple[int, int]], size: int
) -> None:
    work = replace(WORK, queries=queries(size=size))
    plans = planned([taking(taken, min(grown, 89 - taken)) for taken, grown in course], work)
    assert all(plan.shut_down == () for plan in plans)
    last = plans[-1].drops.queries["0"]
    ever: set[int] = set()
    for plan in plans:
        known = plan.drops.queries["0"]
        still_told = {number for number in ever if number >= min(known.numbers(), default=10**9)}
        assert still_told <= set(known.numbers())
        ever |= set(known.numbers())
    assert longest_gap(ever, last) <= BATCH


def longest_gap(dropped: set[int], last: QueryDrops) -> int:
    decided = np.array([number in dropped for number in range(last.coin.next_window)])
    longest = length = 0
    for is_dropped in decided.tolist():
        length = length + 1 if is_dropped else 0
        longest = max(longest, length)
    return longest
