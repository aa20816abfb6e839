"""A table of answers in Iceberg: made where it is missing, tried where it is not, and appended to exactly once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from streamshed.errors import ServerUnavailableError, SinkUnavailableError
from streamshed.spark.sinks.existing_table import require_columns, require_partitions
from streamshed.spark.sinks.iceberg_columns import iceberg_schema, misfits, rows_in_arrow

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_PROPERTIES = {"commit.manifest-merge.enabled": "true", "write.metadata.delete-after-commit.enabled": "true"}
"""Of a new table: without them, each micro-batch would leave two small files of metadata for ever."""

_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.05
"""After an attempt that lost to another writer; each pause is twice as long as the one before, 6 s in all."""


@dataclass(frozen=True)
class IcebergTable:
    """A table of answers.

    Its property `streamshed.<query id>` is the number of the last micro-batch that is there. The transaction that
    appends the micro-batch sets it, so it is there as soon as the answers are, and stays when snapshots expire.

    Attributes:
        name: Namespace and table.
        label: What it is called in messages.
        partition_by: Columns by which a new table is partitioned.
    """

    name: str
    label: str
    partition_by: tuple[str, ...] = ()

    def prepare(self, catalog: Catalog) -> None:
        """Make the table, and its namespace, if it is not there, and see that it takes answers.

        Raises:
            SinkUnavailableError: It does not.
        """
        from pyiceberg.exceptions import NoSuchTableError

        try:
            table = catalog.load_table(self._identifier)
        except NoSuchTableError:
            table = self._create(catalog)
        self._check(table)

    def append(self, catalog: Catalog, answers: pa.Table, query_id: str, micro_batch_id: int) -> None:
        """Append answers as one snapshot, unless those of their micro-batch are there.

        Args:
            catalog: Of the table.
            answers: Rows of the answer schema, at least one.
            query_id: Spark's.
            micro_batch_id: Of the micro-batch that they come of.

        Raises:
            SinkUnavailableError: The table is gone.
            ServerUnavailableError: Other writers came first each time.
        """
        from pyiceberg.exceptions import CommitFailedException, NoSuchTableError

        rows = rows_in_arrow(answers, query_id, micro_batch_id)
        for attempt in range(_ATTEMPTS):
            try:
                _append(catalog.load_table(self._identifier), rows, query_id, micro_batch_id)
                return
            except NoSuchTableError as error:
                raise SinkUnavailableError(f"{self.label}: the table is gone: start again to make it anew") from error
            except CommitFailedException:
                time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        raise ServerUnavailableError(
            f"{self.label}: others wrote to the table at the same time, {_ATTEMPTS} times in a row"
        )

    @property
    def _identifier(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    def _create(self, catalog: Catalog) -> Table:
        *namespace, _ = self._identifier
        for end in range(1, len(namespace) + 1):
            if not catalog.namespace_exists(tuple(namespace[:end])):
                catalog.create_namespace_if_not_exists(tuple(namespace[:end]))
        return catalog.create_table_if_not_exists(
            self._identifier, iceberg_schema(), partition_spec=self._partition_spec(), properties=_PROPERTIES
        )

    def _partition_spec(self) -> PartitionSpec:
        from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
        from pyiceberg.transforms import IdentityTransform

        schema = iceberg_schema()
        return PartitionSpec(
            *(
                PartitionField(schema.find_field(name).field_id, number, IdentityTransform(), name)
                for number, name in enumerate(self.partition_by, start=PARTITION_FIELD_ID_START)
            )
        )

    def _check(self, table: Table) -> None:
        schema = table.schema()
        require_columns(self.label, schema.column_names)
        if problem := next(misfits(schema), None):
            raise SinkUnavailableError(
                f"{self.label}: the table there takes no answers: {problem}; name another one, which is made, or"
                " give it the columns of docs/tables.md"
            )
        fields = table.spec().fields
        for field in fields:
            field.transform.pyarrow_transform(schema.find_type(field.source_id))
        require_partitions(self.label, self.partition_by, tuple(_partition_text(table, field) for field in fields))


def _partition_text(table: Table, field: PartitionField) -> str:
    name = str(table.schema().find_column_name(field.source_id))
    transform = str(field.transform)
    return name if transform == "identity" else f"{transform}({name})"


def _append(table: Table, rows: pa.Table, query_id: str, micro_batch_id: int) -> None:
    """Append rows with their mark, unless it is there; all or nothing, and only to the table as it was loaded."""
    mark = f"streamshed.{query_id}"
    if int(table.properties.get(mark, -1)) >= micro_batch_id:
        return
    table.metadata = _metadata_to_append_to(table.metadata)
    transaction = table.transaction()
    transaction.set_properties({mark: str(micro_batch_id)})
    names = {"streamshed.query-id": query_id, "streamshed.micro-batch-id": str(micro_batch_id)}
    transaction.append(rows, snapshot_properties=names)
    transaction.commit_transaction()


def _metadata_to_append_to(metadata: TableMetadata) -> TableMetadata:
    """Return metadata with what an append needs; that of the table stays as it is, since only changes are sent.

    A retry of PyIceberg's would append to what others wrote meanwhile, without a look at their mark. And it copies all
    metadata twenty times, in which snapshots are the bulk: a thousand of them would cost most of a second.
    """
    heads = {ref.snapshot_id for ref in metadata.refs.values()}
    snapshots = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id in heads]
    properties = {**metadata.properties, "commit.retry.num-retries": "0"}
    return metadata.model_copy(update={"properties": properties, "snapshots": snapshots, "snapshot_log": []})
