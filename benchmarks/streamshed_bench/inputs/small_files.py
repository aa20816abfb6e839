"""Small files of one micro-batch each, and networks over them: what a micro-batch costs beside its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamshed as ss
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.rows import Rows

_FIRST_MICROSECONDS = 1_735_689_600_000_000
_MICROSECONDS_PER_FILE = 10_000_000
_GROUPS = 5
_LARGEST_VALUE = 1000


def write_small_files(folder: Path, *, files: int, rows: int, seed: int) -> None:
    """Write a stream of rows in order of time, ten seconds of it in each file.

    Args:
        folder: A folder that is not there yet.
        files: How many.
        rows: Rows of each.
        seed: Equal seeds give equal rows.
    """
    folder.mkdir(parents=True)
    chance = np.random.default_rng(seed)
    for number in range(files):
        offsets = np.sort(chance.integers(0, _MICROSECONDS_PER_FILE, rows))
        times = _FIRST_MICROSECONDS + number * _MICROSECONDS_PER_FILE + offsets
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": chance.integers(0, _GROUPS, rows),
            "v": chance.integers(0, _LARGEST_VALUE, rows),
        }
        file = folder / f"{number:05d}.parquet"
        pq.write_table(pa.table(columns), file)
        os.utime(file, (number, number))  # Spark takes the oldest first


def _stream(name: str, folder: Path) -> Rows:
    source = ss.folder(str(folder), "parquet", schema="ts timestamp, k bigint, v bigint", max_files_per_micro_batch=1)
    return ss.stream(name, source, time="ts", watermark="1 second")


def _windows(left: Path, _right: Path) -> QueryNetwork:
    events = _stream("events", left)
    return ss.network(
        events.window("1 minute", every="10 seconds").agg(n="count(*)", total="sum(v)").query("all"),
        events.filter("v > 10").window("30 seconds", every="10 seconds").by("k").agg(n="count(*)").query("by_key"),
    )


def _nested(left: Path, _right: Path) -> QueryNetwork:
    totals = _stream("events", left).window("20 seconds", every="10 seconds").by("k").agg(total="sum(v)")
    return ss.network(
        totals.query("totals"),
        totals.window("1 minute", every="20 seconds").agg(most="max(total)").query("most", mode="exact"),
    )


def _join(left: Path, right: Path) -> QueryNetwork:
    some, others = (_stream(name, folder).filter("v < 100") for name, folder in (("left", left), ("right", right)))
    pairs = some.join(others, on="k", within=("2 seconds", "1 second"), name="pairs", basic_window="1 second")
    return ss.network(pairs.window("20 seconds", every="10 seconds").agg(n="count(*)").query("pairs_counted"))


SMALL_NETWORKS: Mapping[str, Callable[[Path, Path], QueryNetwork]] = MappingProxyType(
    {"windows": _windows, "nested": _nested, "join": _join}
)
"""Two windowed queries; an aggregate of an aggregate; windows over a join. Each over a folder, or two."""
