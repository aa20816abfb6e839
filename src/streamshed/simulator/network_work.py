"""What comes for a network in a simulation, and what it takes, according to its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.load_prior import LoadPrior
from streamshed.simulator.costs import TrueCosts
from streamshed.simulator.network_costs import network_costs, prior_of
from streamshed.simulator.network_joins import UsualJoin, network_joins, usual_joins
from streamshed.simulator.profiles import LoadCurve, scaled
from streamshed.simulator.virtual_joins import VirtualJoins
from streamshed.statistics.network_statistics import NetworkStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkWork:
    """A load of a network, and its true costs on one worker.

    Attributes:
        usual_rows_per_second: At 1×, by stream.
        load: What arrives, by stream, from time 0.
        costs: What it costs.
        joins: What joins take besides.
        usual_joins: The same at 1×.
    """

    usual_rows_per_second: Mapping[str, float]
    load: Mapping[str, LoadCurve]
    costs: TrueCosts
    joins: VirtualJoins
    usual_joins: tuple[UsualJoin, ...]

    def prior(self, *, wrong_by: float = 1.0, is_measured: bool = False) -> LoadPrior:
        """Return what a control loop believes of these costs to begin with.

        Args:
            wrong_by: What it believes of a row, divided by the truth.
            is_measured: Whether it takes that for measured.
        """
        share = self._unsheddable_share()
        return prior_of(self.costs, wrong_by=wrong_by, is_measured=is_measured, read_share=share)

    def _unsheddable_share(self) -> float | None:
        """The share that nothing can save of what rows and joins cost at 1×; None: there are no joins."""
        if not self.usual_joins:
            return None
        usual = self.usual_rows_per_second.items()
        whole = sum(rows * self.costs.rows[name].whole_seconds for name, rows in usual)
        sheddable = sum(rows * self.costs.rows[name].work_seconds for name, rows in usual)
        whole += sum(join.full_seconds_per_second for join in self.usual_joins)
        sheddable += sum(join.sheddable_seconds_per_second for join in self.usual_joins)
        return 1 - sheddable / whole


def network_work(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    *,
    factors: LoadCurve,
    times: float,
    trigger_interval_seconds: float,
    noise_deviation: float = 0.0,
    since_seconds: float = 0.0,
) -> NetworkWork:
    """Return what comes under a load, and what it takes.

    Args:
        network: The network.
        statistics: Its statistics, of all streams.
        factors: The load of each stream, times that at 1×.
        times: Rows per second at 1× ÷ those that statistics tell.
        trigger_interval_seconds: How long rows gather.
        noise_deviation: Standard deviation of ln(duration).
        since_seconds: Since when rows wait in the windows of joins, see `VirtualJoin`.
    """
    interval = trigger_interval_seconds
    usual = {stream.name: times * statistics.stream(stream.name).rows_per_second for stream in network.streams}
    costs = network_costs(network, statistics, trigger_interval_seconds=interval, noise_deviation=noise_deviation)
    return NetworkWork(
        usual_rows_per_second=usual,
        load={name: scaled(factors, rows_per_second) for name, rows_per_second in usual.items()},
        costs=costs,
        joins=network_joins(network, statistics, costs, factors=factors, times=times, since_seconds=since_seconds),
        usual_joins=usual_joins(network, statistics, costs, times=times, interval_seconds=interval),
    )
