"""Stored relations to look things up in: a static DataFrame, or files or a table, read again when they change."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from streamshed.errors import InvalidNetworkError, Problem, SourceUnavailableError
from streamshed.network.model.relation_options import check_options
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.sources import DataFrameSource, FileFormat, file_format
from streamshed.network.words.columns import Column, duplicate_names, format_schema, parse_schema
from streamshed.network.words.given import given_options
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.local_path import local_path
from streamshed.network.words.names import check_name

TableSource: TypeAlias = DeltaSource | IcebergSource
"""A table that has columns, versions and a place of its own."""


@dataclass(frozen=True)
class Relation:
    """A stored relation; made by `relation`.

    Attributes:
        name: Its name in the network.
        source: A static DataFrame, a table, or the path of a file or folder.
        columns: Its columns; None: not known before it is read.
        format: How the file is read; None for what is no file.
        options: Those of Spark's reader options that ours knows, sorted by name.
    """

    name: str
    source: DataFrameSource | TableSource | str
    columns: tuple[Column, ...] | None
    format: FileFormat | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_name("relation", self.name)
        if isinstance(self.source, str) != (self.format is not None):
            says = "a path needs a format, and a DataFrame or a table has none"
            raise InvalidNetworkError(Problem(says, subject=self._subject))
        if problems := duplicate_names(column.name for column in self.columns or ()):
            raise InvalidNetworkError(*(Problem.of(problem, subject=self._subject) for problem in problems))
        if self.format is not None:
            self._check_files(self.format)

    @cached_property
    def types(self) -> Mapping[str, str | None] | None:
        """Type by column name; None where the columns are not known."""
        if self.columns is None:
            return None
        return MappingProxyType({column.name: column.type for column in self.columns})

    @property
    def place(self) -> str:
        """What its rows come from, as messages call it.

        Example:
            >>> relation("hosts", IcebergSource("live.hosts", "lake")).place
            'iceberg "live.hosts"'
        """
        match self.source:
            case str():
                return f'"{self.source}"'
            case DataFrameSource():
                return "a DataFrame"
            case _:
                return self.source.label

    @property
    def is_read_by_spark(self) -> bool:
        """Whether only Spark can read it, so that its rows come to a micro-batch as a DataFrame."""
        return isinstance(self.source, DataFrameSource | DeltaSource)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is cached."""
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    @property
    def _subject(self) -> str:
        return f'relation "{self.name}"'

    def _check_files(self, kind: FileFormat) -> None:
        try:
            check_options(kind, dict(self.options))
        except InvalidNetworkError as error:
            problems = (Problem.of(problem, subject=self._subject) for problem in error.problems)
            raise InvalidNetworkError(*problems) from error
        if kind is FileFormat.TEXT and [column.type for column in self.columns or ()] != ["string"]:
            schema = f'the schema "{format_schema(self.columns or ())}"'
            says = "a text file is one column of type string"
            raise InvalidNetworkError(Problem(says, got=schema, subject=self._subject))


@with_advice
def relation(
    name: str,
    source: object,
    *,
    format: str | None = None,  # noqa: A002 - Spark's own word for it
    schema: str | None = None,
    options: Mapping[str, str | bool] | None = None,
) -> Relation:
    """Describe a stored relation.

    Args:
        name: Its name in the network.
        source: A static DataFrame, the path of a file or folder, or a table, `delta(...)` or `iceberg(...)`.
        format: For a path: "parquet", "json", "csv", "orc", "avro" or "text"; by default what the path ends with.
        schema: For a path: its columns as DDL; Parquet files say it themselves.
        options: For a CSV file: "header", whether its first line names the columns (by default it does), and "sep" or
            "delimiter", the character between two values.

    Raises:
        InvalidNetworkError: A name, format, schema or option that cannot be; partitions whose types no schema says.
        SourceUnavailableError: The file or the table is not there.

    Example:
        >>> from streamshed.network.source.delta_source import delta
        >>> relation("hosts", delta("data/hosts", schema="host string, subnet string")).place
        'delta "data/hosts"'
    """
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        kind = relation_format(path, format)
        return Relation(name, path, _columns(path, kind, schema), kind, given_options(options))
    if format is not None or schema is not None or options:
        what = "a table" if isinstance(source, TableSource) else "a DataFrame"
        raise InvalidNetworkError(f'relation "{name}": {what} has its own format, schema and options')
    if isinstance(source, TableSource):
        _check_whole(name, source)
        return Relation(name, source, source.columns)
    handle = source if isinstance(source, DataFrameSource) else DataFrameSource(source)
    return Relation(name, handle, handle.columns)


def relation_format(path: str, name: str | None) -> FileFormat:
    """Look up the format of a relation: the one named, else what the path ends with, else Parquet.

    Raises:
        InvalidNetworkError: There is no such format.
    """
    ending = os.path.splitext(path)[1].lstrip(".").lower()  # noqa: PTH122 - may be a URI
    return file_format((ending or FileFormat.PARQUET) if name is None else name)


def _check_whole(name: str, source: TableSource) -> None:
    """See that nothing is said of a table that is for streams alone: a relation is all that the table has now."""
    of_streams = source.options if isinstance(source, DeltaSource) else source.skip_changes
    if of_streams or source.max_files_per_micro_batch is not None:
        names = "options" if isinstance(source, DeltaSource) else "skip_changes"
        says = f"{names} and max_files_per_micro_batch are for streams: a relation is all that the table has now"
        raise InvalidNetworkError(Problem(f"{source.label}: {says}", subject=f'relation "{name}"'))


def _columns(path: str, kind: FileFormat, schema: str | None) -> tuple[Column, ...] | None:
    if schema is not None:
        return parse_schema(schema)
    if kind is FileFormat.TEXT:
        return (Column("value", "string"),)
    local = local_path(path)
    if local is None:
        return None
    if not os.path.exists(local):  # noqa: PTH110 - a path is text here
        raise SourceUnavailableError(f'the relation\'s file "{path}" does not exist')
    if kind is not FileFormat.PARQUET:
        return None
    if partitions := sorted(entry for entry in _entries(local) if "=" in entry):
        raise InvalidNetworkError(
            f'the relation\'s folder "{path}" holds the partition "{partitions[0]}": which columns and types are'
            " there? (schema=...)"
        )
    from streamshed.network.words.footer import parquet_columns

    return parquet_columns(local)


def _entries(path: str) -> Sequence[str]:
    return os.listdir(path) if os.path.isdir(path) else ()  # noqa: PTH208, PTH112 - a path is text here
