"""The rows of three streams: a file for each second, which appears by the wall clock, whoever is there to read it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.spark.event_times import instants
from tests.spark.trunks.inputs import STEP

PERIOD_SECONDS, BUSY_SECONDS = 70, 40
"""Each period is calm first, then busy."""

CALM_ROWS, BUSY_ROWS, SIDE_ROWS = 20, 480, 5
"""By second: of events in calm and busy times, and of either side of the join."""

DISORDER_SECONDS = 1.0
"""Rows come up to so much later than others of their time: less than the watermark waits."""

GROUPS, HOSTS, LARGEST = 4, 12, 1000
IDS_PER_SECOND = 10_000

SCHEMAS: Mapping[str, str] = {
    "events": "id bigint, ts timestamp, v bigint, g bigint",
    "calls": "id bigint, ts timestamp, host bigint",
    "alerts": "id bigint, ts timestamp, host bigint",
}


def is_busy(second: int) -> bool:
    """Whether events come faster than the network can work on all of them."""
    return second % PERIOD_SECONDS >= PERIOD_SECONDS - BUSY_SECONDS


def rows_of(name: str, second: int, seed: int) -> pa.Table:
    """The rows of a stream that come in a second.

    Args:
        name: Of the stream.
        second: Since the feed began, which is where event time begins.
        seed: Of the feed.
    """
    chance = np.random.default_rng([seed, list(SCHEMAS).index(name), second])
    count = SIDE_ROWS if name != "events" else BUSY_ROWS if is_busy(second) else CALM_ROWS
    seconds = second + DISORDER_SECONDS + chance.random(count) - DISORDER_SECONDS * chance.random(count)
    columns = {"id": second * IDS_PER_SECOND + np.arange(count), "ts": instants(seconds)}
    if name != "events":
        return pa.table({**columns, "host": chance.integers(HOSTS, size=count)})
    values = {"v": chance.integers(1, LARGEST, size=count, endpoint=True), "g": chance.integers(GROUPS, size=count)}
    return pa.table({**columns, **values})


class Feed(threading.Thread):
    """Lets the files of each second appear when it is over.

    Args:
        path: The folder of the streams' folders.
        seed: Of the rows.
    """

    def __init__(self, path: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self._path, self._seed = path, seed
        self._ended = threading.Event()
        self.second = 0
        """The next one."""
        for name in SCHEMAS:
            (path / name).mkdir(parents=True)

    def run(self) -> None:
        """Feed until told to end."""
        began = time.monotonic()
        while not self._ended.wait(max(0.0, began + self.second + 1 - time.monotonic())):
            for name in SCHEMAS:
                appear(self._path / name / f"{self.second:06}.parquet", rows_of(name, self.second, self._seed))
            self.second += 1

    def end(self, *, in_calm: bool) -> None:
        """Feed no more.

        Args:
            in_calm: Whether to feed first until a calm time is nearly over.
        """
        while in_calm and self.second % PERIOD_SECONDS != PERIOD_SECONDS - BUSY_SECONDS - 1:
            time.sleep(0.1)
        self._ended.set()
        self.join()


def appear(path: Path, rows: pa.Table) -> None:
    """Let a file appear at once; Spark does not see the draft."""
    draft = path.with_name(f".{path.name}")
    parquet.write_table(rows, draft)
    draft.rename(path)


def fed(path: Path, name: str) -> pa.Table:
    """All rows of a stream that were fed, in the order of its files, with the second in which each came.

    Args:
        path: The folder of the streams' folders.
        name: Of the stream.
    """
    tables = [
        table.append_column(STEP, pa.array([int(file.stem)] * table.num_rows, pa.int64()))
        for file in sorted((path / name).glob("[0-9]*.parquet"))
        for table in [parquet.read_table(file, partitioning=None)]
    ]
    return pa.concat_tables(tables)
