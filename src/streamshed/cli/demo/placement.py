"""Where the demo's samplers were when most was shed."""

from __future__ import annotations

from streamshed.cli.demo.burst import BurstRun
from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.demo.load import DemoLoad
from streamshed.network.policy_names import DEFAULT_POLICY
from streamshed.planning.explanation import Explanation, explain_rates


def placement_at_peak(run: BurstRun, load: DemoLoad, capacity: Capacity) -> Explanation:
    """Explain the rates of the micro-batch in which the smallest share of the work was done."""
    journal = run.journal
    decided = journal[journal["effective_sampling_rates"].map(len) > 0]
    peak = decided.sort_values("work_share", kind="stable").iloc[0]
    rows_per_second = float(peak["offered_rows"]) / load.trigger_seconds
    return explain_rates(
        run.network,
        run.statistics,
        dict(peak["effective_sampling_rates"]),
        policy=DEFAULT_POLICY,
        load_factor=rows_per_second / capacity.rows_per_second,
        rows_per_second=rows_per_second,
        trigger_interval_seconds=load.trigger_seconds,
        kept_shares=dict(peak["kept_shares"]),
    )
