"""Answers in a table of Iceberg, each micro-batch one snapshot, written by PyIceberg."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from streamshed.answering.table.answer_schema import answer_columns
from streamshed.errors import InvalidNetworkError, SinkUnavailableError
from streamshed.network.words.given import is_text
from streamshed.network.words.iceberg_name import check_iceberg
from streamshed.spark.common.iceberg_catalog import iceberg_catalog
from streamshed.spark.sinks.driver_sink import DriverSink
from streamshed.spark.sinks.iceberg_table import IcebergTable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


@dataclass(frozen=True)
class IcebergSink(DriverSink):
    """A table of Iceberg, each answer exactly once.

    A micro-batch is one snapshot, which the table knows by `query_id` and `micro_batch_id`: one that is run again
    changes nothing. A micro-batch without answers is none. Both ids are columns.

    Attributes:
        table: Namespace and table.
        catalog: A catalog of the configuration of PyIceberg; empty: its default.
        partition_by: Columns by which a new table is partitioned.
    """

    table: str
    catalog: str = ""
    partition_by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f'the sink iceberg "{self.table}"'

    def prepare(self) -> None:
        """See that the catalog answers, make the table if it is not there, and see that it takes answers."""
        with self._catalog() as catalog:
            self._table.prepare(catalog)

    def write_rows(self, answers: pa.Table, query_id: str, micro_batch_id: int) -> None:
        """Append the answers as one snapshot, unless it was done before."""
        if answers.num_rows:
            with self._catalog() as catalog:
                self._table.append(catalog, answers, query_id, micro_batch_id)

    @property
    def _table(self) -> IcebergTable:
        return IcebergTable(self.table, self.label, self.partition_by)

    def _catalog(self) -> AbstractContextManager[Catalog]:
        return iceberg_catalog(self.catalog, self.label, SinkUnavailableError)


def iceberg_sink(table: str, catalog: str = "", *, partition_by: tuple[str, ...] = ()) -> IcebergSink:
    """Write answers to a table of Iceberg, exactly once; needs the extra `iceberg`.

    Args:
        table: "namespace.table"; both are made if they are not there.
        catalog: The name of a catalog in the configuration of PyIceberg: in ~/.pyiceberg.yaml, or in
            PYICEBERG_CATALOG__<NAME>__URI and the like, where passwords and tokens are, too. Empty: its default.
        partition_by: Columns of answers by which a new table is partitioned, such as ("query",).

    Raises:
        InvalidNetworkError: They are no texts, the table or the catalog has no proper name, or there is no such column.

    Example:
        >>> iceberg_sink("live.answers", "lake", partition_by=("query",))
        IcebergSink(table='live.answers', catalog='lake', partition_by=('query',))
    """
    if not (is_text(table) and is_text(catalog)):
        raise InvalidNetworkError(f"a sink of Iceberg is a table and the name of its catalog, got table {table!r}")
    check_iceberg(table, catalog)
    return IcebergSink(table, catalog, answer_columns(partition_by))
