"""A stored relation in a table of Iceberg, read by PyIceberg with the types of the relation's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streamshed.errors import SourceUnavailableError
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.words.columns import Column
from streamshed.network.words.footer import spark_type
from streamshed.spark.common.iceberg_catalog import catalog_description, iceberg_table
from streamshed.spark.relations.relation_formats import FileColumns
from streamshed.spark.relations.relation_table import missing_column
from streamshed.spark.relations.text_values import typed

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True)
class IcebergReader:
    """Reads a table, wherever it is sent: the configuration of the catalog goes along.

    Attributes:
        name: The relation's name.
        source: The table.
        keys: The columns that are looked up.
        time_zone: Of times in text that are written without one.
        described: The configuration of its catalog, which may hold passwords.
    """

    name: str
    source: IcebergSource
    keys: tuple[str, ...]
    time_zone: str = "UTC"
    described: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def here(cls, name: str, source: IcebergSource, keys: Sequence[str], time_zone: str = "UTC") -> IcebergReader:
        """Return the reader of a table in a catalog that is described on this machine.

        Raises:
            SourceUnavailableError: There is no such catalog.
            MissingExtraError: The extra `iceberg` is not installed.
        """
        described = catalog_description(source.catalog, _label(name, source), SourceUnavailableError)
        return cls(name, source, tuple(keys), time_zone, described)

    @property
    def place(self) -> str:
        """What the table is called in messages."""
        return self.source.label

    def version(self) -> tuple[int | None, int]:
        """Return the ids of the table's snapshot and schema.

        Raises:
            SourceUnavailableError: There is no such table, or it cannot be read.
        """
        with self._table() as table:
            snapshot = table.current_snapshot()
            return None if snapshot is None else snapshot.snapshot_id, table.schema().schema_id

    def columns(self) -> tuple[Column, ...]:
        """Return the columns that the table has.

        Raises:
            SourceUnavailableError: There is no such table, or it cannot be read.
        """
        with self._table() as table:
            return tuple(Column(each.name, spark_type(each.type)) for each in table.schema().as_arrow())

    def table(self, _version: tuple[int | None, int], schema: pa.Schema) -> pa.Table:
        """Read what the table holds now.

        Args:
            schema: The columns wanted.

        Raises:
            SourceUnavailableError: It cannot be read, lacks a column or holds a value that is not of its type.
        """
        where = _label(self.name, self.source)
        with self._table() as table:
            names = [each.name for each in table.schema().fields]
            there = [name for name in names if name.lower() in {wanted.lower() for wanted in schema.names}]
            if missing := [name for name in schema.names if name.lower() not in {each.lower() for each in there}]:
                raise missing_column(where, missing[0], names)
            rows = table.scan(selected_fields=tuple(there)).to_arrow()
        held = FileColumns(tuple(zip(rows.column_names, rows.columns, strict=True)), tuple(there), rows.num_rows)
        values = [typed(held.column(each.name), each, where=where, time_zone=self.time_zone) for each in schema]
        return pa.table(values, schema=schema)

    def _table(self) -> AbstractContextManager[Table]:
        return iceberg_table(self.source, _label(self.name, self.source), self.described)


def _label(name: str, source: IcebergSource) -> str:
    return f'relation "{name}": {source.label}'
