"""Answers in a table of Delta Lake, each micro-batch one transaction."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import answer_columns
from streamshed.errors import InvalidNetworkError, SinkUnavailableError
from streamshed.network.sql.expression import quoted
from streamshed.network.words.given import is_a, is_filled_text
from streamshed.spark.checkpoint.storage import absolute_location
from streamshed.spark.common.connector import DELTA
from streamshed.spark.sinks.existing_table import require_columns, require_partitions


@dataclass(frozen=True)
class DeltaSink:
    """A table of Delta Lake, each answer exactly once.

    A micro-batch is one transaction, which the table knows by `query_id` and `micro_batch_id`: one that is run again
    changes nothing. A micro-batch without answers is none. Both ids are columns.

    Attributes:
        path: The table's folder.
        partition_by: Columns by which a new table is partitioned.
    """

    reads_once: ClassVar[bool] = False

    path: str
    partition_by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f'the sink delta "{self.path}"'

    def check(self) -> None:
        """See that the session has the connector, and that no other table is there."""
        spark = SparkSession.getActiveSession()
        if spark is None:
            return
        if any(value not in (spark.conf.get(key, "") or "") for key, value in DELTA.settings.items()):
            raise SinkUnavailableError(str(DELTA.missing(self.label)))
        try:
            columns = spark.read.format("delta").load(self.path).columns
        except AnalysisException as error:
            refused = DELTA.refused(error, self.label)
            if refused is not error:
                raise SinkUnavailableError(str(refused)) from error
            return  # there is no table yet
        require_columns(self.label, columns)
        row = spark.sql(f"DESCRIBE DETAIL delta.{quoted(self.path)}").first()
        require_partitions(self.label, self.partition_by, () if row is None else tuple(row["partitionColumns"]))

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Append the answers in one transaction, unless it was done before."""
        if answers.isEmpty():
            return
        ids = answers.withColumns({"query_id": F.lit(query_id), "micro_batch_id": F.lit(micro_batch_id).cast("bigint")})
        writer = ids.write.format("delta").mode("append").partitionBy(*self.partition_by)
        writer.option("txnAppId", f"streamshed {query_id}").option("txnVersion", micro_batch_id).save(self.path)


def delta_sink(path: str | os.PathLike[str], *, partition_by: tuple[str, ...] = ()) -> DeltaSink:
    """Write answers to a table of Delta Lake, exactly once; the session needs its connector.

    Args:
        path: The table's folder, which is made if it is not there.
        partition_by: Columns of answers by which a new table is partitioned, such as ("query",).

    Raises:
        InvalidNetworkError: It is no path, or there is no such column.
    """
    if not (is_a(path, str, os.PathLike) and is_filled_text(os.fspath(path))):
        raise InvalidNetworkError(f"a table of Delta Lake is a path or a URI, got {path!r}")
    return DeltaSink(absolute_location(os.fspath(path)), answer_columns(partition_by))
