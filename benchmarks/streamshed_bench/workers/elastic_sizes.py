"""How large the benchmark `elastic` is."""

from __future__ import annotations

from dataclasses import dataclass, replace

PARTITIONS = 3
MOST_WORKERS = 3
WORKER_MEMORY = "700m"
EXECUTOR_MEMORY = "512m"
CALM_DEMAND = 0.26
"""The load 1: so much of one worker's time its rows are waited for."""

LOADS = (1.0, 3.0, 6.0, 1.0)

GOAL_TRIGGERS = 3
"""The latency goal, in trigger intervals: one to wait, one for the micro-batch, one for workers that start beside it.

They start on the cores that all share here, and are cold.
"""

WAYS = {
    "predictive": ("predictive", True),
    "thresholds": ("thresholds", True),
    "shedding_only": ("fixed", True),
    "scaling_only": ("predictive", False),
    "thresholds_on_offered": ("thresholds_on_offered", True),
}
"""Who decides on workers, and whether load may be shed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticSizes:
    """How long it is fed, and what it is asked.

    Args:
        trigger_seconds: How often micro-batches start.
        step_triggers: How many of them each load lasts for.
        seconds_per_row: How long a row is waited for.
        start_seconds: How long a worker is expected to take to start.
        held_up_seconds: How much longer a micro-batch is expected to take during which workers start.
        rescale_price_seconds: What a rescale is worth.
        lasting_seconds: How long load must be high, or low, before it counts.
        ways: Which of `WAYS` are run.
        left_out: What a short run leaves out.
    """

    trigger_seconds: int
    step_triggers: tuple[int, ...]
    seconds_per_row: float
    start_seconds: float
    rescale_price_seconds: float
    lasting_seconds: float
    held_up_seconds: float = 0.0
    ways: tuple[str, ...] = tuple(WAYS)
    left_out: tuple[str, ...] = ()

    @property
    def triggers(self) -> int:
        """How many micro-batches are fed."""
        return sum(self.step_triggers)

    @property
    def loads(self) -> tuple[float, ...]:
        """The load of each of them."""
        return tuple(load for load, count in zip(LOADS, self.step_triggers, strict=True) for _ in range(count))

    def file_rows(self, load: float) -> int:
        """Return how many rows one of the files of a trigger holds."""
        return max(1, round(load * CALM_DEMAND * self.trigger_seconds / self.seconds_per_row / PARTITIONS))


FULL = ElasticSizes(
    trigger_seconds=10,
    step_triggers=(3, 8, 8, 8),
    seconds_per_row=0.002,
    start_seconds=10.0,
    rescale_price_seconds=8.0,
    lasting_seconds=30.0,
)
REHEARSAL_TRIGGERS = (1, 5, 0, 0)
"""Long enough for one rescale."""

QUICK = replace(
    FULL,
    step_triggers=(2, 5, 5, 8),
    lasting_seconds=20.0,
    ways=("predictive", "thresholds", "shedding_only", "scaling_only"),
    left_out=("steps as long as for a run that is kept", "the controller thresholds_on_offered"),
)
