"""What the page shows of a plan: what is kept, errors, delay and workers, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from streamshed.page.known_run import KnownRun
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.place.placement import query_place


def outlook(known_run: KnownRun, plan: Explanation) -> dict[str, Any]:
    """Return a plan as JSON has it.

    Args:
        known_run: The network and what is known of it.
        plan: What `known_run.plan` returned.

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
        "workers": known_run.workers(plan),
        "samplers": [
            {
                "address": query_place(step.name) if step.address is None else step.address,
                "sampling_rate": step.sampling_rate,
            }
            for step in plan.steps
            if step.sampling_rate is not None
        ],
        "queries": [asdict(query) for query in plan.outlooks],
    }


def nodes(known_run: KnownRun, rows_per_second: float) -> list[dict[str, Any]]:
    """Return the streams, operators and queries of a network with their costs.

    Args:
        known_run: The network and what is known of it.
        rows_per_second: The load.

    Returns:
        Of each its `address` (of a query its name, which may be that of a stream: then `is_query` tells them apart),
        `work_share` of the work on all rows, of streams and operators the `rows_per_second` that they pass on if
        nothing is shed, and where it is known `seconds_per_row`, `selectivity` and `is_measured`.
    """
    load = known_run.load(rows_per_second)
    total_seconds = float(load.tree.node_seconds.sum())
    queries = {demand.query for demand in load.demands}
    passed = known_run.passed_rows_per_second(rows_per_second)
    seconds: dict[tuple[str, bool], float] = {}
    for node, address in zip(load.tree.nodes, load.addresses, strict=True):
        # What groups of a query cost is a node of its own, below that of its rows.
        name = node.name if node.name in queries else load.tree.nodes[node.parent or 0].name
        place = (name, True) if address is None else (address, False)
        seconds[place] = seconds.get(place, 0.0) + node.seconds
    return [
        {
            "address": place,
            "is_query": is_query,
            "work_share": place_seconds / total_seconds if total_seconds > 0 else 0.0,
            **({"rows_per_second": passed[place]} if place in passed and not is_query else {}),
            **_costs(known_run, place, is_query=is_query),
        }
        for (place, is_query), place_seconds in seconds.items()
    ]


def _costs(known_run: KnownRun, place: str, *, is_query: bool) -> Mapping[str, Any]:
    statistics = known_run.statistics
    if is_query:
        query = statistics.queries.get(place)
        return {} if query is None else {"seconds_per_row": query.seconds_per_row}
    if (stream := statistics.streams.get(place)) is not None:
        return {"seconds_per_row": stream.read_seconds_per_row + stream.parse_seconds_per_row}
    operator = statistics.operators.get(place)
    if operator is None:
        return {}
    return {
        "seconds_per_row": operator.seconds_per_row,
        "selectivity": operator.selectivity,
        "is_measured": operator.is_measured,
    }
