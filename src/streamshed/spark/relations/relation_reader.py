"""A stored relation in files, read as a lookup needs it: no rows without a key, no key twice."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.errors import SourceUnavailableError
from streamshed.spark.relations.relation_files import RelationFile, file_system, relation_files
from streamshed.spark.relations.relation_table import TableReader


@dataclass(frozen=True)
class RelationReader:
    """Reads all of a relation in files.

    Attributes:
        location: Path or URI of its file or folder.
        files: How they are read.
        brings_columns: Whether more than the keys is wanted, so that a key has to be there once.
    """

    location: str
    files: TableReader
    brings_columns: bool

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the relation in a schema, from memory unless a file has changed.

        Raises:
            SourceUnavailableError: As `read` does.
        """
        yield from _cached_table(self, schema, self._listed_files()).to_batches()

    def read(self, schema: pa.Schema) -> pa.Table:
        """Read the relation in a schema, one row per key.

        Raises:
            SourceUnavailableError: It is not there, cannot be read as what its columns are declared to be, or has a
                key twice of which columns are wanted.
        """
        return _read(self, schema, self._listed_files())

    def _listed_files(self) -> tuple[RelationFile, ...]:
        try:
            return relation_files(self.location)
        except SourceUnavailableError as error:
            raise SourceUnavailableError(f'relation "{self.files.name}": {error}') from error


def _read(reader: RelationReader, schema: pa.Schema, files: Sequence[RelationFile]) -> pa.Table:
    system, _ = file_system(reader.location)
    table = reader.files.table(system, files, schema)
    keys = [name for name in schema.names if name.lower() in {key.lower() for key in reader.files.keys}]
    table = table.filter(functools.reduce(operator.and_, [pc.field(key).is_valid() for key in keys]))
    by_key = table.group_by(keys).aggregate([([], "count_all")])
    if not reader.brings_columns:
        return by_key.select(schema.names)
    repeated = by_key.filter(pc.field("count_all") > 1)
    if repeated.num_rows:
        key = ", ".join(f"{name} = {repeated[name][0].as_py()}" for name in keys)
        raise SourceUnavailableError(
            f'relation "{reader.files.name}": {table.num_rows - by_key.num_rows} rows of "{reader.location}" repeat a'
            f" key, such as {key}; a lookup needs one row per key"
        )
    return table


_cached_table = lru_cache(maxsize=16)(_read)
