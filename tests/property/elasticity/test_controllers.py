"""What every controller of workers keeps to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.elasticity.controllers import CONTROLLERS, controller_named
from streamshed.elasticity.scaling_decision import ScalingDecision
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import WorkerLimits, Workers
from tests.property.elasticity.plant import STEP
from tests.thoroughness import examples

NAMES = sorted(CONTROLLERS)


@st.composite
def views(draw: st.DrawFn, *, runs: int) -> list[ClusterView]:
    """Any utilizations and workers in the order of time, whether they go together or not."""
    found = []
    for number in range(runs):
        fixed = draw(st.floats(0, 0.5))
        offered, admitted = sorted((draw(st.floats(fixed, 5)), draw(st.floats(fixed, 5))), reverse=True)
        found.append(
            ClusterView(
                now_seconds=number * STEP,
                offered=Utilization(offered, fixed=fixed),
                admitted=Utilization(admitted, fixed=fixed),
                workers=Workers(
                    running=draw(st.integers(1, 50)),
                    starting=draw(st.integers(0, 3)),
                    free=draw(st.integers(0, 50)),
                ),
            )
        )
    return found


@st.composite
def asked(draw: st.DrawFn) -> ElasticSettings:
    least = draw(st.integers(1, 10))
    most = draw(st.none() | st.integers(least, 60))
    limits = WorkerLimits(least=least, most=most, partitions=draw(st.none() | st.integers(1, 80)))
    seconds = st.floats(0, 60)
    return ElasticSettings(
        limits=limits,
        start_seconds=draw(seconds),
        rescale_price_seconds=draw(seconds),
        add_after_seconds=draw(seconds),
        release_after_seconds=draw(st.floats(1, 120)),
        look_ahead_seconds=draw(st.floats(1, 120)),
    )


@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(asked(), views(runs=12))
def test_workers_stay_within_what_may_be_and_can_be_had(
    name: str, elastic: ElasticSettings, seen: list[ClusterView]
) -> None:
    controller = controller_named(name, elastic)
    for view in seen:
        utmost = controller.utmost(view)
        controller, decision = controller.step(view)
        assert decision.workers <= max(utmost, view.workers.committed) <= view.workers.obtainable
        committed, limits = view.workers.committed, elastic.limits
        assert 1 <= decision.workers <= view.workers.obtainable
        if decision.workers > committed:
            assert limits.most is None or decision.workers <= limits.most
            assert limits.partitions is None or decision.workers <= max(limits.partitions, limits.least)
        if decision.workers < committed:
            assert decision.workers >= min(limits.least, view.workers.obtainable)
        assert decision.explanation


@pytest.mark.parametrize("name", NAMES)
@examples(30)
@given(asked(), views(runs=8))
def test_the_same_views_give_the_same_decisions(name: str, elastic: ElasticSettings, seen: list[ClusterView]) -> None:
    def decided() -> list[ScalingDecision]:
        controller, found = controller_named(name, elastic), list[ScalingDecision]()
        for view in seen:
            before = repr(controller)
            after, decision = controller.step(view)
            assert repr(controller) == before
            controller = after
            found.append(decision)
        return found

    assert decided() == decided()
