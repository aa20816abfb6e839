"""From what `streamshed simulate` is asked to a scenario, and to what became of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamshed.cli.run_overrides import overridden
from streamshed.cli.simulated_load import SimulatedLoad, read_load
from streamshed.control.settings import ControlSettings
from streamshed.dashboard.simulated_network import SimulatedNetwork
from streamshed.elasticity.deployment import workers_to_deploy
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.errors import InvalidNetworkError, InvalidStatisticsError
from streamshed.network.document.document import NetworkDocument
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.words.wording import seconds_text
from streamshed.simulator.cluster import ClusterSettings
from streamshed.simulator.engine import EngineSettings
from streamshed.simulator.network_work import NetworkWork, network_work
from streamshed.simulator.scenario import Scenario, run_scenario
from streamshed.statistics.network_statistics import NetworkStatistics
from streamshed.traces.errors import InvalidLoadProfileError

_MOST_SHED_THRESHOLD = 0.99
"""A headroom of 1 leaves no room for the threshold of adding workers."""

_MOST_WORKERS = 16
"""As many as there may be where nobody says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """What the options of `streamshed simulate` say; durations in microseconds, None is what was not said."""

    load: str
    workers: tuple[int, int] | None
    controller: str | None
    shed: bool
    time_column: str
    start: int | None
    move: int
    skew: float
    divisible: bool
    noise: float
    stragglers: float
    failures: float
    wrong_by: float
    seed: int
    is_measured: bool
    costs_are_guessed: bool = False
    initial: int | None = None
    thresholds: Thresholds | None = None
    rows_per_second: float | None = None
    duration: int | None = None
    trigger: str | None = None
    latency: str | None = None
    headroom: float | None = None
    partitions: int | None = None
    max_age: str | None = None
    down: tuple[int, int] | None = None

    @property
    def run_settings(self) -> dict[str, str | float | None]:
        """What was said of the run, by the names of `RunSettings`."""
        return {
            "trigger": self.trigger,
            "latency": self.latency,
            "headroom": self.headroom,
            "max_age": self.max_age,
        }

    @property
    def outages(self) -> Sequence[tuple[float, float]]:
        """From when until when nothing runs, seconds."""
        if self.down is None:
            return ()
        at, lasts = self.down
        return [(at / 1e6, (at + lasts) / 1e6)]


def simulated(
    document: NetworkDocument,
    statistics: NetworkStatistics,
    request: SimulationRequest,
    *,
    progress: Callable[[float], None],
) -> SimulatedNetwork:
    """Run what was asked for.

    Args:
        document: The network, and how it is to be run.
        statistics: Its statistics.
        request: What was asked.
        progress: Told the share that is done, in [0, 1].

    Raises:
        InvalidElasticityError: Workers or thresholds cannot be.
        InvalidNetworkError: Trigger, latency and headroom do not go together, or tasks differ whose number nobody says.
        InvalidLoadProfileError: The load cannot be read, or is never at its largest.
        InvalidStatisticsError: No rows come, or what is fixed takes all of the time.
    """
    load = read_load(request.load, time=request.time_column)
    seconds = _seconds_with_peak(load, request.duration)
    network, run = document.network.foundation, _run(document.run, request)
    interval, elastic = run.trigger_seconds, run.elastic or ElasticSettings()
    work = _work(network, statistics, request, load, interval)
    control = _control_settings(run, request, statistics, work)
    fitting = _initial(work, load, seconds, control, elastic)
    scenario = Scenario(
        network=network,
        load=work.load,
        seconds=seconds,
        costs=work.costs,
        control=control,
        elastic=elastic,
        cluster=_cluster_settings(elastic, request, running=request.initial or fitting),
        controller=elastic.controller,
        engine=EngineSettings(trigger_interval_seconds=interval, outages=request.outages, seed=request.seed),
        joins=work.joins,
    )
    return SimulatedNetwork(
        course=run_scenario(scenario, progress=progress),
        load=load.name,
        rows_per_second=sum(work.usual_rows_per_second.values()),
        controller=elastic.controller,
        elastic=elastic,
        initial_workers=scenario.cluster.running,
        costs_are_guessed=request.costs_are_guessed,
        joins=work.usual_joins,
    )


def _work(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    request: SimulationRequest,
    load: SimulatedLoad,
    interval_seconds: float,
) -> NetworkWork:
    return network_work(
        network,
        statistics,
        factors=load.factors,
        times=_times_known(statistics, network, request, load),
        trigger_interval_seconds=interval_seconds,
        noise_deviation=request.noise,
    )


def _seconds_with_peak(load: SimulatedLoad, duration: int | None) -> float:
    """How long to simulate, so that shapes and steps are at their largest; of a recording any part may be looked at."""
    seconds = load.seconds if duration is None else duration / 1e6
    peak_seconds = load.factors.peak_seconds
    if load.rows_per_second is None and seconds <= peak_seconds:
        raise InvalidLoadProfileError(
            f"load {load.name}: it is at its largest after {seconds_text(peak_seconds)}, and the simulation is to last"
            f" {seconds_text(seconds)}: give a longer --duration or none ({seconds_text(load.seconds)}), or write the"
            " load in steps, such as 1x:60s,3x:60s"
        )
    return seconds


def _control_settings(
    run: RunSettings, request: SimulationRequest, statistics: NetworkStatistics, work: NetworkWork
) -> ControlSettings:
    prior = work.prior(wrong_by=request.wrong_by, is_measured=request.is_measured and request.wrong_by == 1)
    return ControlSettings.of(run, advisory=not request.shed, unscalable="keep", prior=prior, statistics=statistics)


def _cluster_settings(elastic: ElasticSettings, request: SimulationRequest, *, running: int) -> ClusterSettings:
    return ClusterSettings(
        running=running,
        most=elastic.limits.most or _MOST_WORKERS,
        partitions=elastic.limits.partitions,
        partition_skew=request.skew,
        is_divisible=request.divisible,
        start_seconds=elastic.start_seconds,
        start_work_seconds=elastic.held_up_seconds,
        move_seconds=request.move / 1e6,
        straggler_share=request.stragglers,
        failures_per_worker_day=request.failures,
        seed=request.seed,
    )


def _run(settings: RunSettings, request: SimulationRequest) -> RunSettings:
    """How the network is run: as the document says, except where an option says otherwise."""
    # Headroom first, since thresholds go by it where nothing is said of them.
    plain = overridden(replace(settings, elastic=None), request.run_settings)
    elastic = settings.elastic or ElasticSettings(thresholds=Thresholds(shed=min(plain.headroom, _MOST_SHED_THRESHOLD)))
    return replace(plain, elastic=_overridden_elastic(elastic, request))


def _overridden_elastic(elastic: ElasticSettings, request: SimulationRequest) -> ElasticSettings:
    limits = elastic.limits
    least, most = request.workers or (
        limits.least,
        limits.most or max(limits.least, request.partitions or limits.partitions or _MOST_WORKERS),
    )
    partitions = request.partitions or limits.partitions
    if partitions is None and (request.skew or request.divisible):
        raise InvalidNetworkError(
            "--skew and --divisible say how the work of tasks differs, but nothing says how many tasks there are: give"
            " --partitions, or elastic.partitions in the document"
        )
    return replace(
        elastic,
        thresholds=request.thresholds or elastic.thresholds,
        limits=WorkerLimits(least=least, most=most, partitions=partitions),
        start_seconds=elastic.start_seconds if request.start is None else request.start / 1e6,
        controller=request.controller or elastic.controller,
    )


def _times_known(
    statistics: NetworkStatistics, network: QueryNetwork, request: SimulationRequest, load: SimulatedLoad
) -> float:
    """Rows per second at 1× ÷ those of the statistics, the same for each stream."""
    total = sum(statistics.stream(stream.name).rows_per_second for stream in network.streams)
    if not (math.isfinite(total) and total > 0):
        raise InvalidStatisticsError(
            "a simulation: the statistics tell of no rows per second, so there is no load: give --rows-per-second and"
            " statistics of a run that had rows"
        )
    target_rows_per_second = request.rows_per_second or load.rows_per_second or total
    return target_rows_per_second / total


def _initial(
    work: NetworkWork, load: SimulatedLoad, seconds: float, control: ControlSettings, elastic: ElasticSettings
) -> int:
    """M for the mean load, within the limits."""
    interval, costs = control.trigger_interval_seconds, work.costs
    factor = interval * load.factors.rows_before(seconds) / seconds
    whole = {name: round(factor * rows) for name, rows in work.usual_rows_per_second.items()}
    micro_batches = seconds / interval
    joining = sum(one.full for one in work.joins.full_seconds(seconds, micro_batches=micro_batches)) / micro_batches
    return workers_to_deploy(
        shared_seconds=joining + costs.row_seconds(whole, dict.fromkeys(whole, 1.0), 0.0),
        fixed_seconds=costs.fixed_seconds,
        available_seconds=min(interval, control.deadline_seconds),
        thresholds=elastic.thresholds,
        limits=elastic.limits,
    )
