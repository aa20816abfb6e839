"""Clusters for the control loop to live on: workers that come and go, costs that are wrongly believed."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.elastic_loop import NOTHING_HELD_UP, ElasticLoop, ScalingStep
from streamshed.control.journal import JournalEntry
from streamshed.control.shed_rule import shed_rule
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.hold_up import HoldUp
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.planning.tree.quantization import SMALLEST
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from streamshed.simulator.engine import EngineSettings, SimulatedMicroBatch
from streamshed.simulator.profiles import LoadCurve, steps
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.oracles.simulation import simulate
from tests.property.control.worlds import INTERVAL, STREAM, World

Levels = list[tuple[float, float]]
"""Pairs of a time in seconds and a load, in budgets of one worker."""


@dataclass
class Watched:
    """An elastic loop whose decisions on workers are kept."""

    loop: ElasticLoop
    steps: list[ScalingStep] = field(default_factory=list)

    def plan(self, upcoming: Upcoming) -> Decision:
        decision = self.loop.plan(upcoming)
        self.steps.append(self.loop.step(upcoming.micro_batch_id))
        return decision

    def record(self, outcome: MicroBatchOutcome) -> JournalEntry:
        return self.loop.record(outcome)


@dataclass(frozen=True)
class Course:
    trace: Sequence[SimulatedMicroBatch]
    steps: Sequence[ScalingStep]
    failures: int

    @property
    def changes(self) -> list[int]:
        """Workers asked for or released, micro-batch by micro-batch."""
        return [step.decision.workers - step.view.workers.committed for step in self.steps]

    @property
    def rescales(self) -> int:
        return sum(change != 0 for change in self.changes)

    @property
    def reversals(self) -> int:
        signs = [change > 0 for change in self.changes if change]
        return sum(one != other for one, other in itertools.pairwise(signs))


def run_on_cluster(
    world: World,
    load: LoadCurve,
    micro_batches: int,
    *,
    cluster: ClusterSettings,
    elastic: ElasticSettings,
    controller: str = "predictive",
    noise_deviation: float = 0.0,
    hold_up: HoldUp = NOTHING_HELD_UP,
    **believed: Any,
) -> Course:
    virtual = VirtualCluster(cluster)
    elastic = replace(elastic, thresholds=Thresholds(shed=world.headroom))
    loop = ElasticLoop(
        world.loop(shed_rule=shed_rule(elastic, controller), **believed),
        controller_named(controller, elastic),
        virtual,
        partitions=elastic.limits.partitions,
        undivided_share=lambda: virtual.balance.undivided_share,
        hold_up=hold_up,
    )
    watched = Watched(loop)
    trace = simulate(
        watched,
        load={STREAM: load},
        costs=world.costs(noise_deviation=noise_deviation, cluster=virtual),
        settings=EngineSettings(trigger_interval_seconds=INTERVAL, seed=cluster.seed),
        micro_batches=micro_batches,
    )
    return Course(trace, watched.steps, virtual.failures)


def profile(world: World, levels: Levels) -> LoadCurve:
    """The load at each time; no less than what a world has to do without rows."""
    return steps([(start, world.load(max(level, world.fixed_share + 0.05))) for start, level in levels])


def gives_all(course: Course, number: int) -> bool:
    """Whether all that may be shed is, or shedding was cut as deep as the guard allows."""
    decision = course.trace[number].decision
    return decision.plan.saturated or bool(decision.clamps) or decision.work_codes[STREAM] == SMALLEST


def elastic_settings(*, most: int = 64, partitions: int | None = None, **settings: float) -> ElasticSettings:
    """Minutes where the defaults are hours, for micro-batches of two seconds."""
    limits = WorkerLimits(least=1, most=most, partitions=partitions)
    asked = {"start_seconds": 10.0, "release_after_seconds": 60.0, "look_ahead_seconds": 60.0, **settings}
    return ElasticSettings(limits=limits, **asked)  # type: ignore[arg-type]
