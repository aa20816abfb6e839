"""How fast one partition joins in full: equal keys, five columns beside the time on both sides, one of them text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed_bench.joins.join_runs import SECOND, MicroBatch

ROWS = 20_000
"""Per second and side."""
KEYS = 10_000
WINDOW_SECONDS = 10
MEASURED_SECONDS = 10
"""Once windows are full."""
WIDE = JoinSpecification(
    windows=JoinWindows(WINDOW_SECONDS * SECOND, WINDOW_SECONDS * SECOND, SECOND),
    condition=Equality(("key",), ("key",)),
    left_time="t",
    right_time="t",
)


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """What the measured micro-batches came to.

    Args:
        rows: New rows.
        results: Result rows, with all columns of both sides.
        seconds: Of a core.
        state_rows: Rows in the windows at the end.
        state_bytes: Size of the windows at the end.
    """

    rows: int
    results: int
    seconds: float
    state_rows: int
    state_bytes: int


def wide_rows(random: np.random.Generator, second: int, rows: int, keys: int) -> pa.Table:
    """Return the rows of a second of one side."""
    hosts = pc.binary_join_element_wise(
        "host-", pa.array(random.integers(0, 10**6, rows)).cast(pa.string()), ".net", ""
    )
    return pa.table(
        {
            "t": np.sort(random.integers(second * SECOND, (second + 1) * SECOND, rows)),
            "key": random.integers(0, keys, rows),
            "bytes": random.integers(0, 1500, rows),
            "seconds": random.random(rows),
            "host": hosts,
            "is_known": random.random(rows) < 0.5,
        }
    )


def micro_batches(*, seconds: int, rows: int, keys: int, seed: int) -> Iterator[MicroBatch]:
    """Yield the rows of both sides, second by second."""
    random = np.random.default_rng(seed)
    for second in range(seconds):
        left, right = (wide_rows(random, second, rows, keys) for _ in range(2))
        yield MicroBatch(left, right, second * SECOND)


def measure_throughput(
    *,
    seed: int,
    rows: int = ROWS,
    keys: int = KEYS,
    measured_seconds: int = MEASURED_SECONDS,
) -> Throughput:
    """Join in full, results handed out; micro-batches until windows are full do not count."""
    partition = JoinPartition(WIDE, MemoryStore())
    seconds, results, state = 0.0, 0, None
    stream = list(micro_batches(seconds=WINDOW_SECONDS + measured_seconds, rows=rows, keys=keys, seed=seed))
    for second, micro_batch in enumerate(stream):
        begun = time.process_time()
        join_result = partition.join(
            micro_batch.left, micro_batch.right, JoinPlan(watermark_microseconds=micro_batch.watermark_microseconds)
        )
        handed_out = join_result.left_rows().num_rows, join_result.right_rows().num_rows
        if second >= WINDOW_SECONDS:
            seconds += time.process_time() - begun
            results += min(handed_out)
        state = join_result.state
    return Throughput(
        rows=2 * rows * measured_seconds,
        results=results,
        seconds=seconds,
        state_rows=state.rows if state else 0,
        state_bytes=state.bytes if state else 0,
    )


def throughput_figures(measured: Throughput) -> dict[str, float]:
    """Return rows and result rows per second of a core, and what a row takes of the state."""
    return {
        "rows_per_second": measured.rows / measured.seconds,
        "result_rows_per_second": measured.results / measured.seconds,
        "state_bytes": float(measured.state_bytes),
        "state_bytes_per_row": measured.state_bytes / max(1, measured.state_rows),
    }
