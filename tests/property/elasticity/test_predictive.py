"""What our controller promises, whatever comes and however wrong costs are by up to three."""

import itertools
import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.elasticity.predictive_controller import PredictiveController
from streamshed.elasticity.scaling_decision import ScalingDecision
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import WorkerLimits
from tests.property.elasticity.plant import DAY, HOUR, STEP, Demand, Moment, Plant, rescales, reversals
from tests.thoroughness import examples

EXAMPLES = examples(25)
SETTINGS = ElasticSettings(limits=WorkerLimits(least=1, most=1000))
WRONG_BY = st.floats(-1, 1).map(lambda power: float(3**power))


def controller(elastic: ElasticSettings = SETTINGS) -> PredictiveController:
    return PredictiveController.of(elastic)


@st.composite
def profiles(draw: st.DrawFn) -> Demand:
    """Levels of any height for any time, with ramps between some of them."""
    pieces = draw(st.lists(st.tuples(st.floats(20, 2400), st.floats(0.05, 60), st.booleans()), min_size=1, max_size=12))
    ends = [sum(piece[0] for piece in pieces[: place + 1]) for place in range(len(pieces))]

    def demand(now: float) -> float:
        place = next((place for place, end in enumerate(ends) if now < end), len(pieces) - 1)
        seconds, level, ramps = pieces[place]
        if not ramps or place == 0:
            return level
        share = min(1.0, (now - ends[place - 1]) / seconds)
        return pieces[place - 1][1] + share * (level - pieces[place - 1][1])

    return demand


@EXAMPLES
@given(profiles(), WRONG_BY, st.floats(0, 0.15), st.floats(0, 0.3), st.integers(0, 99))
def test_directions_change_no_more_often_than_load_may_be_called_low(
    demand: Demand, wrong_by: float, noise: float, fixed: float, seed: int
) -> None:
    plant = Plant(wrong_by=wrong_by, noise_deviation=noise, fixed=fixed)
    moments = plant.drive(controller(), demand, 4 * HOUR, seed=seed)
    released = [moment for moment in rescales(moments) if moment.change < 0]
    for one, other in itertools.pairwise(released):
        assert other.view.now_seconds - one.view.now_seconds >= SETTINGS.release_after_seconds
    assert reversals(moments) <= 2 * 4 * HOUR / SETTINGS.release_after_seconds + 1


@EXAMPLES
@given(st.floats(0.05, 100), WRONG_BY, st.floats(0, 0.15), st.floats(0, 0.3), st.integers(1, 200), st.integers(0, 99))
def test_a_steady_load_is_met_by_at_most_two_rescales(
    load: float, wrong_by: float, noise: float, fixed: float, running: int, seed: int
) -> None:
    plant = Plant(wrong_by=wrong_by, noise_deviation=noise, fixed=fixed)
    moments = plant.drive(controller(), lambda _: load, 8 * HOUR, running=running, seed=seed)
    assert len(rescales(moments)) <= 2
    assert reversals(moments) == 0


def lost_seconds(moments: list[Moment]) -> float:
    return sum(STEP * moment.view.loss_share for moment in moments)


@EXAMPLES
@given(profiles(), WRONG_BY)
def test_what_is_lost_before_workers_are_asked_for_is_the_price_of_a_rescale(demand: Demand, wrong_by: float) -> None:
    """As long as some can be had, and but for one step, in which all may be lost."""
    moments = Plant(wrong_by=wrong_by).drive(controller(), demand, 2 * HOUR)
    lost = 0.0
    for moment in moments:
        lost = 0.0 if moment.change or moment.view.workers.starting else lost + STEP * moment.view.loss_share
        assert lost <= 1.35 * SETTINGS.rescale_price_seconds + STEP


@EXAMPLES
@given(st.floats(1.05, 20), WRONG_BY)
def test_a_load_that_lasts_is_carried_whole_in_the_end(load: float, wrong_by: float) -> None:
    moments = Plant(wrong_by=wrong_by).drive(controller(), lambda _: load, 2 * HOUR)
    assert all(moment.view.loss_share == 0 for moment in moments[-100:])


@pytest.mark.parametrize("seconds", [10.0, 20.0, 60.0])
def test_a_short_burst_is_shed_and_nothing_else(seconds: float) -> None:
    def burst(now: float) -> float:
        return 0.9 if HOUR <= now < HOUR + seconds else 0.4

    moments = Plant().drive(controller(), burst, 2 * HOUR)
    assert rescales(moments) == []
    assert lost_seconds(moments) > 0


def test_workers_are_there_before_a_load_that_rises_needs_them() -> None:
    moments = Plant(noise_deviation=0.02).drive(controller(), lambda now: 0.3 + now / HOUR, 3 * HOUR)
    assert {moment.decision.reason for moment in rescales(moments)} == {"rising"}
    assert lost_seconds(moments) <= 0.1 * SETTINGS.rescale_price_seconds


@pytest.mark.parametrize(("noise", "largest"), [(0.0, (2.0, 4.0, 6.0)), (0.1, (6.0, 2.0, 4.0))])
def test_a_day_takes_a_handful_of_rescales(noise: float, largest: tuple[float, ...]) -> None:
    """Each day has a peak of its own, so many times as high as the night."""

    def diurnal(now: float) -> float:
        return 10 * (1 + (largest[int(now // DAY)] - 1) * (1 - math.cos(2 * math.pi * now / DAY)) / 2)

    moments = Plant(noise_deviation=noise).drive(controller(), diurnal, len(largest) * DAY, running=25)
    for day in range(len(largest)):
        of_day = [moment for moment in moments if moment.view.now_seconds // DAY == day]
        assert len(rescales(of_day)) <= 6
        assert lost_seconds(of_day) <= 1e-3 * DAY


def test_a_step_is_answered_by_one_rescale_of_the_right_size() -> None:
    moments = Plant().drive(controller(), lambda now: 3.0 if now >= 600 else 0.7, HOUR)
    (only,) = rescales(moments)
    assert only.decision.workers == 8
    assert only.decision.reason == "overload"
    assert only.decision.expected_utilization == pytest.approx(3 / 8)


def test_workers_that_start_are_not_asked_for_again() -> None:
    slow = Plant(start_seconds=600.0)
    moments = slow.drive(controller(), lambda now: 3.0 if now >= 600 else 0.7, HOUR)
    assert [moment.change for moment in rescales(moments)] == [7]


def test_where_none_can_be_had_it_says_so_and_sheds() -> None:
    moments = Plant(pool=1).drive(controller(), lambda _: 3.0, HOUR)
    assert rescales(moments) == []
    assert moments[-1].decision.reason == "no_free_worker"


def test_what_nobody_can_share_is_not_answered_with_workers() -> None:
    moments = Plant(fixed=0.85).drive(controller(), lambda _: 1.0, HOUR)
    assert rescales(moments) == []
    assert moments[-1].decision.reason == "not_shareable"


@dataclass(frozen=True)
class Twitchy:
    """A controller that follows the load of the moment."""

    def step(self, view: ClusterView) -> tuple["Twitchy", ScalingDecision]:
        workers = max(1, math.ceil(view.offered.demand(view.workers.running) / 0.6))
        workers = min(max(workers, view.workers.starting + 1), view.workers.obtainable)
        return self, ScalingDecision(workers=workers, reason="", explanation="", expected_utilization=0.6)

    def utmost(self, view: ClusterView) -> int:
        return view.workers.obtainable


def test_a_controller_without_hysteresis_breaks_these_promises() -> None:
    moments = Plant(noise_deviation=0.1).drive(Twitchy(), lambda _: 20.0, 2 * HOUR)
    assert reversals(moments) > 2 * 2 * HOUR / SETTINGS.release_after_seconds + 1
    assert len(rescales(moments)) > 2
