"""Time domains that share workers: none loses those that it relies on, and none keeps what nobody needs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.elastic_loop import ElasticLoop, ScalingStep
from streamshed.control.known_needs import NOTHING_KNOWN
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from streamshed.spark.cluster.shared_workers import SharedWorkers
from tests.property.control.test_two_networks import HEADROOM, TRIGGER, Application, upcoming_rows
from tests.thoroughness import examples

SECONDS_PER_ROW = 1e-3
RELEASE_AFTER_SECONDS = 30.0
ELASTIC = ElasticSettings(
    thresholds=Thresholds(shed=HEADROOM),
    limits=WorkerLimits(least=1, most=32),
    start_seconds=4.0,
    release_after_seconds=RELEASE_AFTER_SECONDS,
    look_ahead_seconds=20.0,
)


@dataclass
class Domains:
    """Two time domains on the workers of one application, each with half of their time."""

    cluster: VirtualCluster = field(
        default_factory=lambda: VirtualCluster(ClusterSettings(running=1, most=32, start_seconds=4.0))
    )
    number: int = 0

    def __post_init__(self) -> None:
        wants: dict[str, int] = {}
        self.loops = [
            ElasticLoop(
                Application(SECONDS_PER_ROW, delivers=False).loop,
                controller_named("predictive", ELASTIC),
                SharedWorkers(self.cluster, wants, name),
                share=lambda: 0.5,
            )
            for name in ("one", "other")
        ]

    def run(self, seconds: float, *workers: float) -> list[tuple[ScalingStep, ...]]:
        """Let each have as many rows for so long as take so many workers at τ1."""
        course = []
        for _ in range(round(seconds / TRIGGER)):
            for loop, wanted in zip(self.loops, workers, strict=True):
                rows = round(wanted * (ELASTIC.thresholds.initial / 2 * TRIGGER) / SECONDS_PER_ROW)
                loop.plan(upcoming_rows(self.number, rows, NOTHING_KNOWN))
            course.append(tuple(loop.step(self.number) for loop in self.loops))
            self.number += 1
        return course


def test_one_that_never_asked_keeps_the_workers_that_it_is_steady_on() -> None:
    domains = Domains()
    domains.run(60, 0.5, 8)
    assert domains.run(20, 6, 8)[-1][0].view.workers.running == 10
    course = domains.run(3 * RELEASE_AFTER_SECONDS, 6, 0.5)
    assert min(one.view.workers.running for one, _ in course) >= 6
    assert max(one.view.offered.mean for one, _ in course) <= HEADROOM


def test_what_nobody_relies_on_is_released_though_they_are_not_idle_at_once() -> None:
    """One is idle while the other is not, and still is when the other has become so."""
    domains = Domains()
    domains.run(60, 6, 8)
    domains.run(4 * RELEASE_AFTER_SECONDS, 0.5, 8)
    assert domains.cluster.workers(domains.number * TRIGGER).running >= 8
    domains.run(3 * RELEASE_AFTER_SECONDS, 0.5, 0.5)
    assert domains.cluster.workers(domains.number * TRIGGER).running <= 2


LEVELS = st.lists(st.tuples(st.floats(20, 90), st.floats(0.2, 12), st.floats(0.2, 12)), min_size=2, max_size=3)


@examples(12)
@given(LEVELS)
def test_no_release_takes_what_another_is_busy_on(levels: list[tuple[float, float, float]]) -> None:
    domains = Domains()
    for seconds, *workers in levels:
        course = domains.run(seconds, *workers)
        for before, after in itertools.pairwise(course):
            for one, then in zip(before, after, strict=True):
                is_taken = then.view.workers.committed < one.view.workers.committed
                assert not is_taken or then.view.offered.mean <= HEADROOM
