"""So many micro-batches of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from streamshed.simulator.costs import TrueCosts
from streamshed.simulator.engine import Controller, EngineSettings, SimulatedMicroBatch, simulated_micro_batches
from streamshed.simulator.profiles import LoadCurve


def simulate(
    controller: Controller,
    *,
    load: Mapping[str, LoadCurve],
    costs: TrueCosts,
    settings: EngineSettings,
    micro_batches: int,
) -> tuple[SimulatedMicroBatch, ...]:
    """Run a controller against a load, and return what happened in the first micro-batches."""
    running = simulated_micro_batches(controller, load=load, costs=costs, settings=settings)
    return tuple(islice(running, micro_batches))
