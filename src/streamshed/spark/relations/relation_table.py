"""The files of a stored relation as one table of the relation's columns and types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

import pyarrow as pa
from pyarrow import fs

from streamshed.errors import SourceUnavailableError, near_miss
from streamshed.network.model.relation_options import CsvLayout
from streamshed.network.source.sources import FileFormat
from streamshed.spark.relations.relation_files import RelationFile, file_system, relation_files
from streamshed.spark.relations.relation_formats import (
    FileColumns,
    Opened,
    avro_file,
    csv_file,
    json_file,
    orc_file,
    parquet_file,
    text_file,
)
from streamshed.spark.relations.text_values import typed


@dataclass(frozen=True)
class TableReader:
    """Reads files with the types of the relation's columns, never with others that their content suggests.

    Attributes:
        location: Path or URI of their folder, or of the one that there is.
        name: The relation's name.
        format: What its files are.
        columns: The names of all its columns in order, which a CSV file without a header does not tell.
        keys: The columns that are looked up.
        layout: How CSV files are laid out.
        time_zone: Of times in text that are written without one.
    """

    location: str
    name: str
    format: FileFormat
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    layout: CsvLayout = field(default_factory=CsvLayout)
    time_zone: str = "UTC"

    @property
    def place(self) -> str:
        """Where the rows are, for messages."""
        return f'"{self.location}"'

    def version(self) -> tuple[RelationFile, ...]:
        """List the files: others, or files that have changed, are another version.

        Raises:
            SourceUnavailableError: There are none, or they cannot be listed.
        """
        try:
            return relation_files(self.location)
        except SourceUnavailableError as error:
            raise SourceUnavailableError(f'relation "{self.name}": {error}') from error

    def table(self, version: tuple[RelationFile, ...], schema: pa.Schema) -> pa.Table:
        """Read files; of several, those of no byte do not count.

        Args:
            version: The files, at least one.
            schema: The columns wanted.

        Raises:
            SourceUnavailableError: A file cannot be read, lacks a column or holds a value that is not of its type.
        """
        system, _ = file_system(self.location)
        filled = [file for file in version if file.size_bytes] or version[:1]
        return pa.concat_tables([self._table(system, file, schema) for file in filled])

    def _table(self, system: fs.FileSystem, file: RelationFile, schema: pa.Schema) -> pa.Table:
        where = f'relation "{self.name}": "{file.path}"'
        partition = {name.lower(): value for name, value in file.partition}
        inside = [column for column in schema if column.name.lower() not in partition]
        try:
            file_columns = self._file(lambda: system.open_input_file(file.path), inside, partition)
            values = [
                _constant(partition[column.name.lower()], file_columns.rows)
                if column.name.lower() in partition
                else file_columns.column(column.name)
                for column in schema
            ]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SourceUnavailableError(f"{where} cannot be read as {self.format}: {error}") from error
        columns = [
            self._missing(column, file_columns, where)
            if given is None
            else typed(given, column, where=where, time_zone=self.time_zone)
            for column, given in zip(schema, values, strict=True)
        ]
        return pa.table(columns, schema=schema)

    def _file(self, opened: Opened, fields: Sequence[pa.Field], partition: dict[str, str | None]) -> FileColumns:
        match self.format:
            case FileFormat.PARQUET:
                return parquet_file(opened, fields)
            case FileFormat.ORC:
                return orc_file(opened, fields)
            case FileFormat.CSV:
                columns = [name for name in self.columns if name.lower() not in partition]
                return csv_file(opened, self.layout, columns)
            case FileFormat.JSON:
                return json_file(opened, fields)
            case FileFormat.TEXT:
                return text_file(opened, fields)
            case FileFormat.AVRO:
                return avro_file(opened, fields)
            case _:
                assert_never(self.format)

    def _missing(self, column: pa.Field, file_columns: FileColumns, where: str) -> pa.ChunkedArray:
        """A column of nulls where a JSON file lacks it, as JSON leaves nulls out. A key that is absent is an error."""
        is_key = column.name.lower() in {key.lower() for key in self.keys}
        if self.format is FileFormat.JSON and (not is_key or not file_columns.rows):
            return pa.chunked_array([pa.nulls(file_columns.rows, column.type)])
        raise missing_column(where, column.name, file_columns.names)


def missing_column(where: str, name: str, names: Sequence[str]) -> SourceUnavailableError:
    """Return the error that says which column is not there.

    Args:
        where: Which relation, and which file or table.
        name: The column.
        names: Those that are there; empty: not known.
    """
    only = f", only: {', '.join(names)}" if names else ""
    return SourceUnavailableError(f'{where} has no column "{name}"{only}{near_miss(name, names)}')


def _constant(text: str | None, rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([text] * rows, pa.string())])
