"""How much the benchmark `goodput` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed_bench.runs.run_sizes import CalibrationSizes

BASE_LOAD = 0.5
"""Files are staged at this load; a higher one is so many copies of each, so every load is a multiple of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputSizes(CalibrationSizes):
    """Loads, one after the other in one run, and how long each lasts.

    Args:
        networks: Names of the networks that are measured.
        loads: Multiples of what the machine sustains; 1 is among them.
        trigger_seconds: The trigger interval.
        settling: Micro-batches at the beginning of each load that do not count.
        counted: Those that do.
        event_speed: Seconds of event time per second of the clock.
        file_seconds: Seconds of the clock whose rows make one file.
        left_out: What the full benchmark measures beyond this.
    """

    networks: tuple[str, ...]
    loads: tuple[float, ...]
    trigger_seconds: int
    settling: int
    counted: int
    event_speed: int
    file_seconds: float
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        odd = [load for load in self.loads if load % BASE_LOAD]
        if odd or 1.0 not in self.loads:
            raise ValueError(f"loads must be multiples of {BASE_LOAD:g}, with 1 among them, got {self.loads}")

    @property
    def load_seconds(self) -> float:
        """How long each load lasts."""
        return float((self.settling + self.counted) * self.trigger_seconds)

    @property
    def seconds(self) -> float:
        """How long the feed takes."""
        return self.load_seconds * len(self.loads)

    def copies_at(self, clock_seconds: float) -> int:
        """How many copies of a file come that holds what happens at this time of the feed.

        Example:
            >>> QUICK.copies_at(0.0), QUICK.copies_at(QUICK.seconds - 0.1)
            (2, 20)
        """
        return round(self.loads[min(int(clock_seconds / self.load_seconds), len(self.loads) - 1)] / BASE_LOAD)


FULL = GoodputSizes(
    networks=("demo", "network_monitor", "packets_json", "fares"),
    loads=(0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0),
    trigger_seconds=2,
    settling=5,
    counted=15,
    event_speed=10,
    file_seconds=0.5,
    calibration_rows_per_file=100_000,
    calibration_warm_up=30,
    calibration_files=(2, 12),
    calibration_rounds=8,
)
QUICK = replace(
    FULL,
    networks=("packets_json",),
    loads=(1.0, 3.0, 10.0),
    settling=3,
    counted=7,
    calibration_warm_up=8,
    calibration_rounds=2,
    left_out=(
        "the networks of the demo, of network_monitor and of fares",
        "loads 0.5, 1.5, 2, 5, 20 and 50",
        "8 of 15 micro-batches of each load: the 95th percentile is the largest",
    ),
)
