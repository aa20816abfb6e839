"""A join of which one key has half of the rows, on Spark and by the clock: more work than one core can do in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamshed.joins.model.arrays import Ints
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.joins.join_runs import SECOND
from streamshed_bench.runs.burst_figures import percentile
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from streamshed.spark import Run

NAMES = ("calls", "alerts")
SCHEMA = "ts timestamp, key bigint, bytes bigint"
WITHIN_SECONDS = 10
JOINED = "pairs"
HOT, HOT_SHARE = 0, 0.5
OTHER_KEYS = 10_000
TRIGGER_SECONDS = 5
"""A micro-batch of a join without any comparison takes two to three seconds on two cores."""
LEARNING = 8
"""Micro-batches until windows are half full and costs known, which do not count."""
_PATIENCE_SECONDS = 900.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class SkewedSizes:
    """How much is joined.

    Args:
        rows_per_second: Per side, of event time.
        micro_batches: Each takes a file of either side, of as much event time as lies between two triggers.
    """

    rows_per_second: int
    micro_batches: int


@dataclass(frozen=True)
class Rows:
    """Rows of a side, by key and time.

    Args:
        keys: Their keys.
        times: When they were, microseconds from 0 on.
        files: The number of the file that each is in.
    """

    keys: Ints
    times: Ints
    files: Ints

    @classmethod
    def of(cls, several: Sequence[Rows]) -> Rows:
        """Return all of several."""
        keys, times, files = (
            np.concatenate([getattr(one, name) for one in several]) for name in ("keys", "times", "files")
        )
        order = np.lexsort((times, keys))
        return cls(keys[order], times[order], files[order])

    def of_key(self, key: int | None) -> Rows:
        """Return those of a key; None: all."""
        which = slice(None) if key is None else self.keys == key
        return Rows(self.keys[which], self.times[which], self.files[which])


SKEWED_FULL = SkewedSizes(rows_per_second=2_000, micro_batches=30)
SKEWED_QUICK = SkewedSizes(rows_per_second=2_000, micro_batches=14)


@dataclass(frozen=True, kw_only=True)
class SkewedJoin:
    """What became of the micro-batches that count.

    Args:
        seconds: What each took.
        results: Pairs that each found.
        full_results: Pairs that there are, by NumPy.
        hot_share: The share of these that have the key with half of the rows.
    """

    seconds: tuple[float, ...]
    results: tuple[float, ...]
    full_results: tuple[int, ...]
    hot_share: float


def skewed_figures(measured: SkewedJoin) -> dict[str, float]:
    """Return the 95th percentile of the share of the trigger interval that was used, and of results delivered.

    Example:
        >>> measured = SkewedJoin(seconds=(1.0, 1.5), results=(5.0, 15.0), full_results=(50, 50), hot_share=0.99)
        >>> skewed_figures(measured)
        {'skewed_p95_time_ratio': 0.3, 'skewed_share_of_full': 0.2, 'skewed_hot_share': 0.99}
    """
    return {
        "skewed_p95_time_ratio": percentile(measured.seconds, 0.95) / TRIGGER_SECONDS,
        "skewed_share_of_full": sum(measured.results) / max(1, sum(measured.full_results)),
        "skewed_hot_share": measured.hot_share,
    }


def skewed_document(measured: SkewedJoin) -> dict[str, object]:
    """Return the micro-batches as what JSON can hold."""
    return {
        "seconds": list(measured.seconds),
        "results": list(measured.results),
        "full_results": list(measured.full_results),
    }


def measure_skewed(sizes: SkewedSizes, *, seed: int, progress: Callable[[str], None]) -> SkewedJoin:
    """Run the join with its control loop, as a user would.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: It does not come to an end.
    """
    from streamshed.spark import noop_sink, start

    with workplace() as place:
        progress("one key has half of the rows")
        files, full_results, hot_share = _staged(place, sizes, seed)
        with bench_session("joins") as spark:
            run = start(
                _network(files),
                spark,
                checkpoint=str(place.new("checkpoint")),
                sink=noop_sink(),
                trigger=f"{TRIGGER_SECONDS} seconds",
            )
            with run:
                _wait(run, sizes.micro_batches)
                journal = run.journal()
    with_rows = journal[journal["offered_rows"] > 0].iloc[LEARNING : sizes.micro_batches]
    return SkewedJoin(
        seconds=tuple(with_rows["processing_seconds"].tolist()),
        results=tuple(row[JOINED]["results"] for row in with_rows["joins"]),
        full_results=full_results[LEARNING:],
        hot_share=hot_share,
    )


def results_by_file(left: Rows, right: Rows, *, within: int, span: int) -> Ints:
    """Return how many pairs of equal keys, no further apart than `within`, have the later row in each file.

    Args:
        left: Keys, times and files of the rows of one side, by key and time.
        right: Those of the other side.
        within: How far apart times may be.
        span: More than any time, by more than `within`.

    Example:
        >>> left = Rows(np.array([1, 1, 2]), np.array([0, 5, 3]), np.array([0, 1, 0]))
        >>> right = Rows(np.array([1, 1]), np.array([2, 9]), np.array([0, 1]))
        >>> results_by_file(left, right, within=4, span=20).tolist()
        [1, 2]
    """
    counts = np.zeros(1 + max(left.files.max(initial=0), right.files.max(initial=0)), np.int64)
    for later, earlier, may_be_equal in ((right, left, True), (left, right, False)):
        line, begin = earlier.keys * span + earlier.times, later.keys * span
        until = np.searchsorted(line, begin + later.times, "right" if may_be_equal else "left")
        since = np.searchsorted(line, begin + np.maximum(later.times - within, 0), "left")
        np.add.at(counts, later.files, np.maximum(until - since, 0))
    return counts


def _wait(run: Run, micro_batches: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while run.status().micro_batch_id < micro_batches - 1:
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(f"the skewed join was not through within {_PATIENCE_SECONDS:g} seconds")
        run.await_termination(_POLL_SECONDS)


def _network(files: Path) -> QueryNetwork:
    left, right = (
        stream(name, folder(files / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="ts")
        for name in NAMES
    )
    pairs = left.join(right, on="key", within=f"{WITHIN_SECONDS} s", basic_window="1 s", name=JOINED)
    return network(pairs.window("10 seconds").agg(n="count(*)", bytes="sum(calls_bytes)").query("windows"))


def _staged(place: Workplace, sizes: SkewedSizes, seed: int) -> tuple[Path, tuple[int, ...], float]:
    """The files of both sides, how many pairs each micro-batch adds, and the share of the key with half of the rows."""
    files, random = place.new("streams"), np.random.default_rng(seed)
    count, span = sizes.rows_per_second * TRIGGER_SECONDS, TRIGGER_SECONDS * SECOND
    sides = []
    for name in NAMES:
        (files / name).mkdir(parents=True)
        of_side = []
        for number in range(sizes.micro_batches):
            times = number * span + np.sort(random.integers(0, span, count))
            keys = np.where(random.random(count) < HOT_SHARE, HOT, 1 + random.integers(0, OTHER_KEYS, count))
            columns = {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "key": keys,
                "bytes": random.integers(0, 1500, count),
            }
            pq.write_table(pa.table(columns), files / name / f"{number:04d}.parquet")
            of_side.append(Rows(keys, times, np.full(count, number)))
        sides.append(Rows.of(of_side))
    end = sizes.micro_batches * span + (WITHIN_SECONDS + 1) * SECOND
    of_all, of_hot = (
        results_by_file(*(rows.of_key(key) for rows in sides), within=WITHIN_SECONDS * SECOND, span=end)
        for key in (None, HOT)
    )
    return files, tuple(of_all.tolist()), float(of_hot.sum() / of_all.sum())
