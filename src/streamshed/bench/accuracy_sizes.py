"""How much the benchmark `accuracy` runs, in full and in short."""

from __future__ import annotations

from collections.abc import Sequence
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
        compared_from: Loads below this one are run with the default policy alone: at load 1 nothing is shed by any.
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
    compared_from: float = 0.0
    left_out: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        """How long a run is fed."""
        return (self.warm_up + self.micro_batches) * self.trigger_seconds

    def runs(self, policies: Sequence[str], default: str) -> list[tuple[str, float]]:
        """Return what is run, by policy and load, load by load."""
        return [
            (policy, load)
            for load in self.loads
            for policy in policies
            if load >= self.compared_from or policy == default
        ]

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
    calibration_files=(2, 40),
    calibration_rounds=6,
)
QUICK = AccuracySizes(
    loads=(1.0, 5.0),
    trigger_seconds=3,
    warm_up=3,
    micro_batches=5,
    file_seconds=0.5,
    calibration_rows_per_file=5_000,
    calibration_warm_up=8,
    calibration_files=(2, 40),
    calibration_rounds=2,
    compared_from=5.0,
    left_out=(
        "loads 2, 3 and 4",
        "policies uniform and hoeffding at load 1, where nothing is shed",
        "15 of 20 micro-batches of each run",
    ),
)
