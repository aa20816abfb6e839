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


def are_alike(one: NetworkStatistics, other: NetworkStatistics, *, tolerance: float) -> bool:
    """Tell whether two accounts of a network differ by no more than a tolerance, but for how many rows arrive.

    Args:
        one: An account.
        other: Another.
        tolerance: By which share of the larger any amount may differ: costs, selectivities, moments, how fast event
            time goes by. Sizes of groups are the same, or they are not.

    Example:
        >>> def costing(seconds: float) -> NetworkStatistics:
        ...     return NetworkStatistics(queries={"tcp": QueryStatistics(seconds_per_row=seconds)})
        >>> [are_alike(costing(1e-6), costing(seconds), tolerance=0.05) for seconds in (1.04e-6, 1.1e-6)]
        [True, False]
    """
    if one is other:
        return True
    if not (_same_names(one, other) and _same_groups(one.queries, other.queries)):
        return False
    pairs = zip(_amounts(one), _amounts(other), strict=True)
    return all(left == right or abs(left - right) <= tolerance * max(abs(left), abs(right)) for left, right in pairs)


def _same_names(one: NetworkStatistics, other: NetworkStatistics) -> bool:
    return (
        one.streams.keys() == other.streams.keys()
        and one.operators.keys() == other.operators.keys()
        and one.queries.keys() == other.queries.keys()
        and all(known.moments.keys() == other.queries[name].moments.keys() for name, known in one.queries.items())
    )


def _same_groups(one: Mapping[str, QueryStatistics], other: Mapping[str, QueryStatistics]) -> bool:
    return all(known.groups == other[name].groups for name, known in one.items())


def _amounts(known: NetworkStatistics) -> Iterator[float]:
    for stream in sorted(known.streams):
        yield from _of_stream(known.streams[stream])
    for address in sorted(known.operators):
        yield from _of_operator(known.operators[address])
    for query in sorted(known.queries):
        yield from _of_query(known.queries[query])


def _of_stream(known: StreamStatistics) -> Iterator[float]:
    yield from (known.read_seconds_per_row, known.parse_seconds_per_row)
    yield from (known.event_seconds_per_second, known.rows_per_number)


def _of_operator(known: OperatorStatistics) -> Iterator[float]:
    yield from (known.selectivity, known.seconds_per_row)


def _of_query(known: QueryStatistics) -> Iterator[float]:
    yield from (known.seconds_per_row, known.seconds_per_group)
    for aggregate in sorted(known.moments):
        yield from _of_moments(known.moments[aggregate])


def _of_moments(known: Moments) -> Iterator[float]:
    yield from (known.mean, known.deviation, known.mean_size)
