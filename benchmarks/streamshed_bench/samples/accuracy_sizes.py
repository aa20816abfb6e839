"""How much the benchmark `accuracy` runs, in full and in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from streamshed_bench.runs.run_sizes import RunSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracySizes(RunSizes):
    """How long and how much.

    Args:
        loads: Load factors: 1 is what is sustained within the headroom, nothing shed.
        judged_micro_batches: Micro-batches that count at the highest load, at which policies are judged beside what
            they predicted. One query often errs most by far, and windows overlap: the mean error of a few dozen seconds
            is that of a few windows, and says little.
        compared_from: Loads below this one are run with the default policy alone: at load 1 nothing is shed by any.
        left_out: What the full benchmark does beyond this.
    """

    loads: tuple[float, ...]
    judged_micro_batches: int
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

    def at(self, load: float) -> Self:
        """Return how much runs at one load."""
        return replace(self, micro_batches=self.judged_micro_batches) if load == max(self.loads) else self


FULL = AccuracySizes(
    loads=(1.0, 2.0, 3.0, 4.0, 5.0),
    judged_micro_batches=100,
    trigger_seconds=3,
    warm_up=8,
    micro_batches=20,
    file_seconds=0.5,
    calibration_rows_per_file=5_000,
    calibration_warm_up=20,
    calibration_files=(2, 40),
    calibration_rounds=6,
)
QUICK = replace(
    FULL,
    loads=(1.0, 5.0),
    judged_micro_batches=40,
    warm_up=6,
    micro_batches=5,
    calibration_warm_up=8,
    calibration_rounds=2,
    compared_from=5.0,
    left_out=(
        "loads 2, 3 and 4",
        "policies uniform and hoeffding at load 1, where nothing is shed",
        "60 of 100 micro-batches of each run at load 5, 15 of 20 at load 1",
    ),
)
