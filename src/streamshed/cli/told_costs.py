"""What a file of statistics tells a run before its first micro-batch: costs, and with how many workers to begin."""

from __future__ import annotations

from streamshed.control.first_workers import first_workers, known_work
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.network import QueryNetwork
from streamshed.network.run_settings import RunSettings
from streamshed.simulator.network_costs import network_costs, prior_of
from streamshed.statistics.load_prior import LoadPrior
from streamshed.statistics.network_statistics import NetworkStatistics


def told_prior(network: QueryNetwork, known: NetworkStatistics, run: RunSettings) -> LoadPrior:
    """Return what micro-batches and rows cost, according to statistics.

    Args:
        network: The network, of rows of streams only.
        known: Its statistics, of all streams; costs do not count as measured where they were measured in vain.
        run: How it is to be run.
    """
    costs = network_costs(network, known, trigger_interval_seconds=run.trigger_microseconds / 1e6)
    return prior_of(costs, is_measured=not known.unsure_streams)


def told_workers(network: QueryNetwork, known: NetworkStatistics, run: RunSettings) -> int | None:
    """Return M, with how many workers a new run begins that is given these statistics ([E] Eq. 2, in time).

    Args:
        network: The network, of rows of streams only.
        known: Its statistics, of all streams.
        run: How it is to be run.

    Returns:
        None where the number of workers is not the run's to change.
    """
    if run.elastic is None:
        return None
    latency = run.latency_microseconds
    control = ControlSettings(
        trigger_interval_seconds=run.trigger_microseconds / 1e6,
        latency_seconds=None if latency is None else latency / 1e6,
        headroom=run.headroom,
        unscalable="keep",
        prior=told_prior(network, known, run),
        statistics=known,
    )
    return first_workers(
        run.elastic,
        wanted_before=None,
        work=known_work(ControlLoop(network, control, lambda: 0.0).state, control),
        available_seconds=min(control.deadline_seconds, control.trigger_interval_seconds),
    )
