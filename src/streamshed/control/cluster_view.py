"""Utilization of a cluster, from what was decided on a micro-batch."""

from __future__ import annotations

from streamshed.control.decision import Decision
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import Workers


def cluster_view(
    decision: Decision,
    settings: ControlSettings,
    workers: Workers,
    *,
    fixed_seconds: float,
    elapsed_seconds: float,
    skew: float,
    share: float = 1.0,
    undivided_share: float = 0.0,
) -> ClusterView:
    """Return what a controller of workers sees as a micro-batch begins.

    Offered is what would be done if there were time for it (`Decision.demanded_seconds`): what nobody needs is no load.

    The time available is the deadline of a micro-batch, as many times as the rows took trigger intervals to come: one
    that starts late holds more rows, which is no more load.

    Args:
        decision: What was decided on the micro-batch; its predictions hold for the workers that run.
        settings: Trigger interval and latency goal.
        workers: What there is and could be had.
        fixed_seconds: What a micro-batch takes without rows, as predicted.
        elapsed_seconds: How long its rows took to come.
        skew: How many times busier than all on average the busiest worker was of late. Predictions are of its time, for
            a micro-batch ends when it does.
        share: The share of the workers' time that is this network's, in (0, 1]; the rest is of others beside it.
        undivided_share: The share of the work that one worker has to do, however many there are.
    """
    interval = settings.trigger_interval_seconds
    available = share * min(settings.deadline_seconds, interval) * max(1.0, elapsed_seconds / interval)
    fixed, demanded = fixed_seconds / available, decision.demanded_seconds / available
    taken = decision.expected_seconds / available
    if settings.shed_rule is not None and decision.shedding:
        # What the shed factor leaves: before rates are rounded down, and before one that starts late catches up.
        taken = max(taken, decision.headroom / share)
    admitted = min(demanded, taken)
    return ClusterView(
        now_seconds=decision.now_seconds,
        offered=_utilization(demanded, fixed, skew),
        admitted=_utilization(admitted, fixed, skew),
        workers=workers,
        undivided_share=undivided_share,
    )


def _utilization(busiest: float, fixed: float, skew: float) -> Utilization:
    fixed = min(fixed, busiest)
    return Utilization(fixed + (busiest - fixed) / skew, fixed=fixed, largest=busiest)
