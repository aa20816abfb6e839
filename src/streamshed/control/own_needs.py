"""What a network needs of its streams, as a micro-batch is decided on."""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.control.decision import Decision
from streamshed.control.needs import Interval, NetworkNeeds, StreamNeeds, common_intervals
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel

LEAST_FOR_ROWS = 0.1
"""So much of the time is for rows, even if a micro-batch without any takes all of it: fewer rows would not help."""


def own_needs(
    network: QueryNetwork,
    decision: Decision,
    settings: ControlSettings,
    load_model: LoadModel,
    *,
    latest_rows: Mapping[str, int],
    lifetime_seconds: float,
    growth: float = 1.0,
) -> NetworkNeeds:
    """Return what a network needs of its streams.

    With F seconds of fixed cost and U the prediction for n rows, nothing shed, a trigger interval T is filled up to the
    headroom H by n·(H·T − F)/(U − F) rows. That does not depend on how many rows come, so whoever sheds upstream to so
    many changes nothing of what is asked of it; H·T − F is taken to be a tenth of H·T at least. Where none have come
    this time, n are those that came last. Where workers can still be had, U is the prediction for as many of them as
    load can bring about: if less came, they never would.

    Of a stream all of whose queries feed others, no more is needed than makes as many rows as those can use: what is
    asked of this network is passed on.

    Args:
        network: The network, of one time domain.
        decision: What was decided.
        settings: Trigger interval.
        load_model: What rows cost.
        latest_rows: By stream, the rows of the latest micro-batch that had any; one that is left out has had none.
        lifetime_seconds: For how long this holds.
        growth: How many times faster than those that run as many workers would be as load can bring about.
    """
    joined = [stream.joined for stream in network.all_streams if stream.joined is not None]
    # Rows of a join's side are worth what they find on the other side, which nobody upstream knows.
    sides = {side.stream.name for one in joined for side in (one.left, one.right)}
    droppable = {one.query: one for one in droppable_queries(network)}
    room = _room(latest_rows, decision, settings, load_model, growth)
    streams = {}
    for stream in network.streams:
        if stream.name in sides or stream.joined is not None:
            continue
        names = [query.name for query in network.queries if query.stream == stream]
        rows = latest_rows.get(stream.name, 0)
        usable = None if room is None or not rows else room * rows / settings.trigger_interval_seconds
        usable_rates = [
            _usable_rows_per_second(name, decision) if network.query(name).aggregate is None else None for name in names
        ]
        if None not in usable_rates:
            most = max(rate for rate in usable_rates if rate is not None)
            usable = most if usable is None else min(usable, most)
        streams[stream.name] = StreamNeeds(
            rows_per_second=usable,
            kept_shares={name: decision.kept_shares[name] for name in names if name in decision.kept_shares},
            unneeded=common_intervals([_unneeded(droppable.get(name), decision) for name in names]),
        )
    return NetworkNeeds(told_at_seconds=decision.now_seconds, lifetime_seconds=lifetime_seconds, streams=streams)


def _usable_rows_per_second(query: str, decision: Decision) -> float | None:
    """The rows per second of its stream that are enough for what a query feeds; None: any number."""
    rows_per_second, reach = decision.needs.rows_per_second.get(query), decision.reach.get(query, 1.0)
    return None if rows_per_second is None or reach <= 0 else rows_per_second / reach


def _room(
    latest_rows: Mapping[str, int],
    decision: Decision,
    settings: ControlSettings,
    load_model: LoadModel,
    growth: float,
) -> float | None:
    """How many times these rows fit into a trigger interval; None: there are no rows."""
    statistics = Statistics(
        offered_rows=latest_rows,
        load_model=load_model,
        correction=decision.correction,
        speedup=decision.speedup * growth,
    )
    fixed_seconds = decision.correction * load_model.fixed_seconds
    of_rows = statistics.seconds({}) - fixed_seconds
    if of_rows <= 0:
        return None
    time_seconds = decision.headroom * settings.trigger_interval_seconds
    return max(LEAST_FOR_ROWS * time_seconds, time_seconds - fixed_seconds) / of_rows


def _unneeded(query: DroppableQuery | None, decision: Decision) -> tuple[Interval, ...]:
    """The event times of which a query needs no row; of a query that drops by group, those that no group needs."""
    parts = () if query is None else tuple(query.parts)
    drops = [decision.drops.queries.get(name) for name in parts]
    return common_intervals([() if one is None else [(rows.start, rows.end) for rows in one.unneeded] for one in drops])
