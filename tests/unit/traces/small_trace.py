from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import TIME_TYPE, Trace, trace_of

START = 1_100_000_000_000_000


def small_table(times: Sequence[int | None]) -> pa.Table:
    rows = len(times)
    return pa.table(
        {
            "ts": pa.array([None if time is None else START + time for time in times], TIME_TYPE),
            "number": pa.array(range(rows), pa.int32()),
            "host": [f"10.0.0.{number % 3}" for number in range(rows)],
        }
    )


def small_trace(times: Sequence[int | None] = (0, 1_000, 4_000, 4_000, 9_000, 10_000)) -> Trace:
    return trace_of(small_table(times))


def small_feed(watched: Path) -> StagedFeed:
    """Two seconds of the small trace, 100 rows each, for a folder."""
    return stage(small_trace(), constant_load(2_000_000), rows_per_second=100, watched=watched)
