"""A burst on a stream whose query wants exact answers or none: as few windows are dropped as the load allows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.network.model.network import network
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, PATIENCE_WHEN_CLEAR
from streamshed.simulator.profiles import LoadCurve, from_rates
from streamshed.statistics.network_statistics import Moments, NetworkStatistics, QueryStatistics, StreamStatistics
from tests.property.control import promises
from tests.property.control.worlds import INTERVAL, PLAIN, STREAM, Trace, World, worlds
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of


@dataclass(frozen=True, kw_only=True)
class Tolerant:
    """A world, and how long the windows of its query are, milliseconds, and how many in a row may be missing."""

    world: World
    window: int
    batch: int

    def run(self) -> promises.Burst:
        return promises.run_burst(self.world, controller=self.loop())

    def loop(self) -> ControlLoop:
        tumbling = rows_of(STREAM).window(f"{self.window} ms")
        asked = network(tumbling.agg(top="max(value)").query("q", mode="subset", max_gap=self.batch))
        known = NetworkStatistics(
            fixed_seconds=self.world.fixed_share * self.world.budget_seconds,
            streams={STREAM: StreamStatistics(rows_per_second=1.0)},
            queries={"q": QueryStatistics(seconds_per_row=1.0)},
        )
        told = replace(self.world.loop().settings, statistics=known)
        return ControlLoop(asked, told, lambda: 0.0)

    def dropped(self, trace: Trace) -> set[int]:
        return {number for done in trace for one in done.decision.drops.queries.values() for number in one.numbers()}

    def begun_in(self, trace: Trace) -> range:
        """Windows that begin while the rows of some micro-batches come."""
        first, last = trace[0].started_at_seconds, trace[-1].started_at_seconds
        return range(round(first * 1000 / self.window) + 1, round(last * 1000 / self.window))


@st.composite
def tolerant(draw: Any) -> Tolerant:
    """Windows that are short beside micro-batches; gaps as long as the load asks for."""
    world = draw(worlds())
    least_work = (0.75 - world.fixed_share) / (world.overload - world.fixed_share) - world.read_share
    kept = least_work / (1 - world.read_share)
    batch = draw(st.integers(max(1, round(2 / max(kept, 0.05))), 60))
    return Tolerant(world=world, window=draw(st.sampled_from([10, 20, 50])), batch=batch)


KEPT = [
    promises.none_is_late_from_the_fourth_on,
    promises.nothing_waits_from_the_eighth_on,
    promises.no_more_is_shed_than_the_load_asks,
    promises.calm_is_left_alone,
    promises.two_micro_batches_later_all_is_whole_again,
]


@given(tolerant())
@examples(60)
def test_promises_are_kept_gaps_are_short_and_as_many_windows_are_kept_as_there_is_work_done(case: Tolerant) -> None:
    """In one, as it is the run that takes its time."""
    run = case.run()
    assert [promise.__name__ for promise in KEPT if not promise(run)] == []
    dropped = case.dropped(run.trace)
    runs = [len(list(found)) for _, found in groupby(enumerate(sorted(dropped)), key=lambda pair: pair[1] - pair[0])]
    assert max(runs, default=0) <= case.batch
    steady = run.overloaded[8:]
    begun = case.begun_in(steady)
    kept = 1 - len(dropped & set(begun)) / len(begun)
    done = sum(one.decision.work_shares[STREAM] * one.offered_rows[STREAM] for one in steady[:-1])
    assert kept == pytest.approx(done / sum(one.offered_rows[STREAM] for one in steady[:-1]), abs=0.05)


STEADY = replace(PLAIN, overload=1.9, calm_micro_batches=10)


@pytest.mark.parametrize(("window_seconds", "batch"), [(5, 3), (20, 5)])
def test_windows_longer_than_micro_batches_are_dropped_no_more_often_than_the_long_run_asks(
    window_seconds: int, batch: int
) -> None:
    """A kept window makes micro-batches late, a dropped one lets them catch up."""
    case = Tolerant(world=STEADY, window=1000 * window_seconds, batch=batch)
    run = case.run()
    begun = case.begun_in(run.overloaded)
    dropped = len(case.dropped(run.trace) & set(begun))
    assert 0.3 <= 1 - dropped / len(begun) <= 0.62
    assert not run.after[-1].backlog_rows


@pytest.mark.parametrize(("overload", "patience"), [(2.6, PATIENCE), (4.0, PATIENCE_WHEN_CLEAR)])
def test_a_query_is_shut_down_where_its_gaps_cannot_be_kept_short_and_comes_back(
    overload: float, patience: int
) -> None:
    case = Tolerant(world=replace(STEADY, overload=overload), window=50, batch=1)
    run = case.run()
    shut = [done.decision.kept_shares["q"] == 0 for done in run.trace]
    first = shut.index(True)
    assert not any(shut[: run.world.calm_micro_batches + patience - 1])
    assert "shut down, as gaps of all queries cannot be kept within their max_gap: q" in (
        run.trace[first].decision.explanation
    )
    assert shut[-1] is False
    assert run.after[-1].decision.kept_shares["q"] == 1
    assert any(one.shut for one in run.trace[first].decision.drops.queries.values())


def alternating(*loads: float, each: int) -> LoadCurve:
    """Loads in budgets of a micro-batch, each for some pairs of trigger intervals of which only the first has rows."""
    busy = [STEADY.load(load) for load in loads for _ in range(each)]
    return from_rates([rows for load in busy for rows in (load, 0.0)], seconds_each=INTERVAL)


def shut_in(trace: Trace) -> list[bool]:
    return [done.decision.kept_shares.get("q") == 0 for done in trace]


def turns(shut: list[bool]) -> int:
    return sum(one != other for one, other in itertools.pairwise(shut))


FEW_GAPS = Tolerant(world=STEADY, window=50, batch=1)


def test_micro_batches_without_rows_bring_nobody_back_for_whom_the_others_have_no_room() -> None:
    """Files come every other trigger: half of a file's windows take longer than both triggers."""
    run = FEW_GAPS.world.run(alternating(6.5, 0.2, each=60), 200, controller=FEW_GAPS.loop())
    shut, rows = shut_in(run), [done.offered_rows[STREAM] for done in run]
    assert turns(shut) == 2
    while_shut = [count for count, is_shut in zip(rows, shut, strict=True) if is_shut]
    assert sum(count == 0 for count in while_shut) >= 30
    last_busy = max(place for place, count in enumerate(rows) if count > STEADY.load(1.0) * INTERVAL)
    back = shut.index(False, shut.index(True))
    assert last_busy < back <= last_busy + PATIENCE + 1


def test_those_come_back_for_whom_there_is_room_in_the_long_run_though_not_in_each_micro_batch() -> None:
    """Half of the windows of a file take more than one trigger interval has, but less than two."""
    run = FEW_GAPS.world.run(alternating(6.5, 2.6, each=60), 200, controller=FEW_GAPS.loop())
    shut = shut_in(run)
    back = shut.index(False, shut.index(True))
    assert turns(shut) == 2
    assert sum(done.offered_rows[STREAM] > STEADY.load(2.0) * INTERVAL for done in run[back:]) >= 20


def test_beside_a_query_that_is_sampled_both_are_served_in_one_budget() -> None:
    rows = rows_of(STREAM)
    asked = network(
        rows.window("50 ms").agg(top="max(value)").query("subset", mode="subset", max_gap=9),
        rows.window("1 minute").agg(total="sum(value)").query("sampled", weight=30),
    )
    known = NetworkStatistics(
        fixed_seconds=0.16,
        streams={STREAM: StreamStatistics(rows_per_second=1.0)},
        queries={
            "subset": QueryStatistics(seconds_per_row=1.0),
            "sampled": QueryStatistics(seconds_per_row=1.0, moments={"total": Moments(mean=1.0, deviation=30.0)}),
        },
    )
    told = replace(STEADY.loop().settings, statistics=known)
    run = promises.run_burst(replace(STEADY, overload=3.0), controller=ControlLoop(asked, told, lambda: 0.0))
    assert promises.none_is_late_from_the_fourth_on(run)
    assert promises.no_more_is_shed_than_the_load_asks(run)
    decisions = [done.decision for done in run.overloaded[8:]]
    assert all(0.1 <= decision.kept_shares["subset"] < 1 for decision in decisions)
    assert all(0 < decision.effective_sampling_rates["sampled"] < 1 for decision in decisions)
    assert all(decision.query_codes["subset"] == 0 for decision in decisions)
