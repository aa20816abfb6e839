"""How much the benchmark `accuracy` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracySizes:
    """How long and how much.

    Args:
        loads: Load factors: 1 is what is sustained within the headroom, nothing shed.
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


FULL = AccuracySizes(
    loads=(1.0, 2.0, 3.0, 4.0, 5.0),
    trigger_seconds=3,
    warm_up=8,
    micro_batches=20,
    file_seconds=0.5,
    calibration_rows_per_file=5_000,
    calibration_warm_up=20,
    calibration_files=(2, 10),
    calibration_rounds=6,
)
QUICK = AccuracySizes(
    loads=(1.0, 5.0),
    trigger_seconds=3,
    warm_up=4,
    micro_batches=6,
    file_seconds=0.5,
    calibration_rows_per_file=5_000,
    calibration_warm_up=8,
    calibration_files=(2, 10),
    calibration_rounds=2,
    left_out=("loads 2, 3 and 4", "14 of 20 micro-batches of each run"),
)
