"""A network on a cluster under a load, from beginning to end, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from streamshed.control.elastic_loop import ElasticLoop, ScalingStep
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.control.shed_rule import shed_rule
from streamshed.elasticity.controllers import DEFAULT_CONTROLLER, controller_named
from streamshed.elasticity.hold_up import HoldUp
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.sizing import demand_of
from streamshed.elasticity.utilization import Utilization
from streamshed.errors import InvalidStatisticsError
from streamshed.network.model.network import QueryNetwork
from streamshed.simulator.answers_course import AnswersCourse
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from streamshed.simulator.costs import TrueCosts
from streamshed.simulator.course import Course, CourseMoment
from streamshed.simulator.engine import EngineSettings, SimulatedMicroBatch, simulated_micro_batches
from streamshed.simulator.profiles import LoadCurve
from streamshed.simulator.virtual_joins import NOTHING_JOINED, VirtualJoins


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is simulated.

    Args:
        network: What runs.
        load: What arrives, by stream, from time 0.
        seconds: For how long, above 0.
        costs: What it truly costs on one worker.
        control: What is asked of the control loop; what it believes of costs is of one worker. How load is shed goes
            by the controller.
        elastic: What is asked of elasticity.
        cluster: What is true of the workers.
        controller: Who decides on workers, one of `CONTROLLERS`.
        engine: How micro-batches come; None: at every trigger, sizes known beforehand.
        joins: What joins take besides.

    Raises:
        InvalidStatisticsError: It would not last long enough for a micro-batch.
    """

    network: QueryNetwork
    load: Mapping[str, LoadCurve]
    seconds: float
    costs: TrueCosts
    control: ControlSettings
    elastic: ElasticSettings
    cluster: ClusterSettings
    controller: str = DEFAULT_CONTROLLER
    engine: EngineSettings | None = None
    joins: VirtualJoins = NOTHING_JOINED

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds >= self.control.trigger_interval_seconds):
            raise InvalidStatisticsError(
                f"a simulation must last for a trigger interval of {self.control.trigger_interval_seconds:g} s at"
                f" least, got {self.seconds:g} s"
            )

    @property
    def shedding(self) -> ControlSettings:
        """What is asked of the control loop beside this controller."""
        return replace(self.control, shed_rule=shed_rule(self.elastic, self.controller))


def _nobody_watches(_share: float) -> None:
    """Take progress that nobody wants to see."""


def _there_is_time() -> bool:
    """Never end before the scenario does."""
    return True


def run_scenario(
    scenario: Scenario,
    *,
    progress: Callable[[float], None] = _nobody_watches,
    has_time: Callable[[], bool] = _there_is_time,
) -> Course:
    """Run a scenario with the control loop and the planners that real runs have.

    Args:
        scenario: What is simulated.
        progress: Told the share that is done, in [0, 1].
        has_time: Asked after each micro-batch whether another may be simulated; where not, the course ends there.
    """
    cluster = VirtualCluster(scenario.cluster)
    loop = ElasticLoop(
        ControlLoop(scenario.network, scenario.shedding, lambda: 0.0),
        controller_named(scenario.controller, scenario.elastic),
        cluster,
        partitions=scenario.elastic.limits.partitions,
        undivided_share=lambda: cluster.balance.undivided_share,
        hold_up=HoldUp(scenario.elastic.held_up_seconds),
    )
    interval = scenario.control.trigger_interval_seconds
    answers = AnswersCourse([query.name for query in scenario.network.foundation.queries])
    moments: list[CourseMoment] = []
    running = simulated_micro_batches(
        loop,
        load=scenario.load,
        costs=replace(scenario.costs, cluster=cluster),
        settings=scenario.engine or EngineSettings(trigger_interval_seconds=interval, seed=scenario.cluster.seed),
        joins=scenario.joins,
    )
    for done in running:
        moments.append(_moment(scenario, done, loop.step(done.micro_batch_id), answers))
        progress(min(1.0, done.started_at_seconds / scenario.seconds))
        if done.started_at_seconds + max(interval, done.processing_seconds) > scenario.seconds or not has_time():
            break
    return Course(
        moments=moments,
        queries=answers.courses(),
        failures=cluster.failures,
        end_seconds=moments[-1].started_at_seconds + max(interval, moments[-1].processing_seconds),
        latency_goal_seconds=loop.loop.settings.latency_goal_seconds,
    )


def _moment(
    scenario: Scenario, done: SimulatedMicroBatch, scaling: ScalingStep, answers: AnswersCourse
) -> CourseMoment:
    shed_share, worst_error = answers.add(done.decision, scenario.control.trigger_interval_seconds)
    view, decided = scaling.view, scaling.decision
    busiest = Utilization(view.offered.busiest, fixed=view.offered.fixed)
    return CourseMoment(
        started_at_seconds=done.started_at_seconds,
        offered_rows=sum(done.offered_rows.values()),
        skipped_rows=done.decision.skipped_rows,
        shed_share=shed_share,
        worst_error=worst_error,
        latency_seconds=done.latency_seconds,
        processing_seconds=done.processing_seconds,
        running=view.workers.running,
        committed=view.workers.committed,
        wanted=decided.workers,
        scaling_reason=decided.reason,
        scaling_explanation=decided.explanation,
        offered_utilization=view.offered.busiest,
        admitted_utilization=view.admitted.busiest,
        fixed_utilization=view.offered.fixed,
        demand=demand_of(busiest, workers=view.workers.running, pieces=view.pieces(scenario.elastic.limits)),
        saturated=done.decision.plan.saturated,
    )
