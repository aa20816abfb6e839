"""What was decided on workers, as a status and the journal tell it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from streamshed.control.elastic_loop import ScalingStep
from streamshed.elasticity.balance import Balance
from streamshed.spark.cluster.executor_pool import ExecutorPool

LOSING = "losing_workers"
"""The reason where workers that are replaced are lost again and again."""


@dataclass(frozen=True, kw_only=True)
class ScalingStatus:
    """Workers as a micro-batch began, and what was decided on them.

    Attributes:
        workers_running: Those that carry load.
        workers_starting: Those that were asked for and do not yet.
        workers_wanted: How many there should be, by the decision.
        workers_replaced: How many were lost since the start without having been released.
        offered_utilization: τ of what was to be done, of the busiest worker.
        admitted_utilization: τ of what was left of it once some was shed.
        skew: How many times busier than all on average the busiest worker was.
        undivided_share: The share of the work that one worker had to do, however many there were; 0: none was known.
        pieces_per_core: Into how many tasks per core files are cut; 1: as Spark does it.
        held_up_seconds: How much longer the micro-batch was believed to take as workers start meanwhile; 0: none do.
        scaling_reason: Of the decision, short and stable.
        scaling_explanation: The same with figures, and what the cluster could not do.
    """

    workers_running: int
    workers_starting: int
    workers_wanted: int
    workers_replaced: int
    offered_utilization: float
    admitted_utilization: float
    skew: float
    undivided_share: float
    pieces_per_core: int
    held_up_seconds: float
    scaling_reason: str
    scaling_explanation: str


def scaling_status(step: ScalingStep, pool: ExecutorPool, balance: Balance) -> ScalingStatus:
    """Return the decision of a step, with the present state of the pool and how work is spread."""
    view, decision = step.view, step.decision
    # While workers are lost as soon as they come, no decision takes effect.
    reason = LOSING if pool.is_losing else decision.reason
    explanation = f"{decision.explanation}; {pool.obstacle}" if pool.obstacle else decision.explanation
    if step.held_up_seconds > 0:
        explanation += f"; workers that start are believed to hold up the micro-batch for {step.held_up_seconds:.2g} s"
    return ScalingStatus(
        workers_running=view.workers.running,
        workers_starting=view.workers.starting,
        workers_wanted=decision.workers,
        workers_replaced=pool.replaced,
        offered_utilization=view.offered.busiest,
        admitted_utilization=view.admitted.busiest,
        skew=view.offered.skew,
        undivided_share=view.undivided_share,
        pieces_per_core=balance.pieces_per_slot,
        held_up_seconds=step.held_up_seconds,
        scaling_reason=reason,
        scaling_explanation=explanation,
    )


def scaling_columns(status: ScalingStatus | None) -> dict[str, object]:
    """Return columns of the journal, empty ones where the number of workers is fixed."""
    return dict.fromkeys(field.name for field in fields(ScalingStatus)) if status is None else asdict(status)
