"""The text, sentence by sentence."""

import pytest

from streamshed.elasticity.scaling_decision import ScalingDecision
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.threshold_controller import ThresholdController
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import WorkerLimits, Workers

SETTINGS = ElasticSettings(limits=WorkerLimits(least=3, most=50), add_after_seconds=60.0, release_after_seconds=600.0)


def decided(
    utilizations: list[float], *, running: int = 10, starting: int = 0, free: int = 40, every: float = 30.0
) -> ScalingDecision:
    """What the last of some utilizations leads to, the number of workers being the same all the time."""
    controller = ThresholdController(SETTINGS)
    for number, utilization in enumerate(utilizations):
        load = Utilization(utilization)
        view = ClusterView(
            now_seconds=number * every,
            offered=load,
            admitted=load,
            workers=Workers(running=running, starting=starting, free=free),
        )
        controller, decision = controller.step(view)
    return decision


def test_workers_are_added_when_utilization_has_been_high_for_a_certain_time() -> None:
    assert decided([0.96, 0.96]).workers == 10
    assert decided([0.96, 0.94, 0.96]).workers == 10
    assert decided([0.96, 0.95, 0.96]).workers == 24


def test_it_keeps_adding_until_about_the_initial_utilization() -> None:
    assert decided([0.96, 0.96, 0.96, 0.5]).workers == 13
    assert decided([0.96, 0.96, 0.96, 0.4, 0.7]).workers == 10


def test_it_waits_for_those_it_asked_for() -> None:
    assert decided([0.96, 0.96, 0.96], starting=14).workers == 24
    assert decided([0.96, 0.96, 0.96], starting=14).reason == "waiting"


def test_it_takes_what_there_is_and_stops_when_resources_are_exhausted() -> None:
    assert decided([0.96, 0.96, 0.96], free=2).workers == 12
    last = decided([0.96, 0.96, 0.96], free=0)
    assert (last.workers, last.reason) == (10, "no_free_worker")


@pytest.mark.parametrize(("utilization", "workers"), [(0.2, 5), (0.15, 4), (0.01, 3)])
def test_workers_are_released_when_utilization_was_low_for_long_but_never_below_the_first(
    utilization: float, workers: int
) -> None:
    assert decided([utilization] * 20).workers == 10
    assert decided([utilization] * 21).workers == workers
    assert decided([utilization] * 20 + [0.3, utilization]).workers == 10


def test_one_utilization_decides_so_shedding_hides_the_need_to_scale() -> None:
    controller = ThresholdController(SETTINGS)
    for number in range(10):
        view = ClusterView(
            now_seconds=30.0 * number,
            offered=Utilization(3.0),
            admitted=Utilization(SETTINGS.shed_factor.settled(3.0)),
            workers=Workers(running=10, free=40),
        )
        controller, decision = controller.step(view)
    assert view.admitted.mean == pytest.approx(0.9375)
    assert decision.workers == 10


@pytest.mark.parametrize(
    ("utilization", "times", "workers"), [(0.66, 21, 4), (0.66, 20, 10), (0.985, 3, 25), (0.97, 3, 10)]
)
def test_utilization_is_net_of_what_no_worker_changes(utilization: float, times: int, workers: int) -> None:
    """A micro-batch without rows takes 0.6 of the time: of the rest 0.15, 0.96 and 0.93 are used."""
    controller = ThresholdController(SETTINGS)
    for number in range(times):
        load = Utilization(utilization, fixed=0.6)
        view = ClusterView(now_seconds=30.0 * number, offered=load, admitted=load, workers=Workers(running=10, free=40))
        controller, decision = controller.step(view)
    assert decision.workers == workers
