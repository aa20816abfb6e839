"""Runs in which windows are dropped at a set place, a set share of them, stretch by stretch ([T06] §4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed_bench.inputs.packet_input import linked
from streamshed_bench.runs.native import micro_batch_of
from streamshed_bench.runs.recorded_run import await_answers
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.windows.drop_curves import DropCurve, points_of
from streamshed_bench.windows.drop_queries import BATCH, FILES_PER_MICRO_BATCH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamshed_bench.runs.fixed_drops import DropPlace

SKIPPED = 2
"""So many micro-batches of a stretch do not count: they still answer windows of the one before."""
_PATIENCE_SECONDS = 1_200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRunSizes:
    """How much one run runs.

    Args:
        rows: Of a micro-batch.
        window: Rows between the starts of two windows of its query.
        span: Rows of one such window.
        drop_shares: p, stretch by stretch.
        counted: Micro-batches of a stretch that count.
    """

    rows: int
    window: int
    span: int
    drop_shares: tuple[float, ...]
    counted: int

    @property
    def stretch(self) -> int:
        """Rows of a stretch."""
        return self.rows * (SKIPPED + self.counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRun:
    """What a run showed.

    Args:
        curve: How long micro-batches took by the share that was kept.
        wrong: Answers that are not those of all rows of their window.
        answers: How many answers there were.
    """

    curve: DropCurve
    wrong: int
    answers: int

    def to_document(self, excesses: Sequence[float]) -> dict[str, object]:
        """Return what JSON can hold; see `DropCurve.to_document`."""
        return {"wrong": self.wrong, "answers": self.answers, **self.curve.to_document(excesses)}


def run_drops(
    network_over: Callable[[Path], QueryNetwork],
    spark: SparkSession,
    place: Workplace,
    drop_place: DropPlace,
    sizes: DropRunSizes,
) -> DropRun:
    """Run a network over numbered rows, and drop windows at a place.

    Args:
        network_over: The network, given the folder of the rows, which it adds up.
        spark: The session.
        place: Where rows and checkpoint are kept.
        drop_place: Where windows are dropped.
        sizes: How many rows there are, and which share of the windows is dropped when.

    Raises:
        UnfinishedBenchmarkError: It takes too long, or the query has failed.
    """
    from streamshed.spark import each_micro_batch
    from streamshed_bench.runs.fixed_drops import FixedDrops, decided_drops
    from streamshed_bench.runs.fixed_plan import start_fixed

    stretches = len(sizes.drop_shares)
    network, tally = network_over(_staged(place, sizes)), _Tally(sizes)
    drops = decided_drops(network, sizes.drop_shares, sizes.stretch * MICROSECONDS_PER_NUMBER)
    query = start_fixed(
        network,
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=each_micro_batch(tally.take),
        dropping=FixedDrops(drops, drop_place),
    )
    try:
        await_answers(query, patience_seconds=_PATIENCE_SECONDS)
        progress = [micro_batch_of(json.loads(one.json)) for one in query.recentProgress]
    finally:
        query.stop()
    seconds = [one.seconds for one in progress if one.rows >= sizes.rows]
    points = points_of(
        seconds,
        [tally.answered[number] for number in range(stretches)],
        stretches=stretches,
        windows=len(network.queries) * sizes.stretch // sizes.window,
        skipped=SKIPPED,
    )
    return DropRun(curve=DropCurve(points, BATCH), wrong=tally.wrong, answers=sum(tally.answered.values()))


class _Tally:
    """Counts the answers of a run, by the stretch in which their window starts, and those that are wrong."""

    def __init__(self, sizes: DropRunSizes) -> None:
        self._sizes = sizes
        self.answered: Counter[int] = Counter()
        self.wrong = 0

    def take(self, frame: DataFrame, _micro_batch_id: int) -> None:
        """Take in the answers of a micro-batch."""
        for row in frame.where("kind = 'answer'").select("window_from", "value").collect():
            first = row.window_from
            self.answered[first // self._sizes.stretch] += 1
            self.wrong += row.value != sum(range(max(first, 0), first + self._sizes.span))


def _staged(place: Workplace, sizes: DropRunSizes) -> Path:
    """Write the rows of all stretches, and those that close the last windows."""
    folder = place.new("numbers")
    folder.mkdir()
    per_file = sizes.rows // FILES_PER_MICRO_BATCH
    micro_batches = len(sizes.drop_shares) * sizes.stretch // sizes.rows + 1
    files = []
    for number in range(micro_batches * FILES_PER_MICRO_BATCH):
        rows = np.arange(number * per_file, (number + 1) * per_file)
        files.append(folder / f"{number:06d}.parquet")
        parquet.write_table(pa.table({"number": pa.array(rows, pa.int64())}), files[-1])
    return linked(files, place.new("rows"))
