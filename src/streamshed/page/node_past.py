"""The last five minutes of a node: what the journal said of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamshed.page.journal_tail import Row
from streamshed.planning.place.placement import query_place

PAST_SECONDS = 300.0


def node_past(rows: Iterable[Row], address: str, *, is_query: bool = False) -> list[dict[str, Any]]:
    """Return what was of a node.

    Args:
        rows: Of the journal of its clock, oldest first.
        address: The address of a stream or an operator, or the name of a query.
        is_query: Whether it is a query: it may be named like a stream.

    Returns:
        Of each row `started_at_seconds`; `sampling_rate` of the sampler before the node; `offered_rows_per_second` of
        the clock; `state_bytes` of the windows of a join, else of the clock; of a query its `effective_sampling_rate`,
        `expected_error` and `kept_share`.

    Example:
        >>> row = {"started_at_seconds": 7.0, "offered_rows": 100, "trigger_interval_seconds": 2.0, "state_bytes": 9}
        >>> node_past([row | {"samplers": {"ticks > filter v > 3": 0.1}}], "ticks > filter v > 3")
        [{'started_at_seconds': 7.0, 'sampling_rate': 0.1, 'offered_rows_per_second': 50.0, 'state_bytes': 9}]
        >>> [past] = node_past([row | {"joins": {"pairs": {"stored_bytes": 5}}}], "pairs")
        >>> past["state_bytes"]
        5
        >>> [past] = node_past([row | {"samplers": {"ticks": 0.5, "query ticks": 0.25}}], "ticks", is_query=True)
        >>> past["sampling_rate"]
        0.25
    """
    place = query_place(address) if is_query else address
    return [
        {
            "started_at_seconds": row["started_at_seconds"],
            "sampling_rate": (row.get("samplers") or {}).get(place, 1.0),
            "offered_rows_per_second": row["offered_rows"] / row["trigger_interval_seconds"],
            "state_bytes": _state_bytes(row, address),
            **(_of_query(row, address) if is_query else {}),
        }
        for row in rows
    ]


def _state_bytes(row: Row, address: str) -> int | None:
    join = (row.get("joins") or {}).get(address)
    state_bytes: int | None = row.get("state_bytes") if join is None else join["stored_bytes"]
    return state_bytes


def _of_query(row: Row, name: str) -> dict[str, Any]:
    rates = row.get("effective_sampling_rates") or {}
    if name not in rates:
        return {}
    return {
        "effective_sampling_rate": rates[name],
        "expected_error": (row.get("expected_errors") or {}).get(name),
        "kept_share": (row.get("kept_shares") or {}).get(name, 1.0),
    }
