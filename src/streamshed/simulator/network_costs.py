"""What a network's micro-batches truly cost in a simulation, according to its statistics."""

from __future__ import annotations

from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.load.network_load import network_load
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.statistics.network_statistics import NetworkStatistics

_MOST_READ, _LEAST_READ = 0.99, 0.01
_LEAST_SECONDS = 1e-12


def network_costs(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    *,
    trigger_interval_seconds: float,
    noise_deviation: float = 0.0,
) -> TrueCosts:
    """Return what statistics say that a micro-batch costs on the machine that they are of, which is one worker.

    Args:
        network: The network.
        statistics: Its statistics, of all streams.
        trigger_interval_seconds: How long rows gather: what groups cost depends on it.
        noise_deviation: Standard deviation of ln(duration).
    """
    load = network_load(network, statistics, trigger_interval_seconds=trigger_interval_seconds)
    work = dict.fromkeys((stream.name for stream in network.streams), 0.0)
    streams: list[str] = []
    for node, address in zip(load.tree.nodes, load.addresses, strict=True):
        streams.append(str(address) if node.parent is None else streams[node.parent])
    for stream, seconds in zip(streams, load.tree.node_seconds.tolist(), strict=True):
        work[stream] += seconds
    return TrueCosts(
        fixed_seconds=statistics.fixed_seconds,
        rows={
            stream: RowCost(
                read_seconds=statistics.stream(stream).read_seconds_per_row,
                work_seconds=seconds / max(1.0, statistics.stream(stream).rows_per_second * trigger_interval_seconds),
            )
            for stream, seconds in work.items()
        },
        noise_deviation=noise_deviation,
    )


def prior_of(
    costs: TrueCosts,
    *,
    wrong_by: float = 1.0,
    is_measured: bool = False,
    read_share: float | None = None,
) -> LoadPrior:
    """Return what a control loop believes of costs to begin with: one figure for the rows of all streams.

    Args:
        costs: What is true.
        wrong_by: What it believes of a row, divided by the truth.
        is_measured: Whether it takes that for measured.
        read_share: The share of what rows cost that nothing can save; None: that of a row of each stream.
    """
    whole = usual_row_seconds(costs)
    read = sum(row.read_seconds for row in costs.rows.values()) / len(costs.rows)
    share = read / whole if read_share is None else read_share
    return LoadPrior(
        fixed_seconds=max(costs.fixed_seconds, _LEAST_SECONDS),
        seconds_per_row=whole * wrong_by,
        read_share=min(_MOST_READ, max(_LEAST_READ, share)),
        is_measured=is_measured,
    )


def usual_row_seconds(costs: TrueCosts) -> float:
    """Return what a row of each stream takes on average, above 0."""
    return max(sum(row.whole_seconds for row in costs.rows.values()) / len(costs.rows), _LEAST_SECONDS)
