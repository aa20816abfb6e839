"""A network that is fed and can get workers: those upstream do not shed what workers that are free could do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.known_needs import NOTHING_KNOWN, known_needs
from streamshed.control.needs import NetworkNeeds
from streamshed.control.own_needs import own_needs
from streamshed.elasticity.controllers import controller_named
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from tests.property.control.clusters import elastic_settings
from tests.property.control.test_two_networks import (
    FEED,
    FIXED,
    HEADROOM,
    NEXT_TO_NOTHING,
    TRIGGER,
    Application,
    upcoming_rows,
)
from tests.thoroughness import examples

ROUNDS = 60
SECONDS_PER_ROW = 1e-3
CAPACITY = (HEADROOM * TRIGGER - FIXED) / SECONDS_PER_ROW / TRIGGER
"""Rows per second that one worker can use."""


class ElasticApplication(Application):
    """One at the end of a chain, on workers that come and go."""

    def __init__(self, *, most: int, free: int, controller: str = "predictive") -> None:
        super().__init__(SECONDS_PER_ROW, delivers=False)
        self.cluster = VirtualCluster(ClusterSettings(running=1, most=1 + free, start_seconds=10.0))
        elastic = elastic_settings(most=most)
        self.elastic = ElasticLoop(
            self.loop, controller_named(controller, elastic), self.cluster, partitions=elastic.limits.partitions
        )

    def told(self, number: int, rows: int) -> NetworkNeeds:
        """Decide on rows and workers, and tell what is needed."""
        decision = self.elastic.plan(upcoming_rows(number, rows, NOTHING_KNOWN))
        return own_needs(
            self.loop.network,
            decision,
            self.loop.settings,
            self.loop.state.load_model,
            latest_rows={"s": rows},
            lifetime_seconds=60.0,
            growth=self.elastic.step(number).growth,
        )


def fed(below: ElasticApplication, rows_per_second: float) -> list[float]:
    """Rows a second that are delivered to it, round by round."""
    above, told, course = Application(NEXT_TO_NOTHING, delivers=True), None, []
    for number in range(ROUNDS):
        needs = known_needs([FEED], {FEED.needs: told}, TRIGGER * (number + 1))
        offered = round(rows_per_second * TRIGGER)
        decision, _ = above.step(number, offered, needs)
        delivered = round(offered * decision.effective_sampling_rates["q"])
        told = below.told(number, delivered)
        course.append(delivered / TRIGGER)
    return course


@examples(20)
@given(st.floats(1.2, 5.5), st.integers(6, 12))
def test_workers_come_for_rows_that_those_upstream_have(times: float, free: int) -> None:
    below = ElasticApplication(most=16, free=free)
    course = fed(below, times * CAPACITY)
    assert course[-1] == pytest.approx(times * CAPACITY, abs=1 / TRIGGER)
    assert below.elastic.step(ROUNDS - 1).view.workers.running > times
    assert below.elastic.step(ROUNDS - 1).view.offered.mean <= HEADROOM


@examples(20)
@given(st.floats(1.2, 30), st.integers(0, 5), st.integers(1, 6))
def test_no_more_is_asked_for_than_all_workers_there_may_be_can_use(times: float, free: int, most: int) -> None:
    below = ElasticApplication(most=most, free=free)
    settled = fed(below, times * CAPACITY)[2:]
    usable = min(times, most, 1 + free) * CAPACITY
    assert max(settled) <= usable + 1
    assert min(settled) >= 0.9 * usable - 1


@pytest.mark.parametrize(("controller", "most"), [("fixed", 16), ("predictive", 1)])
def test_where_none_are_asked_for_those_that_run_count(controller: str, most: int) -> None:
    below = ElasticApplication(most=most, free=15, controller=controller)
    assert max(fed(below, 5 * CAPACITY)[2:]) <= CAPACITY + 1
