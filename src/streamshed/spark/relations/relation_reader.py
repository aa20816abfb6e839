"""A stored relation in files or a table, read as a lookup needs it: no rows without a key, no key twice."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.errors import SourceUnavailableError
from streamshed.spark.relations.iceberg_reader import IcebergReader
from streamshed.spark.relations.relation_table import TableReader

Store: TypeAlias = TableReader | IcebergReader
"""Where a relation is stored: it has versions, and what each holds can be read as a table."""


@dataclass(frozen=True)
class RelationReader:
    """Reads all of a stored relation.

    Attributes:
        store: Where it is.
        brings_columns: Whether more than the keys is wanted, so that a key has to be there once.
    """

    store: Store
    brings_columns: bool

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the relation in a schema, from memory unless there is another version.

        Raises:
            SourceUnavailableError: As `read` does.
        """
        yield from _cached_table(self, schema, self.store.version()).to_batches()

    def read(self, schema: pa.Schema) -> pa.Table:
        """Read the relation in a schema, one row per key.

        Raises:
            SourceUnavailableError: It is not there, cannot be read as what its columns are declared to be, or has a
                key twice of which columns are wanted.
        """
        return _read(self, schema, self.store.version())


def _read(reader: RelationReader, schema: pa.Schema, version: Any) -> pa.Table:
    table: pa.Table = reader.store.table(version, schema)
    keys = [name for name in schema.names if name.lower() in {key.lower() for key in reader.store.keys}]
    table = table.filter(functools.reduce(operator.and_, [pc.field(key).is_valid() for key in keys]))
    by_key = table.group_by(keys).aggregate([([], "count_all")])
    if not reader.brings_columns:
        return by_key.select(schema.names)
    repeated = by_key.filter(pc.field("count_all") > 1)
    if repeated.num_rows:
        key = ", ".join(f"{name} = {repeated[name][0].as_py()}" for name in keys)
        raise SourceUnavailableError(
            f'relation "{reader.store.name}": {table.num_rows - by_key.num_rows} rows of {reader.store.place} repeat a'
            f" key, such as {key}; a lookup needs one row per key"
        )
    return table


_cached_table = lru_cache(maxsize=16)(_read)
