"""Utilization of a cluster, from what was decided on a micro-batch."""

from __future__ import annotations

from dataclasses import replace

from streamshed.control.decision import Decision
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.utilization import Utilization, by_rows_held
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


def with_rows_held(view: ClusterView, held_rows: int, worker_rows: float) -> ClusterView:
    """Return the same, where rows held count as well: of τ in time and τ = r/W it has the larger.

    Args:
        view: What is seen of time.
        held_rows: Rows of state that the workers hold together.
        worker_rows: W, how many one of them can hold.

    Example:
        >>> by_time = Utilization(0.5, fixed=0.1)
        >>> view = ClusterView(now_seconds=0.0, offered=by_time, admitted=by_time, workers=Workers(running=4))
        >>> [with_rows_held(view, rows, 20_000).offered.mean for rows in (12_000, 72_000)]
        [0.5, 0.9]
    """
    held = float(by_rows_held(held_rows / view.workers.running, worker_rows))
    return replace(view, offered=_fuller(view.offered, held), admitted=_fuller(view.admitted, held))


def _fuller(by_time: Utilization, held: float) -> Utilization:
    """What asks more of the workers: time, or rows held, which all of them share and shedding does not make fewer."""
    return Utilization(held) if held > max(by_time.busiest, by_time.net) else by_time


def _utilization(busiest: float, fixed: float, skew: float) -> Utilization:
    fixed = min(fixed, busiest)
    return Utilization(fixed + (busiest - fixed) / skew, fixed=fixed, largest=busiest)
