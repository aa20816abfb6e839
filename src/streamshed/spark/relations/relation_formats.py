"""What the files of a stored relation hold, by format: text where the format has no types, else its own types."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import csv, orc, parquet

from streamshed.columnar.avro_files import AvroFile
from streamshed.network.model.relation_options import CsvLayout
from streamshed.spark.relations.json_rows import json_column, json_rows

Opened = Callable[[], pa.NativeFile]
"""Opens the file anew."""


@dataclass(frozen=True)
class FileColumns:
    """Columns of a file.

    Attributes:
        columns: Those that were looked for and found, by the name in the file.
        names: All that the file is known to have.
        rows: How many rows the file has.
    """

    columns: tuple[tuple[str, pa.ChunkedArray], ...]
    names: tuple[str, ...]
    rows: int

    def column(self, name: str) -> pa.ChunkedArray | None:
        """Find a column, upper and lower case being alike; None where there is none.

        Raises:
            ValueError: There are several.
        """
        alike = [(found, values) for found, values in self.columns if found.lower() == name.lower()]
        exact = [(found, values) for found, values in alike if found == name]
        chosen = exact if len(exact) == 1 else alike
        if len(chosen) > 1:
            raise ValueError(f'several columns are named "{name}"')
        return chosen[0][1] if chosen else None


def parquet_file(opened: Opened, fields: Sequence[pa.Field]) -> FileColumns:
    """Read columns of a Parquet file."""
    with opened() as file:
        content = parquet.ParquetFile(file)
        names = content.schema_arrow.names
        table = content.read(columns=[name for name in names if _is_among(name, fields)])
        rows = content.metadata.num_rows
    return _of_table(table, names, rows)


def orc_file(opened: Opened, fields: Sequence[pa.Field]) -> FileColumns:
    """Read columns of an ORC file.

    Raises:
        ValueError: One of them is a time: ORC keeps it by the clock of who wrote the file.
    """
    with opened() as file:
        content = orc.ORCFile(file)
        names = content.schema.names
        table = content.read(columns=[name for name in names if _is_among(name, fields)])
        rows = content.nrows
    for column in table.schema:
        if pa.types.is_timestamp(column.type):
            raise ValueError(f'its column "{column.name}" is a time, which is not read from ORC: write Parquet')
    return _of_table(table, names, rows)


def avro_file(opened: Opened, fields: Sequence[pa.Field]) -> FileColumns:
    """Read columns of a file of Avro.

    Raises:
        ValueError: It is damaged, or a column has values of several types.
        MissingExtraError: The extra `avro` is not installed.
    """
    with opened() as file:
        content = AvroFile(file.read())
    table = content.table([name for name in content.names if _is_among(name, fields)])
    return _of_table(table, content.names, table.num_rows)


def csv_file(opened: Opened, layout: CsvLayout, columns: Sequence[str]) -> FileColumns:
    """Read a CSV file as text; a value that is empty, quoted or not, is null, as in Spark.

    Args:
        opened: Opens the file.
        layout: How the file is laid out.
        columns: What its columns are where no header says so.
    """
    parse = csv.ParseOptions(delimiter=layout.separator)
    read = csv.ReadOptions(column_names=None if layout.has_header else list(columns))
    with opened() as file, csv.open_csv(file, read_options=read, parse_options=parse) as header:
        names = header.schema.names
    as_text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
    )
    with opened() as file:
        table = csv.read_csv(file, read_options=read, parse_options=parse, convert_options=as_text)
    return _of_table(table, names, table.num_rows)


def json_file(opened: Opened, fields: Sequence[pa.Field]) -> FileColumns:
    """Read columns of a file with a JSON object a line."""
    rows = json_rows(_lines(opened))
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    present = [field for field in fields if field.name.lower() in names]
    columns = ((field.name, pa.chunked_array([json_column(rows, field)])) for field in present)
    return FileColumns(tuple(columns), names, len(rows))


def text_file(opened: Opened, fields: Sequence[pa.Field]) -> FileColumns:
    """Read the lines of a file as its one column."""
    lines = pa.chunked_array([_lines(opened)], pa.string())
    names = tuple(field.name for field in fields)
    return FileColumns(tuple((name, lines) for name in names), names, len(lines))


def _of_table(table: pa.Table, names: Sequence[str], rows: int) -> FileColumns:
    return FileColumns(tuple(zip(table.column_names, table.columns, strict=True)), tuple(names), rows)


def _is_among(name: str, fields: Sequence[pa.Field]) -> bool:
    return any(field.name.lower() == name.lower() for field in fields)


def _lines(opened: Opened) -> list[str]:
    with opened() as file, io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        return [line.removesuffix("\n") for line in text]
