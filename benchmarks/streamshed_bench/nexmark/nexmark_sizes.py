"""How much the benchmark `nexmark` measures, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed_bench.nexmark.statements import ASKED
from streamshed_bench.speed.contest import Portion
from streamshed_bench.speed.goodput_sizes import GoodputSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkSizes:
    """How much is measured.

    Args:
        queries: Names of the queries that are measured beside plain Spark's.
        events_per_file: People, auctions and bids of a file of each.
        measured: What both read of them to be measured.
        rounds: How often each query is measured.
        checked_events_per_file: People, auctions and bids of a file where answers are compared.
        checked: What is read of them.
        loaded: Loads of the network of windows.
        left_out: What the full benchmark measures beyond this.
    """

    queries: tuple[str, ...]
    events_per_file: int
    measured: Portion
    rounds: int
    checked_events_per_file: int
    checked: Portion
    loaded: GoodputSizes
    left_out: tuple[str, ...] = ()


FULL = NexmarkSizes(
    queries=tuple(ASKED),
    events_per_file=500_000,
    measured=Portion(files_per_micro_batch=2, micro_batches=4),
    rounds=3,
    checked_events_per_file=100_000,
    checked=Portion(files_per_micro_batch=1, micro_batches=3),
    loaded=GoodputSizes(
        networks=("nexmark",),
        loads=(1.0, 2.0, 3.0, 4.0, 5.0),
        trigger_seconds=2,
        settling=5,
        counted=25,
        event_speed=5,
        file_seconds=0.5,
        calibration_rows_per_file=92_000,
        calibration_warm_up=20,
        calibration_files=(2, 12),
        calibration_rounds=5,
    ),
)
QUICK = NexmarkSizes(
    queries=("q0", "q5", "q17"),
    events_per_file=200_000,
    measured=Portion(files_per_micro_batch=1, micro_batches=2),
    rounds=1,
    checked_events_per_file=50_000,
    checked=Portion(files_per_micro_batch=1, micro_batches=1),
    loaded=GoodputSizes(
        networks=("nexmark",),
        loads=(1.0, 3.0),
        trigger_seconds=2,
        settling=2,
        counted=5,
        event_speed=10,
        file_seconds=0.5,
        calibration_rows_per_file=92_000,
        calibration_warm_up=4,
        calibration_files=(1, 6),
        calibration_rounds=2,
    ),
    left_out=(
        "q1 to q3, q7, q8, q10, q13 to q16 and q20 to q22",
        "micro-batches of 1 M events: these are of 200,000, so that fixed cost weighs more",
        "two of three rounds, and two of three micro-batches that count",
        "loads 2, 4 and 5",
        "20 of 25 micro-batches of each load: the 95th percentile is the largest",
    ),
)
