"""How much the benchmark `windows` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.bench.run_sizes import RunSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsSizes(RunSizes):
    """How long and how much.

    Args:
        loads: Load factors at which recordings are replayed: 1 is what is sustained within the headroom.
        window_sizes: ω of the runs of [T06] Figure 12, in tenths of a second, tumbling.
        slides: δ of those of Figure 13, in tenths of a second, ω being the largest of them.
        selectivities: Of Table 4: what window drop costs while nothing is dropped.
        left_out: What the full benchmark does beyond this.
    """

    loads: tuple[float, ...]
    window_sizes: tuple[int, ...]
    slides: tuple[int, ...]
    selectivities: tuple[float, ...]
    left_out: tuple[str, ...] = ()


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
