"""Which joins may be done in part under overload."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from streamshed.network.model.stream import Stream
from streamshed.network.terms.join_shedding import JoinMode


def partly_joinable(streams: Iterable[Stream], whole: Collection[str]) -> frozenset[str]:
    """Return the joined streams all of whose queries may be answered from a part of the join.

    Args:
        streams: Streams, joined ones among them.
        whole: Names of streams with queries that need all of their rows.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> calls, alerts = (stream(name, rate(1), time="timestamp") for name in ("calls", "alerts"))
        >>> pairs, all_pairs = (
        ...     calls.join(alerts, on="value", within="5 s", name=name, mode=mode).stream
        ...     for name, mode in (("pairs", "subset"), ("all_pairs", "exact"))
        ... )
        >>> sorted(partly_joinable((calls.stream, pairs, all_pairs), ())), sorted(partly_joinable((pairs,), ("pairs",)))
        (['pairs'], [])
    """
    return frozenset(
        stream.name
        for stream in streams
        if stream.name not in whole and stream.joined is not None and stream.joined.shedding.mode is not JoinMode.EXACT
    )
