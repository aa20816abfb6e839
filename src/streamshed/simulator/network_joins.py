"""What the joins of a network take in a simulation, according to its statistics."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.load.join_outlook import JoinOutlook, join_outlooks
from streamshed.simulator.costs import TrueCosts
from streamshed.simulator.network_costs import usual_row_seconds
from streamshed.simulator.profiles import LoadCurve, constant, scaled
from streamshed.simulator.virtual_join import VirtualJoin
from streamshed.simulator.virtual_joins import VirtualJoins
from streamshed.statistics.join_statistics import JoinStatistics
from streamshed.statistics.network_statistics import NetworkStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualJoin:
    """What a join takes at 1×, once its windows are full, nothing shed.

    Attributes:
        join: The name of the stream of its results.
        comparisons_per_second: Pairs of right lag, whatever an index saves of them.
        overhead_seconds_per_second: What the join takes of a worker beside comparisons.
        comparing_seconds_per_second: What these take.
        is_sheddable: Whether it may be done in part.
    """

    join: str
    comparisons_per_second: float
    overhead_seconds_per_second: float
    comparing_seconds_per_second: float
    is_sheddable: bool

    @property
    def sheddable_seconds_per_second(self) -> float:
        """What of it may be shed."""
        return self.comparing_seconds_per_second if self.is_sheddable else 0.0

    @property
    def full_seconds_per_second(self) -> float:
        """All of it."""
        return self.overhead_seconds_per_second + self.comparing_seconds_per_second


def network_joins(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    costs: TrueCosts,
    *,
    factors: LoadCurve,
    times: float = 1.0,
    since_seconds: float = 0.0,
) -> VirtualJoins:
    """Return the joins of a network under a load.

    Args:
        network: The network.
        statistics: Its statistics; of sides, what is not known is guessed.
        costs: What all else truly costs.
        factors: The load, times that at 1×.
        times: Rows per second at 1× ÷ those that statistics tell.
        since_seconds: Since when rows come, see `VirtualJoin`.
    """
    outlooks = join_outlooks(network, statistics)
    return VirtualJoins(
        joins=tuple(
            _virtual_join(outlook, scaled(factors, times), statistics.join(outlook.join), since_seconds)
            for outlook in outlooks
        ),
        row_seconds={outlook.join: costs.rows[outlook.join].whole_seconds for outlook in outlooks},
        unit_seconds=usual_row_seconds(costs),
    )


def usual_joins(
    network: QueryNetwork, statistics: NetworkStatistics, costs: TrueCosts, *, times: float, interval_seconds: float
) -> tuple[UsualJoin, ...]:
    """Tell what joins take at 1×.

    Args:
        network: As in `network_joins`.
        statistics: Likewise.
        costs: Likewise.
        times: Likewise.
        interval_seconds: How often a micro-batch starts.
    """
    joins = network_joins(network, statistics, costs, factors=constant(1.0), times=times).joins
    return tuple(_usual(join, interval_seconds) for join in joins)


def _usual(join: VirtualJoin, interval_seconds: float) -> UsualJoin:
    full_since = max(join.left_window_seconds, join.right_window_seconds)
    until = full_since + interval_seconds
    seconds = join.seconds(full_since, until)
    return UsualJoin(
        join=join.stream,
        comparisons_per_second=join.comparisons(full_since, until) / interval_seconds,
        overhead_seconds_per_second=seconds.overhead / interval_seconds,
        comparing_seconds_per_second=seconds.comparing / interval_seconds,
        is_sheddable=join.is_sheddable,
    )


def _virtual_join(
    outlook: JoinOutlook, load: LoadCurve, statistics: JoinStatistics, since_seconds: float
) -> VirtualJoin:
    speed = outlook.event_seconds_per_second
    return VirtualJoin(
        stream=outlook.join,
        left=scaled(load, outlook.left_rows_per_second),
        right=scaled(load, outlook.right_rows_per_second),
        left_window_seconds=outlook.left_window_seconds / speed,
        right_window_seconds=outlook.right_window_seconds / speed,
        basic_windows=outlook.left_basic_windows + outlook.right_basic_windows,
        is_sheddable=outlook.is_sheddable,
        statistics=statistics,
        since_seconds=since_seconds,
    )
