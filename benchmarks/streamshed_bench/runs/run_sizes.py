"""How long a benchmark feeds a run in real time, and how much it calibrates on before."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSizes:
    """How much is measured to find out what the machine sustains.

    Args:
        calibration_rows_per_file: Rows of a file while the machine is calibrated.
        calibration_warm_up: Micro-batches of `calibration_files[0]` files that do not count: what they cost beside
            their rows falls for the first few dozen.
        calibration_files: Files of the micro-batches that do, in turn.
        calibration_rounds: How many turns.
    """

    calibration_rows_per_file: int
    calibration_warm_up: int
    calibration_files: tuple[int, ...]
    calibration_rounds: int

    @property
    def calibration_file_count(self) -> int:
        """Files that are staged to calibrate."""
        turn = sum(self.calibration_files)
        return self.calibration_warm_up * self.calibration_files[0] + self.calibration_rounds * turn


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSizes(CalibrationSizes):
    """How long a run is fed at one load.

    Args:
        trigger_seconds: The trigger interval.
        warm_up: Micro-batches at the beginning of a run that do not count.
        micro_batches: Those that do.
        file_seconds: Seconds whose rows make one file.
    """

    trigger_seconds: int
    warm_up: int
    micro_batches: int
    file_seconds: float

    @property
    def seconds(self) -> int:
        """How long a run is fed."""
        return (self.warm_up + self.micro_batches) * self.trigger_seconds

    @property
    def warm_up_seconds(self) -> int:
        """How much of that does not count."""
        return self.warm_up * self.trigger_seconds
