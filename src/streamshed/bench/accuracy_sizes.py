"""How much the benchmark `accuracy` runs, in full and in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.bench.run_sizes import RunSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracySizes(RunSizes):
    """How long and how much.

    Args:
        loads: Load factors: 1 is what is sustained within the headroom, nothing shed.
        compared_from: Loads below this one are run with the default policy alone: at load 1 nothing is shed by any.
        left_out: What the full benchmark does beyond this.
    """

    loads: tuple[float, ...]
    compared_from: float = 0.0
    left_out: tuple[str, ...] = ()

    def runs(self, policies: Sequence[str], default: str) -> list[tuple[str, float]]:
        """Return what is run, by policy and load, load by load."""
        return [
            (policy, load)
            for load in self.loads
            for policy in policies
            if load >= self.compared_from or policy == default
        ]


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
