"""How much the benchmark `windows` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsSizes:
    """How long and how much.

    Args:
        loads: Load factors at which recordings are replayed: 1 is what is sustained within the headroom.
        window_sizes: ω of the runs of [T06] Figure 12, in tenths of a second, tumbling.
        slides: δ of those of Figure 13, in tenths of a second, ω being the largest of them.
        selectivities: Of Table 4: what window drop costs while nothing is dropped.
        trigger_seconds: The trigger interval.
        warm_up: Micro-batches at the beginning of a run that do not count.
        micro_batches: Those that do.
        file_seconds: Seconds whose rows make one file.
        calibration_rows_per_file: Rows of a file while the machine is calibrated.
        calibration_warm_up: Micro-batches of `calibration_files[0]` files that do not count.
        calibration_files: Files of the micro-batches that do, in turn.
        calibration_rounds: How many turns.
        left_out: What the full benchmark does beyond this.
    """

    loads: tuple[float, ...]
    window_sizes: tuple[int, ...]
    slides: tuple[int, ...]
    selectivities: tuple[float, ...]
    trigger_seconds: int
    warm_up: int
    micro_batches: int
    file_seconds: float
    calibration_rows_per_file: int
    calibration_warm_up: int
    calibration_files: tuple[int, ...]
    calibration_rounds: int
    left_out: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        """How long a run is fed."""
        return (self.warm_up + self.micro_batches) * self.trigger_seconds

    @property
    def calibration_file_count(self) -> int:
        """Files that are staged to calibrate."""
        turn = sum(self.calibration_files)
        return self.calibration_warm_up * self.calibration_files[0] + self.calibration_rounds * turn


FULL = WindowsSizes(
    loads=(1.0, 2.0, 5.0, 10.0),
    window_sizes=(20, 60, 100),
    slides=(20, 25, 50, 100),
    selectivities=(1.0, 0.5),
    trigger_seconds=3,
    warm_up=6,
    micro_batches=20,
    file_seconds=0.25,
    calibration_rows_per_file=5_000,
    calibration_warm_up=12,
    calibration_files=(2, 60),
    calibration_rounds=6,
)
QUICK = WindowsSizes(
    loads=(1.0, 5.0),
    window_sizes=(),
    slides=(),
    selectivities=(),
    trigger_seconds=3,
    warm_up=4,
    micro_batches=10,
    file_seconds=0.25,
    calibration_rows_per_file=5_000,
    calibration_warm_up=6,
    calibration_files=(2, 60),
    calibration_rounds=2,
    left_out=(
        "Figures 12 and 13, Table 4",
        "all recordings but the first",
        "loads 2 and 10",
        "10 of 20 micro-batches",
    ),
)
