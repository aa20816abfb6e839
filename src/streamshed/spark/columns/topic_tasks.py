"""Records of topics that tasks read themselves: Spark keeps the offsets, and the plan tells tasks what to read.

Rests on Spark's internals: tests/spark/kafka/test_topics.py.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.columnar.row_file import RowFile
from streamshed.columnar.topics.topic_client import client_settings
from streamshed.columnar.topics.topic_rows import RecordReader, TopicRows, record_reader
from streamshed.columnar.topics.topic_spans import TopicSpan, share_of_task
from streamshed.errors import MissingExtraError
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.spark.columns.row_admission import RowPlan
from streamshed.spark.columns.span_rows import Seen, SpanRows, Stretch, cohorts_of_blocks
from streamshed.spark.common.internal_names import CARRIER_TIME, CARRIER_UNTIL, FILE_ROW, TOPIC_SPANS
from streamshed.spark.plan.plan_columns import Plan, with_plan


@dataclass(frozen=True, kw_only=True)
class TopicTasks(SpanRows):
    """Reads the records that a task has a share in, and takes them by columns.

    Attributes:
        columns: What the columns of a record are called in the stream; to each, its name to the broker.
        settings: Of the client.
        tasks: How many tasks there are.
    """

    columns: Mapping[str, str]
    settings: Mapping[str, str] = field(repr=False)
    tasks: int

    @classmethod
    def of(cls, of_rows: SpanRows, stream: Stream, tasks: int) -> Self:
        """Return what reads records.

        Args:
            of_rows: What is known of rows whatever their source is.
            stream: Over topics.
            tasks: How many tasks read them.

        Raises:
            Untranslatable: None can; see `client_settings`.
        """
        source = stream.source
        if not isinstance(source, KafkaSource):
            raise TypeError(f"{source} is no topic")
        return cls(
            **{each.name: getattr(of_rows, each.name) for each in fields(of_rows) if each.name != "is_text"},
            is_text=True,
            columns={source.column(column.name): column.name for column in source.broker_columns},
            settings=client_settings(source),
            tasks=tasks,
        )

    def rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what Spark has to go on with; the first task brings the stream's carrier as well.

        Args:
            record_batches: In `FILE_ROW` the number of the task, and what all rows are told in the micro-batch.

        Raises:
            MissingExtraError: This worker lacks the extra, which the driver has.
        """
        shares, reader = [batch for batch in record_batches if batch.num_rows], self._reader()
        try:
            yield from super().rows(shares)
        finally:
            reader.rest()
        firsts = [row for batch in shares for row in batch.select([FILE_ROW, CARRIER_TIME, CARRIER_UNTIL]).to_pylist()]
        for row in firsts:
            if row[FILE_ROW] == 0 and row[CARRIER_TIME] is not None:
                yield self.taking.carrier_row(self.salt, row[CARRIER_TIME], row[CARRIER_UNTIL])

    def _reader(self) -> RecordReader:
        try:
            return record_reader(tuple(sorted(self.settings.items())))
        except ImportError as error:
            raise MissingExtraError(
                f'stream "{self.salt}": its topics are to be read by {sys.executable} on {socket.gethostname()}, which'
                f" lacks the extra streamshed[kafka] ({error})"
            ) from error

    def _stretches(self, spans: pa.RecordBatch) -> Iterator[Stretch]:
        for row in spans.select([FILE_ROW, TOPIC_SPANS]).to_pylist():
            of_topics = [TopicSpan.at(place) for place in row[TOPIC_SPANS] or ()]
            for span, start, stop in share_of_task(of_topics, row[FILE_ROW], self.tasks):
                yield Stretch(span.place, start, stop, {})

    def _file(self, stretch: Stretch) -> RowFile[Any]:
        return TopicRows(TopicSpan.at(stretch.path), self.columns, self.settings)

    def _of_stretch(self, stretch: Stretch, plan: RowPlan, seen: Seen) -> Iterator[pa.RecordBatch]:
        if plan.cut is not None:
            seen.counts.append(self._unread(stretch, plan.cut))
        yield from super()._of_stretch(stretch, plan, seen)

    def _unread(self, stretch: Stretch, cut: BlockCut) -> int:
        """How many offsets are in blocks that are not read: they were offered, too."""
        blocks = self._file(stretch).blocks(stretch.start, stretch.stop)
        cohorts = cohorts_of_blocks(cut, stretch.path, blocks)
        sizes = np.array([block.stop - block.start for block in blocks])
        return int(sizes[cohorts == UNREAD].sum())


def task_rows(carrier: DataFrame, plan: Plan | None, names: Sequence[str], tasks: int) -> DataFrame:
    """Return a row of each task, with what `TopicTasks.rows` asks for.

    Args:
        carrier: A row of each micro-batch.
        plan: What the stream is told; None: nothing, and no row will be read.
        names: What of it tells which rows are admitted.
        tasks: How many tasks there are.
    """
    numbers = F.explode(F.sequence(F.lit(0).cast("bigint"), F.lit(tasks - 1).cast("bigint")))
    rows = carrier.select(numbers.alias(FILE_ROW)).repartition(tasks)
    columns = [TOPIC_SPANS, CARRIER_TIME, CARRIER_UNTIL, *names]
    return rows if plan is None else with_plan(rows, plan, columns).select(FILE_ROW, *columns)


def with_offsets_kept(rows: DataFrame, source: DataFrame) -> DataFrame:
    """Return rows, beside which Spark keeps the offsets of a source: it reads none, as nobody asks for any.

    Args:
        rows: What stands for the rows of the source.
        source: Whose offsets go on from micro-batch to micro-batch.
    """
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields]
    return source.limit(0).select(*nothing).unionByName(rows)
