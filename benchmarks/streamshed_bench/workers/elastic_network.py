"""The network of the benchmark `elastic`: one operator that waits, one stateful stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed_bench.workers.elastic_sizes import PARTITIONS, ElasticSizes

START_MICROSECONDS = 1_735_689_600_000_000
"""Event time of the first row."""

_ROWS_OF_A_FILE = 1_000_000


class AnsweredElsewhere:
    """Waits for each value, as for an answer from elsewhere, and computes nothing.

    Args:
        seconds_per_row: How long for each.
    """

    def __init__(self, seconds_per_row: float) -> None:
        self.seconds_per_row = seconds_per_row

    def __call__(self, values: pd.Series[int]) -> pd.Series[int]:
        """Wait, and return the values."""
        time.sleep(len(values) * self.seconds_per_row)
        return values


def waiting_network(watched: Path, sizes: ElasticSizes) -> QueryNetwork:
    """Return counts and sums by group over windows of a trigger interval, of rows that are waited for."""
    source = folder(watched, "parquet", schema="id bigint, ts timestamp, v bigint")
    events = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    answered = events.apply(AnsweredElsewhere(sizes.seconds_per_row), columns=["v"], into="w", returns="bigint")
    windows = answered.window(f"{sizes.trigger_seconds} seconds")
    return network(
        windows.agg(n="count(*)", total="sum(w)").query("all"),
        windows.by(g="v % 4").agg(n="count(*)", total="sum(w)").query("by_group"),
    )


def feed_rows(
    watched: Path, sizes: ElasticSizes, *, first: int, load: float, place: Callable[[Path, Path], object]
) -> None:
    """Write the files of one trigger interval, one for each partition.

    Args:
        watched: The folder.
        sizes: How many rows they have.
        first: The number of the trigger interval, from 0.
        load: Its load.
        place: Moves a file that is written to where it is watched for.
    """
    rows = sizes.file_rows(load)
    span = sizes.trigger_seconds * 1_000_000
    for part in range(PARTITIONS):
        number = first * PARTITIONS + part
        ids = range(number * _ROWS_OF_A_FILE, number * _ROWS_OF_A_FILE + rows)
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "ts": pa.array(
                    [START_MICROSECONDS + first * span + index * span // rows for index in range(rows)],
                    pa.timestamp("us", "UTC"),
                ),
                "v": pa.array([index % 97 for index in range(rows)], pa.int64()),
            }
        )
        draft = watched / f".{number:08d}.parquet"
        parquet.write_table(table, draft)
        place(draft, watched / f"{number:08d}.parquet")
