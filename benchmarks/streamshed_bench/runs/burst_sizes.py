"""How much the benchmark `burst` runs, in full and in short, and how large its burst is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed.traces.load_profile import LoadProfile, LoadStep
from streamshed_bench.runs.run_sizes import CalibrationSizes

BURST_FACTOR = 3.0
HEADROOM = 0.8
"""The share of the time that plans may fill: Spark's noise needs the rest."""

CLUSTER_TRIGGER_SECONDS = 5
"""On a cluster a micro-batch costs more without any row: its tasks go to other processes, and state to each of them."""

CALM_LOAD = 0.6
"""1x is so much of what is sustained within the headroom, so that noise alone does not shed before the burst: at 0.8,
of which the larger part is fixed cost, it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstSizes(CalibrationSizes):
    """How long and how much.

    Args:
        trigger_seconds: The trigger interval.
        before: Micro-batches at 1x before the burst.
        during: Micro-batches of the burst.
        after: Micro-batches at 1x behind it.
        event_speed: Seconds of event time per second of the clock, so that windows of ten minutes come and go.
        file_seconds: Seconds of the clock whose rows make one file.
        runs_unshed: Whether our queries run a second time with nothing shed.
        left_out: What the full benchmark does beyond this.
    """

    trigger_seconds: int
    before: int
    during: int
    after: int
    event_speed: int
    file_seconds: float
    runs_unshed: bool
    left_out: tuple[str, ...] = ()

    @property
    def micro_batches(self) -> int:
        """Trigger intervals of the whole feed."""
        return self.before + self.during + self.after

    @property
    def seconds(self) -> float:
        """How long the feed takes."""
        return float(self.micro_batches * self.trigger_seconds)

    @property
    def burst_seconds(self) -> tuple[float, float]:
        """Begin and end of the burst, seconds since the start of the feed."""
        begin = self.before * self.trigger_seconds
        return float(begin), float(begin + self.during * self.trigger_seconds)

    @property
    def profile(self) -> LoadProfile:
        """The load over event time."""
        micro_batch = self.trigger_seconds * self.event_speed * 1_000_000
        steps = ((self.before, 1.0), (self.during, BURST_FACTOR), (self.after, 1.0))
        return LoadProfile(
            steps=tuple(LoadStep(duration_microseconds=count * micro_batch, factor=factor) for count, factor in steps)
        )


FULL = BurstSizes(
    trigger_seconds=2,
    before=20,
    during=20,
    after=20,
    event_speed=10,
    file_seconds=0.5,
    calibration_rows_per_file=100_000,
    calibration_warm_up=30,
    calibration_files=(2, 12),
    calibration_rounds=8,
    runs_unshed=True,
)
QUICK = replace(
    FULL,
    before=3,
    during=3,
    after=3,
    event_speed=20,
    calibration_warm_up=12,
    calibration_rounds=2,
    runs_unshed=False,
    left_out=(
        "51 of 60 micro-batches, so the 95th percentile is of fewer than 40",
        "the same queries with nothing shed, beside ours and plain Spark",
    ),
)
