"""What the page shows of a plan: what is kept, errors, delay and workers, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from streamshed.page.known_run import KnownRun
from streamshed.planning.explain.explanation import Explanation


def outlook(known: KnownRun, plan: Explanation) -> dict[str, Any]:
    """Return a plan as JSON has it.

    Args:
        known: The network and what is known of it.
        plan: What `known.plan` returned.

    Returns:
        Loads in rows per second, seconds of a micro-batch, `workers`, `delay_seconds` from a row to its answers (None:
        it grows as long as the load lasts), and lists of `samplers` and `queries`.
    """
    interval_seconds = plan.trigger_interval_seconds
    is_behind = plan.expected_seconds > interval_seconds
    return {
        "policy": plan.policy,
        "rows_per_second": plan.rows_per_second,
        "sustained_rows_per_second": plan.rows_per_second / plan.load_factor,
        "unshed_seconds": plan.unshed_seconds,
        "expected_seconds": plan.expected_seconds,
        "budget_seconds": plan.budget_seconds,
        "trigger_interval_seconds": interval_seconds,
        "delay_seconds": None if is_behind else interval_seconds + plan.expected_seconds,
        "is_saturated": plan.is_saturated,
        "workers": known.workers(plan),
        "samplers": [
            {"address": step.name if step.address is None else step.address, "sampling_rate": step.sampling_rate}
            for step in plan.steps
            if step.sampling_rate is not None
        ],
        "queries": [asdict(query) for query in plan.outlooks],
    }


def nodes(known: KnownRun, plan: Explanation) -> list[dict[str, Any]]:
    """Return the streams, operators and queries of a plan with their costs.

    Returns:
        Of each its `address` (of a query its name), `seconds` of a micro-batch if nothing is shed (None: they are in
        the aggregate above), `work_share` of all that can be shed, the rates of the plan, and where it is known
        `seconds_per_row`, `selectivity` and `is_measured`.
    """
    total_seconds = sum(step.seconds or 0.0 for step in plan.steps)
    return [
        {
            "address": step.name if step.address is None else step.address,
            "is_query": step.address is None,
            "seconds": step.seconds,
            "work_share": (step.seconds or 0.0) / total_seconds if total_seconds > 0 else 0.0,
            "effective_sampling_rate": step.effective_sampling_rate,
            "sampling_rate": step.sampling_rate,
            **_costs(known, step.address, step.name),
        }
        for step in plan.steps
    ]


def _costs(known: KnownRun, address: str | None, name: str) -> Mapping[str, Any]:
    statistics = known.statistics
    if address is None:
        query = statistics.queries.get(name)
        return {} if query is None else {"seconds_per_row": query.seconds_per_row}
    if (stream := statistics.streams.get(address)) is not None:
        seconds = stream.read_seconds_per_row + stream.parse_seconds_per_row
        return {"seconds_per_row": seconds, "rows_per_second": stream.rows_per_second}
    operator = statistics.operators.get(address)
    if operator is None:
        return {}
    return {
        "seconds_per_row": operator.seconds_per_row,
        "selectivity": operator.selectivity,
        "is_measured": operator.is_measured,
    }
