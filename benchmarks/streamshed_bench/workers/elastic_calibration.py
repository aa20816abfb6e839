"""The simulator beside the real runs of the benchmark `elastic`: the same load on what was measured of the cluster."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from streamshed.control.settings import ControlSettings
from streamshed.elasticity.pieces import Pieces
from streamshed.network.run.load_prior import LoadPrior
from streamshed.simulator.cluster import ClusterSettings, ended, piece_shares
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.course import Course
from streamshed.simulator.profiles import LoadCurve, steps
from streamshed.simulator.scenario import Scenario, run_scenario
from streamshed_bench.workers.elastic_network import waiting_network
from streamshed_bench.workers.elastic_runs import EARLY_SECONDS, READ_SHARE, elastic_settings
from streamshed_bench.workers.elastic_sizes import (
    CALM_DEMAND,
    GOAL_TRIGGERS,
    LOADS,
    MOST_WORKERS,
    PARTITIONS,
    WAYS,
    ElasticSizes,
)

Row = Mapping[str, Any]

_Observation = tuple[float, ...]
"""How many rows a micro-batch took, and what is compared of it."""

_COMPARED = ("delay_seconds", "sampling_rate", "load")

_WARM_TRIGGERS = 2
_NOISE = 0.03
_HALVINGS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was measured of a run.

    Attributes:
        fixed_seconds: What a micro-batch took beside waiting for its rows, at the median.
        held_up_seconds: How much longer than expected the one took during which workers started.
        start_seconds: How long workers took to start, if they came in time to help with the one that was under way;
            else what the controller believed of it.
    """

    fixed_seconds: float
    held_up_seconds: float
    start_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far a simulation is off a run.

    Attributes:
        steps: Per load step, the medians of the run and of the simulation, by name: delay, sampling rate, load. One
            whose rows were all taken together with more of another is left out.
        p95_delay_seconds: The 95th percentile of delays, of the run and of the simulation.
    """

    steps: Sequence[Mapping[str, tuple[float, float]]]
    p95_delay_seconds: tuple[float, float]

    @property
    def step_error(self) -> float:
        """The largest relative difference of any of the medians."""
        return max(_difference(*pair) for step in self.steps for pair in step.values())

    @property
    def p95_error(self) -> float:
        """The relative difference of the 95th percentiles."""
        return _difference(*self.p95_delay_seconds)


def calibration(rows: Sequence[Row], sizes: ElasticSizes, way: str) -> Calibration:
    """Simulate what was run, and compare.

    Args:
        rows: The run's journal, from the first fed trigger interval on.
        sizes: What was fed.
        way: Who decided.
    """
    sheds = WAYS[way][1]
    course = simulated(facts_of(rows, sizes, sheds=sheds), sizes, way)
    run = [(row["offered_rows"], row["delay_seconds"], _sampling_rate(row, sheds=sheds), _load(row)) for row in rows]
    simulation = [
        (moment.offered_rows, moment.latency_seconds, 1 - moment.shed_share, moment.offered_utilization)
        for moment in course.moments
    ]
    real, virtual = _by_step(run, sizes), _by_step(simulation, sizes)
    return Calibration(
        steps=[
            {
                name: (_median(ran, place), _median(simulated_step, place))
                for place, name in enumerate(_COMPARED, start=1)
            }
            for ran, simulated_step in zip(real, virtual, strict=True)
            if ran and simulated_step
        ],
        p95_delay_seconds=(_p95(real), _p95(virtual)),
    )


def facts_of(rows: Sequence[Row], sizes: ElasticSizes, *, sheds: bool) -> Facts:
    """Return the facts of a cluster, from micro-batches whose workers neither changed nor were about to."""
    steady = [
        row
        for before, row in pairwise(rows)
        if row["workers_running"] == before["workers_running"] == row["workers_wanted"]
    ]
    fixed = [row["processing_seconds"] - _waited(row, sizes, sheds=sheds) for row in steady]
    fixed_seconds = max(0.01, median(fixed))
    helped = [row for row in _asking(rows) if row["processing_seconds"] < row["expected_seconds"]]
    return Facts(
        fixed_seconds=fixed_seconds,
        held_up_seconds=held_up_seconds(rows),
        start_seconds=median(started_after(row, fixed_seconds) for row in helped) if helped else sizes.start_seconds,
    )


def held_up_seconds(rows: Sequence[Row]) -> float:
    """Return how much longer than expected the micro-batch took during which workers started; 0: they helped it."""
    excess = [float(row["processing_seconds"] - row["expected_seconds"]) for row in _asking(rows)]
    return max([0.0, *excess])


def started_after(row: Row, fixed_seconds: float) -> float:
    """Return how long workers took to start that were asked for as a micro-batch began and helped to finish it.

    Args:
        row: Of the journal.
        fixed_seconds: What the micro-batch took beside its rows.

    Example:
        Three pieces of ten seconds each, and two workers that take one each as soon as they come.

        >>> row = {"processing_seconds": 26.0, "expected_seconds": 32.0, "workers_running": 1, "workers_wanted": 3}
        >>> round(started_after(row, 2.0), 2)
        14.0
    """
    took, alone = (row[name] - fixed_seconds for name in ("processing_seconds", "expected_seconds"))
    pieces = piece_shares(PARTITIONS, 0.0) * alone
    running, coming = int(row["workers_running"]), int(row["workers_wanted"] - row["workers_running"])
    early, late = 0.0, alone
    for _ in range(_HALVINGS):
        middle = (early + late) / 2
        begins = np.concatenate((np.zeros(running), np.full(coming, middle)))
        early, late = (middle, late) if ended(begins, pieces) <= took else (early, middle)
    return early


def _asking(rows: Sequence[Row]) -> list[Row]:
    """The micro-batches at whose begin more workers were asked for."""
    return [row for row in rows if row["workers_wanted"] > row["workers_running"] + row["workers_starting"]]


def simulated(facts: Facts, sizes: ElasticSizes, way: str) -> Course:
    """Simulate the load steps on a cluster of which these facts are true, without rows at first."""
    controller, sheds = WAYS[way]
    trigger, seconds_per_row = float(sizes.trigger_seconds), sizes.seconds_per_row
    elastic = elastic_settings(sizes, controller)
    begins = _WARM_TRIGGERS * trigger
    of_steps = zip(_edges(sizes), LOADS, strict=True)
    points = [(0.0, 0.0), *((begins + start, load * CALM_DEMAND / seconds_per_row) for (start, _), load in of_steps)]
    # Files of each interval come as it ends.
    seconds = begins + (sizes.triggers + 1) * trigger
    load = in_lumps(steps(tuple(points)), every_seconds=trigger, until_seconds=seconds, within_seconds=EARLY_SECONDS)
    read = READ_SHARE * seconds_per_row
    costs = TrueCosts(
        fixed_seconds=facts.fixed_seconds,
        rows={"events": RowCost(read_seconds=read, work_seconds=seconds_per_row - read)},
        noise_deviation=_NOISE,
    )
    prior = LoadPrior(fixed_seconds=facts.fixed_seconds, seconds_per_row=seconds_per_row, read_share=READ_SHARE)
    scenario = Scenario(
        network=waiting_network(Path("events"), sizes),
        load={"events": load},
        seconds=seconds,
        costs=costs,
        control=ControlSettings(
            trigger_interval_seconds=trigger,
            latency_seconds=GOAL_TRIGGERS * trigger,
            advisory=not sheds,
            prior=prior,
        ),
        elastic=replace(elastic, limits=replace(elastic.limits, partitions=PARTITIONS)),
        cluster=ClusterSettings(
            running=1,
            most=MOST_WORKERS,
            partitions=PARTITIONS,
            start_seconds=facts.start_seconds,
            start_work_seconds=facts.held_up_seconds,
        ),
        controller=controller,
    )
    return run_scenario(scenario)


def _edges(sizes: ElasticSizes) -> Iterator[tuple[float, float]]:
    start = 0.0
    for count in sizes.step_triggers:
        end = start + count * sizes.trigger_seconds
        yield start, end
        start = end


def _sampling_rate(row: Row, *, sheds: bool) -> float:
    return float(row["sampling_rate"]) if sheds else 1.0


def _load(row: Row) -> float:
    return float(row["offered_utilization"])


def _waited(row: Row, sizes: ElasticSizes, *, sheds: bool) -> float:
    """How long the busiest worker waited for rows."""
    rows = row["offered_rows"] * _sampling_rate(row, sheds=sheds)
    return float(rows * sizes.seconds_per_row / Pieces(PARTITIONS).effective_workers(int(row["workers_running"])))


def _by_step(micro_batches: Sequence[_Observation], sizes: ElasticSizes) -> list[list[_Observation]]:
    """Micro-batches by the load step in which the middle one of their rows was fed; rows come in the order of feeding.

    The time of a micro-batch would not do: where steps meet, a second would change its step.
    """
    of_steps = zip(LOADS, sizes.step_triggers, strict=True)
    fed = list(accumulate(PARTITIONS * sizes.file_rows(load) * count for load, count in of_steps))
    steps_of: list[list[_Observation]] = [[] for _ in fed]
    taken = 0.0
    for micro_batch in micro_batches:
        middle, taken = taken + micro_batch[0] / 2, taken + micro_batch[0]
        if micro_batch[0] and middle < fed[-1]:
            steps_of[bisect_right(fed, middle)].append(micro_batch)
    return steps_of


def _median(micro_batches: Sequence[_Observation], place: int) -> float:
    return median(micro_batch[place] for micro_batch in micro_batches)


def _p95(by_step: Sequence[Sequence[_Observation]]) -> float:
    return float(np.quantile([one[1] for one in chain.from_iterable(by_step)], 0.95))


def _difference(reference: float, other: float) -> float:
    return abs(other / reference - 1)


def calibration_figures(calibrations: Mapping[str, Calibration]) -> dict[str, float]:
    """Return the figures of all ways."""
    figures = {}
    for way, comparison in calibrations.items():
        figures[f"{way}_simulated_step_error"] = comparison.step_error
        figures[f"{way}_simulated_p95_error"] = comparison.p95_error
    return figures


def in_lumps(profile: LoadCurve, *, every_seconds: float, until_seconds: float, within_seconds: float) -> LoadCurve:
    """Return a load whose rows of an interval come together at its end, as in files.

    Args:
        profile: When rows would come by themselves.
        every_seconds: How long the intervals are, the first from time 0.
        until_seconds: How far to look; nothing comes behind it.
        within_seconds: How long before the end of an interval its rows come, shorter than that.

    Example:
        >>> from streamshed.simulator.profiles import constant
        >>> lumps = in_lumps(constant(50), every_seconds=10, until_seconds=20, within_seconds=0.5)
        >>> [round(lumps.rows_before(time), 6) for time in (9.5, 10, 19.5, 20, 99)]
        [0.0, 500.0, 500.0, 1000.0, 1000.0]
    """
    levels = [(0.0, 0.0)]
    for end in (every_seconds * number for number in range(1, int(until_seconds / every_seconds) + 1)):
        rows = profile.rows_before(end) - profile.rows_before(end - every_seconds)
        levels += [(end - within_seconds, rows / within_seconds), (end, 0.0)]
    return steps(levels)
