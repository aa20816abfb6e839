"""Which share of windows is kept, who is shut down when, and what samples get beside."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.plan.coming_work import ComingWork
from streamshed.planning.plan.query_rates import spread, uniform_spread
from streamshed.planning.rates.least_error import least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, drop_plan, nothing_more_dropped
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import WindowDrops

TREE = WorkTree(
    (
        WorkNode(name="rows", parent=None, seconds=1.0),
        WorkNode(name="windows", parent=0, seconds=1.0, query=0),
        WorkNode(name="samples", parent=0, seconds=2.0, query=1),
    )
)
WINDOWS = Demand(query="windows", coefficient=1.0, is_protected=True)
SAMPLES = Demand(query="samples", coefficient=0.01, weight=4.0)
TIMES = EventTimes(opened=0, carried_since=0, first=1000, last=1999)


def tolerant(batch: int = 9, size: int = 10, slide: int = 10) -> dict[str, DroppableQuery]:
    one = DroppableQuery(
        query="windows",
        definition_id=7,
        stream="rows",
        window=WindowSpecification(size, slide),
        gap_windows=batch,
        epoch=slide,
        weight=1.0,
    )
    return {"windows": one}


BOTH = TolerantWork(TREE, [WINDOWS, SAMPLES], tolerant())


def upcoming(**known: object) -> UpcomingWindows:
    return replace(UpcomingWindows(event_times={"rows": TIMES}), **known)  # type: ignore[arg-type]


ALONE = WorkTree((WorkNode(name="rows", parent=None, seconds=1.0), WorkNode(name="w", parent=0, seconds=1.0, query=0)))


@pytest.mark.parametrize("budget_seconds", [0.4, 1.0, 1.5])
def test_of_tumbling_windows_the_share_is_kept_that_there_is_time_for(budget_seconds: float) -> None:
    plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), budget_seconds, least_error_rates, upcoming())
    assert plan.kept_shares["windows"] == pytest.approx(budget_seconds / 2)
    assert float(ALONE.node_seconds @ plan.needed_in_the_long_run) == pytest.approx(budget_seconds)
    dropped = plan.drops.queries["7"].numbers()
    assert len(dropped) / 100 == pytest.approx(1 - budget_seconds / 2, abs=0.03)
    assert plan.needed.tolist() == pytest.approx([1 - len(dropped) / 100] * 2, abs=0.02)


@pytest.mark.parametrize("queries", [1, 2])
def test_reading_for_kept_windows_takes_its_part_of_the_time(queries: int) -> None:
    """2 s of work and 3 s of reading fit into 1 s for a fifth of the windows, and into what that leaves no more does.

    Of two queries that ask the same, the same.
    """
    names = ["windows", "same"][:queries]
    nodes = [replace(ALONE.nodes[1], query=number, seconds=1.0 / queries) for number in range(queries)]
    work = TolerantWork(
        WorkTree((ALONE.nodes[0], *nodes)),
        [replace(WINDOWS, query=name) for name in names],
        {name: replace(tolerant()["windows"], query=name) for name in names},
    )
    plan = drop_plan(work, 9.0, least_error_rates, upcoming(steady_seconds=1.0, reading_seconds={"rows": 3.0}))
    assert list(plan.kept_shares.values()) == pytest.approx([0.2] * queries)
    assert plan.steady_seconds == pytest.approx(0.4)


def test_time_goes_where_it_saves_most_error() -> None:
    light = drop_plan(BOTH, 2.0, least_error_rates, upcoming())
    heavy_windows = replace(WINDOWS, weight=3.0)
    heavy = drop_plan(replace(BOTH, demands=[heavy_windows, SAMPLES]), 2.0, least_error_rates, upcoming())
    assert 0.1 < light.kept_shares["windows"] < heavy.kept_shares["windows"] <= 1
    for plan in (light, heavy):
        assert float(TREE.node_seconds @ plan.needed_in_the_long_run) <= 2.0 + 1e-6
        assert plan.seconds_left(TREE, 2.0) >= 0


def test_no_division_that_was_tried_is_better() -> None:
    """Brute force over shares of windows: what is left for samples is filled by the policy itself."""
    plan = drop_plan(BOTH, 2.0, least_error_rates, upcoming())

    def loss(kept: float) -> float:
        needed = BOTH.expected_needs(np.array([kept, 1.0]))
        left = 2.0 - float(TREE.node_seconds @ needed)
        if left < 0:
            return np.inf
        rest, _ = BOTH.without(needed)
        rate = max(float(least_error_rates(rest, [SAMPLES], left)[0]), 1e-8)
        return (1 - kept) + (SAMPLES.weight * SAMPLES.relative_error(rate)) ** 2

    best = min(loss(kept) for kept in np.linspace(0.1, 1.0, 91))
    assert loss(plan.kept_shares["windows"]) <= best + 0.06


def test_a_query_is_shut_down_only_when_it_lasts_and_comes_back_when_there_is_room() -> None:
    windows = upcoming(steady_seconds=0.1)
    seen = []
    for _ in range(PATIENCE + 1):
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.1, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
        seen.append(plan.kept_shares["windows"])
    assert seen[: PATIENCE - 1] == pytest.approx([0.1] * (PATIENCE - 1))
    assert seen[-1] == 0
    assert plan.shut_down == ("windows",)
    windows = replace(windows, steady_seconds=1.0)
    back = []
    for _ in range(PATIENCE):
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 1.0, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
        back.append(plan.kept_shares["windows"])
    assert back[:-1] == [0] * (PATIENCE - 1)
    assert back[-1] == pytest.approx(0.5)


def shut_down() -> UpcomingWindows:
    windows = upcoming(steady_seconds=0.1)
    for _ in range(PATIENCE):
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.1, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
    assert plan.shut_down == ("windows",)
    return windows


@pytest.mark.parametrize("steady_seconds", [None, 1.0])
def test_light_micro_batches_count_like_others_with_room(steady_seconds: float | None) -> None:
    windows = replace(shut_down(), steady_seconds=steady_seconds)
    back = []
    for _ in range(PATIENCE):
        plan = nothing_more_dropped(TolerantWork(ALONE, [WINDOWS], tolerant()), windows)
        windows = replace(windows, drops=WindowDrops.from_document(plan.drops.to_document()))
        back.append(plan.kept_shares["windows"])
    assert back == [0] * (PATIENCE - 1) + [1]
    assert (windows.drops.eased, windows.drops.eased_seconds) == (0, 0)


@pytest.mark.parametrize(("calm", "busy", "is_back"), [(0.45, 0.01, True), (0.25, 0.01, False), (0.25, 0.2, True)])
def test_a_busy_micro_batch_is_made_up_for_by_calm_ones_if_all_of_them_have_room_together(
    calm: float, busy: float, *, is_back: bool
) -> None:
    """A tenth of the windows takes 0.2 s; each even micro-batch has `calm` seconds, each odd one `busy`."""
    windows, seen = shut_down(), []
    for number in range(4 * PATIENCE):
        plan = drop_plan(
            TolerantWork(ALONE, [WINDOWS], tolerant()),
            0.1,
            least_error_rates,
            replace(windows, steady_seconds=busy if number % 2 else calm, utmost_seconds=1.0),
        )
        windows = replace(windows, drops=plan.drops)
        seen.append(plan.kept_shares["windows"] > 0)
    assert seen[-1] is is_back
    assert seen == sorted(seen)


def test_a_policy_that_drops_no_windows_has_nobody_shut_down_whom_another_had() -> None:
    work = ComingWork(
        tree=ALONE,
        demands=(WINDOWS,),
        streams=("rows", "rows"),
        places=("rows", "w"),
        droppable=tolerant(),
        upcoming=shut_down(),
    )
    windows = uniform_spread(work, {"rows": 0}).windows
    assert windows is not None
    assert windows.shut_down == ()
    still = spread(work, least_error_rates, {"rows": 1.0}).windows
    assert still is not None
    assert still.shut_down == ("windows",)


@pytest.mark.parametrize(("utmost_seconds", "is_shut"), [(0.25, False), (0.15, True)])
def test_a_query_that_fits_without_headroom_is_not_shut_down(utmost_seconds: float, is_shut: bool) -> None:
    """A tenth of its windows takes 0.2 s."""
    windows = upcoming(steady_seconds=0.1, utmost_seconds=utmost_seconds)
    for _ in range(PATIENCE):
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.1, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
    assert plan.kept_shares["windows"] == pytest.approx(0.0 if is_shut else 0.1)


def test_one_late_micro_batch_shuts_nobody_down() -> None:
    """It has less time than its rows took to come: that says nothing of the long run."""
    windows = upcoming(steady_seconds=1.0)
    for _ in range(3 * PATIENCE):
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.05, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
    assert plan.kept_shares["windows"] == pytest.approx(0.1)


@pytest.mark.parametrize(("calm", "busy", "is_shut"), [(0.25, 0.1, True), (0.35, 0.1, False), (5.0, 0.1, False)])
def test_those_that_cannot_last_are_shut_down_though_some_micro_batches_have_room_for_them(
    calm: float, busy: float, *, is_shut: bool
) -> None:
    """A tenth of the windows takes 0.2 s; each even micro-batch has `calm` seconds, each odd one `busy`."""
    windows, seen = upcoming(), []
    for number in range(2 * PATIENCE):
        seconds = busy if number % 2 else calm
        plan = drop_plan(
            TolerantWork(ALONE, [WINDOWS], tolerant()),
            0.1,
            least_error_rates,
            replace(windows, steady_seconds=seconds, utmost_seconds=seconds),
        )
        windows = replace(windows, drops=WindowDrops.from_document(plan.drops.to_document()))
        seen.append(plan.kept_shares["windows"] > 0)
    assert seen[: PATIENCE - 1] == [True] * (PATIENCE - 1)
    assert all(seen) is not is_shut


@pytest.mark.parametrize(
    ("seconds", "shut_from"),
    [
        ((0.09,) * 6, 1),
        ((0.0,) * 6, 1),
        ((0.0, 0.5, 0.0, 0.09), 3),
        ((0.19,) * 6, PATIENCE - 1),
        ((0.001, 0.19, 0.19, 0.19, 0.19, 0.19), PATIENCE - 1),
        ((0.0, 0.21, 0.21, 0.21, 0.21, 0.21), math.inf),
        ((0.09, 0.3) * 5, math.inf),
    ],
)
def test_two_micro_batches_with_less_than_half_of_the_time_shut_a_query_down(
    seconds: tuple[float, ...], shut_from: float
) -> None:
    """A tenth of the windows takes 0.2 s."""
    windows, shut = upcoming(), []
    for available in seconds:
        windows = replace(windows, steady_seconds=available, utmost_seconds=available)
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.1, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
        shut.append(plan.kept_shares["windows"] == 0)
    assert shut == [number >= shut_from for number in range(len(seconds))]


def test_a_single_micro_batch_that_has_no_time_at_all_shuts_nobody_down() -> None:
    windows = upcoming(steady_seconds=0.001)
    for seconds in [0.001] + [0.21] * (2 * PATIENCE):
        windows = replace(windows, steady_seconds=seconds, utmost_seconds=seconds)
        plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.1, least_error_rates, windows)
        windows = replace(windows, drops=plan.drops)
        assert plan.kept_shares["windows"] > 0


@pytest.mark.parametrize(("interval_seconds", "is_shut"), [(0.039, True), (0.041, False), (None, False)])
def test_one_micro_batch_that_would_take_the_time_of_five_shuts_a_query_down(
    interval_seconds: float | None, *, is_shut: bool
) -> None:
    """A tenth of the windows takes 0.2 s."""
    windows = replace(upcoming(steady_seconds=0.001), interval_seconds=interval_seconds)
    plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.1, least_error_rates, windows)
    assert plan.shut_down == (("windows",) if is_shut else ())


@pytest.mark.parametrize(("epoch", "expected"), [(400, 0.3), (600, 1.0)])
def test_the_long_run_counts_where_epochs_are_longer_than_micro_batches(epoch: int, expected: float) -> None:
    queries = {"windows": replace(tolerant(batch=60)["windows"], epoch=epoch)}
    assert upcoming(steady_seconds=1.0).seconds_for(queries.values(), 0.3) == expected
    assert upcoming().seconds_for(queries.values(), 0.3) == 0.3


def test_while_windows_are_kept_samples_keep_half_of_what_they_should_have() -> None:
    plan = drop_plan(BOTH, 2.0, least_error_rates, upcoming())
    left = 2.0 - float(TREE.node_seconds @ plan.needed_in_the_long_run)
    all_kept = replace(plan, needed=np.array([1.0, 1.0, 0.0]))
    none_kept = replace(plan, needed=np.zeros(3))
    assert all_kept.seconds_left(TREE, 2.0) == pytest.approx(max(left / 2, 0.25 * 2.0))
    assert none_kept.seconds_left(TREE, 2.0) == pytest.approx(2.0)


def test_samples_keep_a_quarter_of_the_time_where_windows_that_are_kept_would_take_all_of_it() -> None:
    plan = drop_plan(BOTH, 0.1, least_error_rates, upcoming(steady_seconds=2.0))
    assert float(TREE.node_seconds @ plan.needed_in_the_long_run) > 0.1
    assert plan.seconds_left(TREE, 0.1) == pytest.approx(0.025)


def test_samples_have_a_fiftieth_of_the_time_where_windows_take_all_of_it_in_the_long_run_too() -> None:
    plan = drop_plan(BOTH, 0.1, least_error_rates, upcoming())
    taken = replace(plan, needed=np.ones(3), needed_in_the_long_run=np.ones(3), steady_seconds=0.1)
    assert taken.seconds_left(TREE, 0.1) == pytest.approx(0.002)


def test_what_is_left_of_the_tree_is_the_work_nobody_else_has_done() -> None:
    rest, places = BOTH.without(np.array([0.25, 0.25, 0.0]))
    assert BOTH.sampled == (1,)
    assert [(node.name, node.seconds, node.query) for node in rest.nodes] == [
        ("rows", 0.75, None),
        ("samples", 2.0, 0),
    ]
    assert places == (0, 2)


def test_calm_drops_nothing_more_and_forgets_queries_that_are_gone() -> None:
    plan = drop_plan(TolerantWork(ALONE, [WINDOWS], tolerant()), 0.5, least_error_rates, upcoming())
    gone = WindowDrops(queries={**plan.drops.queries, "8": plan.drops.queries["7"]}, pressed=3)
    later = EventTimes(opened=1500, carried_since=0, first=2000, last=2999)
    still = nothing_more_dropped(
        TolerantWork(ALONE, [WINDOWS], tolerant()), UpcomingWindows(event_times={"rows": later}, drops=gone)
    )
    assert set(still.drops.queries) == {"7", "8"}
    assert still.drops.pressed == 0
    assert max(still.drops.queries["7"].numbers()) < 200
    far = replace(later, opened=9000, first=9000, last=9999)
    forgotten = nothing_more_dropped(
        TolerantWork(ALONE, [WINDOWS], tolerant()), UpcomingWindows(event_times={"rows": far}, drops=still.drops)
    )
    assert set(forgotten.drops.queries) == {"7"}
    assert forgotten.kept_shares == {"windows": 1.0}
