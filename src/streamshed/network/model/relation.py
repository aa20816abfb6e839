"""Stored relations to look things up in: a static DataFrame, or a file that is re-read when it changes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from streamshed.errors import InvalidNetworkError, Problem, SourceUnavailableError
from streamshed.network.model.relation_options import check_options
from streamshed.network.source.sources import DataFrameSource, FileFormat, file_format
from streamshed.network.words.columns import Column, duplicate_names, format_schema, parse_schema
from streamshed.network.words.given import given_options
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.local_path import local_path
from streamshed.network.words.names import check_name

RELATION_FORMATS = tuple(kind for kind in FileFormat if kind is not FileFormat.AVRO)
"""The formats of files in which rows are looked up."""


@dataclass(frozen=True)
class Relation:
    """A stored relation; made by `relation`.

    Attributes:
        name: Its name in the network.
        source: A static DataFrame, or the path of a file or folder.
        columns: Its columns; None: not known before Spark reads it.
        format: How the file is read; None for a DataFrame.
        options: Those of Spark's reader options that ours knows, sorted by name.
    """

    name: str
    source: DataFrameSource | str
    columns: tuple[Column, ...] | None
    format: FileFormat | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_name("relation", self.name)
        if isinstance(self.source, str) != (self.format is not None):
            says = "a path needs a format, and a DataFrame has none"
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
        source: A static DataFrame, or the path of a file or folder.
        format: For a path: "parquet", "json", "csv", "orc" or "text"; by default what the path ends with.
        schema: For a path: its columns as DDL; Parquet files say it themselves.
        options: For a CSV file: "header", whether its first line names the columns (by default it does), and "sep" or
            "delimiter", the character between two values.

    Raises:
        InvalidNetworkError: A name, format, schema or option that cannot be; partitions whose types no schema says.
        SourceUnavailableError: The file is not there.
    """
    if not isinstance(source, str | os.PathLike):
        handle = source if isinstance(source, DataFrameSource) else DataFrameSource(source)
        if format is not None or schema is not None or options:
            raise InvalidNetworkError(f'relation "{name}": a DataFrame has its own format, schema and options')
        return Relation(name, handle, handle.columns)
    path = os.fspath(source)
    kind = relation_format(path, format)
    return Relation(name, path, _columns(path, kind, schema), kind, given_options(options))


def relation_format(path: str, name: str | None) -> FileFormat:
    """Look up the format of a relation: the one named, else what the path ends with, else Parquet.

    Raises:
        InvalidNetworkError: There is no such format.
    """
    ending = os.path.splitext(path)[1].lstrip(".").lower()  # noqa: PTH122 - may be a URI
    return file_format((ending or FileFormat.PARQUET) if name is None else name, RELATION_FORMATS)


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
