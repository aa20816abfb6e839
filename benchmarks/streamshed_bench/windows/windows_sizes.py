"""How much the benchmark `windows` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed_bench.runs.run_sizes import RunSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsSizes(RunSizes):
    """How long and how much.

    Args:
        loads: Load factors at which recordings are replayed: 1 is what is sustained within the headroom.
        selectivities: Of [T06] Table 4: what window drop costs while nothing is dropped.
        places: Whether windows are dropped at different places, and of different shapes: Figures 10 to 13.
        left_out: What the full benchmark does beyond this.
    """

    loads: tuple[float, ...]
    selectivities: tuple[float, ...]
    places: bool
    left_out: tuple[str, ...] = ()


FULL = WindowsSizes(
    loads=(1.0, 2.0, 5.0, 10.0),
    selectivities=(1.0, 0.5),
    places=True,
    trigger_seconds=3,
    warm_up=6,
    micro_batches=40,
    file_seconds=0.25,
    calibration_rows_per_file=5_000,
    calibration_warm_up=12,
    calibration_files=(2, 60),
    calibration_rounds=6,
)
QUICK = replace(
    FULL,
    loads=(1.0, 5.0),
    selectivities=(),
    places=False,
    warm_up=4,
    micro_batches=10,
    calibration_warm_up=6,
    calibration_rounds=2,
    left_out=(
        "Figures 10 to 13, Table 4",
        "all recordings but the first",
        "loads 2 and 10",
        "30 of 40 micro-batches",
    ),
)
