"""Whether what is known of a network has stayed much as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)


def are_alike(account: NetworkStatistics, other: NetworkStatistics, *, tolerance: float) -> bool:
    """Tell whether two accounts of a network differ by no more than a tolerance, but for how many rows arrive.

    Args:
        account: An account.
        other: Another.
        tolerance: By which share of the larger any amount may differ: costs, selectivities, moments, how fast event
            time goes by. Sizes of groups are the same, or they are not.

    Example:
        >>> def costing(seconds: float) -> NetworkStatistics:
        ...     return NetworkStatistics(queries={"tcp": QueryStatistics(seconds_per_row=seconds)})
        >>> [are_alike(costing(1e-6), costing(seconds), tolerance=0.05) for seconds in (1.04e-6, 1.1e-6)]
        [True, False]
    """
    if account is other:
        return True
    if not (_same_names(account, other) and _same_groups(account.queries, other.queries)):
        return False
    pairs = zip(_amounts(account), _amounts(other), strict=True)
    return all(left == right or abs(left - right) <= tolerance * max(abs(left), abs(right)) for left, right in pairs)


def _same_names(account: NetworkStatistics, other: NetworkStatistics) -> bool:
    return (
        account.streams.keys() == other.streams.keys()
        and account.operators.keys() == other.operators.keys()
        and account.queries.keys() == other.queries.keys()
        and all(known.moments.keys() == other.queries[name].moments.keys() for name, known in account.queries.items())
    )


def _same_groups(account: Mapping[str, QueryStatistics], other: Mapping[str, QueryStatistics]) -> bool:
    return all(known.groups == other[name].groups for name, known in account.items())


def _amounts(statistics: NetworkStatistics) -> Iterator[float]:
    for stream in sorted(statistics.streams):
        yield from _of_stream(statistics.streams[stream])
    for address in sorted(statistics.operators):
        yield from _of_operator(statistics.operators[address])
    for query in sorted(statistics.queries):
        yield from _of_query(statistics.queries[query])


def _of_stream(stream: StreamStatistics) -> Iterator[float]:
    yield from (stream.read_seconds_per_row, stream.parse_seconds_per_row)
    yield from (stream.event_seconds_per_second, stream.rows_per_number)


def _of_operator(operator: OperatorStatistics) -> Iterator[float]:
    yield from (operator.selectivity, operator.seconds_per_row)


def _of_query(query: QueryStatistics) -> Iterator[float]:
    yield from (query.seconds_per_row, query.seconds_per_group)
    for aggregate in sorted(query.moments):
        yield from _of_moments(query.moments[aggregate])


def _of_moments(moments: Moments) -> Iterator[float]:
    yield from (moments.mean, moments.deviation, moments.mean_size)
