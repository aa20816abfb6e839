"""Running a burst through ours and through plain Spark."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.run.load_prior import LoadPrior
from streamshed.traces.feeder import Feeder
from streamshed.traces.staged_feed import StagedFeed
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.networks import PacketSource, packet_network, packet_records
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.burst_course import Course, delays_of, slowest
from streamshed_bench.runs.burst_feed import feed_out, feeder_of
from streamshed_bench.runs.burst_figures import ShedMicroBatch, Window
from streamshed_bench.runs.burst_sizes import HEADROOM, BurstSizes
from streamshed_bench.runs.micro_batches import MicroBatchTime
from streamshed_bench.runs.native import NativeRun, native_records
from streamshed_bench.runs.workplace import Workplace

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from streamshed.spark import Run

_PATIENCE_SECONDS = 120.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class OurBurst:
    """What our queries did with a burst.

    Args:
        start_seconds: When the feed started, on the clock of the micro-batches.
        micro_batches: Those that started while the feed was on, and the one after.
        answers: Whether each answer of a window is exact.
        worst_lateness_seconds: How much later than due a file came.
    """

    start_seconds: float
    micro_batches: tuple[ShedMicroBatch, ...]
    answers: Mapping[Window, list[bool]]
    worst_lateness_seconds: float

    @property
    def delays(self) -> Course:
        """Delay over time."""
        return delays_of([one.time for one in self.micro_batches], start_seconds=self.start_seconds)


class BurstRunner:
    """Runs contestants one after the other through the same feed.

    Args:
        spark: The session.
        place: Where to work.
        feed: The staged burst.
        known_hosts: The file of the stored relation.
        sizes: How long it takes.
        prior: What calibration measured, as a deployment knows it from earlier runs.
    """

    def __init__(
        self,
        spark: SparkSession,
        place: Workplace,
        feed: StagedFeed,
        *,
        known_hosts: Path,
        sizes: BurstSizes,
        prior: LoadPrior,
    ) -> None:
        self._prior = prior
        self._spark = spark
        self._place = place
        self._feed = feed
        self._known_hosts = known_hosts
        self._sizes = sizes
        self._trigger = f"{sizes.trigger_seconds} seconds"

    def ours(self, *, sheds: bool, progress: Callable[[float], None]) -> OurBurst:
        """Run our queries through the burst.

        Args:
            sheds: Whether they may shed.
            progress: Told the share that is done.
        """
        from streamshed.spark import each_micro_batch, start

        answers: defaultdict[Window, list[bool]] = defaultdict(list)
        source = self._source()
        run = start(
            packet_network(packet_records(source), SEVEN_QUERIES, self._known_hosts),
            self._spark,
            checkpoint=str(self._place.new("checkpoint")),
            sink=each_micro_batch(lambda frame, _: _collect(frame, answers)),
            trigger=self._trigger,
            headroom=HEADROOM,
            prior=self._prior,
            advisory=not sheds,
        )
        with run:
            _await_micro_batch(run, 0)
            feeder, start_seconds = feeder_of(self._feed, source.watched, self._sizes)
            self._fed(feeder, progress)
            _await_micro_batch(run, run.status().micro_batch_id + 2)
            if sheds:
                run.drain(_PATIENCE_SECONDS)
            journal = run.journal()
        return OurBurst(
            start_seconds=start_seconds,
            micro_batches=_during(journal, start_seconds),
            answers=answers,
            worst_lateness_seconds=feeder.report.worst_lateness_seconds,
        )

    def native(self, *, progress: Callable[[float], None]) -> Course:
        """Run the queries as plain Spark's through the burst; returns the delay of the slowest over time."""
        source = self._source()
        run = NativeRun(
            native_records(self._spark, source),
            SEVEN_QUERIES,
            known_hosts=self._known_hosts,
            time_column="timestamp",
            checkpoints=self._place.new("checkpoints"),
            trigger={"processingTime": self._trigger},
        )
        try:
            feeder, start_seconds = feeder_of(self._feed, source.watched, self._sizes)
            self._fed(feeder, progress)
            end_seconds = time.time()
            finished = [tuple(one for one in query if one.rows > 0) for query in run.micro_batches()]
        finally:
            run.stop()
        return slowest(
            [
                (*delays_of(query, start_seconds=start_seconds), _waiting(query, start_seconds, end_seconds))
                for query in finished
            ]
        )

    def _source(self) -> PacketSource:
        watched = self._place.new("records")
        watched.mkdir()
        return PacketSource(watched=watched, known_hosts=self._known_hosts)

    def _fed(self, feeder: Feeder, progress: Callable[[float], None]) -> None:
        files, trailing = len(self._feed.files), self._sizes.trigger_seconds
        feed_out(feeder, files=files, trailing_seconds=trailing, progress=progress)


def _waiting(query: tuple[MicroBatchTime, ...], start_seconds: float, end_seconds: float) -> tuple[float, float]:
    """How long the oldest row that is not answered at the end has waited."""
    oldest = query[-1].started_at_seconds if query else start_seconds
    return (end_seconds - start_seconds, end_seconds - oldest)


def _collect(frame: DataFrame, answers: defaultdict[Window, list[bool]]) -> None:
    rows = frame.where("kind = 'answer'").selectExpr("query", "unix_seconds(window_start) AS start", "exact")
    for row in rows.collect():
        answers[row.query, row.start].append(row.exact)


def _await_micro_batch(run: Run, micro_batch_id: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while run.status().micro_batch_id < micro_batch_id:
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(
                f"micro-batch {micro_batch_id} was not through within {_PATIENCE_SECONDS:g} seconds"
            )
        run.await_termination(_POLL_SECONDS)


def _during(journal: pd.DataFrame, start_seconds: float) -> tuple[ShedMicroBatch, ...]:
    """The micro-batches with input; the first rows wait for one micro-batch, so the last starts after the feed."""
    fed = journal[(journal["offered_rows"] > 0) & (journal["started_at_seconds"] >= start_seconds)]
    return tuple(
        ShedMicroBatch(
            time=MicroBatchTime(
                rows=int(row["offered_rows"]),
                started_at_seconds=float(row["started_at_seconds"]),
                seconds=float(row["processing_seconds"]),
            ),
            sampling_rate=float(row["sampling_rate"]),
            backlog_rows=int(row["backlog_rows"] or 0),
        )
        for _, row in fed.iterrows()
    )
