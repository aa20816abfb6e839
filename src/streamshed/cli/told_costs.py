"""What a run takes from a file of statistics before its first micro-batch: costs, and its first number of workers."""

from __future__ import annotations

from streamshed.control.first_workers import first_workers, known_work
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.run_settings import RunSettings
from streamshed.simulator.network_costs import network_costs, prior_of
from streamshed.statistics.network_statistics import NetworkStatistics


def prior_by(statistics: NetworkStatistics, network: QueryNetwork, run: RunSettings) -> LoadPrior:
    """Return what micro-batches and rows cost: what the run says, else according to statistics.

    Args:
        statistics: Those of all streams; costs do not count as measured where they were measured in vain.
        network: The network, of rows of streams only.
        run: How it is to be run.
    """
    if run.prior is not None:
        return run.prior
    costs = network_costs(network, statistics, trigger_interval_seconds=run.trigger_seconds)
    return prior_of(costs, is_measured=not statistics.unsure_streams)


def workers_by(statistics: NetworkStatistics, network: QueryNetwork, run: RunSettings) -> int | None:
    """Return M, with how many workers a new run begins that is given these statistics ([E] Eq. 2, in time).

    Args:
        statistics: Those of all streams.
        network: The network, of rows of streams only.
        run: How it is to be run.

    Returns:
        None where the number of workers is not the run's to change.
    """
    if run.elastic is None:
        return None
    prior = prior_by(statistics, network, run)
    control = ControlSettings.of(run, unscalable="keep", prior=prior, statistics=statistics).for_network(network)
    return first_workers(
        run.elastic,
        wanted_before=None,
        work=known_work(ControlLoop(network, control, lambda: 0.0).state, control),
        available_seconds=min(control.deadline_seconds, control.trigger_interval_seconds),
    )
